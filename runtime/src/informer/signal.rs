//! A signal that is given once, or can no longer be given.

use tokio::sync::watch;

/// Whether something has synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signal {
    Waiting,
    Synced,
    /// It ended before it synced.
    Ended,
}

/// Gives the signal.
#[derive(Debug)]
pub(crate) struct SyncSender(watch::Sender<Signal>);

/// Waits for the signal.
#[derive(Clone, Debug)]
pub(crate) struct SyncReceiver(watch::Receiver<Signal>);

impl SyncSender {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(Signal::Waiting))
    }

    pub(crate) fn synced(&self) {
        self.turn(Signal::Synced);
    }

    /// Says that the signal will not be given, unless it was.
    pub(crate) fn ended(&self) {
        self.turn(Signal::Ended);
    }

    fn turn(&self, to: Signal) {
        self.0.send_if_modified(|signal| {
            let turns = *signal == Signal::Waiting;
            if turns {
                *signal = to;
            }
            turns
        });
    }

    pub(crate) fn is_synced(&self) -> bool {
        *self.0.borrow() == Signal::Synced
    }

    pub(crate) fn subscribe(&self) -> SyncReceiver {
        SyncReceiver(self.0.subscribe())
    }
}

impl SyncReceiver {
    pub(crate) fn is_synced(&self) -> bool {
        *self.0.borrow() == Signal::Synced
    }

    /// Waits for the signal; `false` when it will not be given.
    pub(crate) async fn wait(mut self) -> bool {
        self.0
            .wait_for(|signal| *signal != Signal::Waiting)
            .await
            .is_ok_and(|signal| *signal == Signal::Synced)
    }
}
