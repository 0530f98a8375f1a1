//! A one-time signal that something is synced, or will never be.

use tokio::sync::watch;

/// Whether something has synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signal {
    Waiting,
    Synced,
    /// It ended before it synced.
    Ended,
}

/// The sending side of the signal.
#[derive(Debug)]
pub(crate) struct SyncSender(watch::Sender<Signal>);

/// The receiving side of the signal.
#[derive(Clone, Debug)]
pub(crate) struct SyncReceiver(watch::Receiver<Signal>);

impl SyncSender {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(Signal::Waiting))
    }

    pub(crate) fn synced(&self) {
        self.turn(Signal::Synced);
    }

    /// Ends the signal, unless it was sent before.
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

    /// Whether it is not known yet if the signal will be sent.
    pub(crate) fn is_waiting(&self) -> bool {
        *self.0.borrow() == Signal::Waiting
    }

    /// Waits for the signal. Returns `false` if it will never be sent.
    pub(crate) async fn wait(mut self) -> bool {
        self.0
            .wait_for(|signal| *signal != Signal::Waiting)
            .await
            .is_ok_and(|signal| *signal == Signal::Synced)
    }
}
