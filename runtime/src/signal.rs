//! Signals that end a program.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use futures::{
    FutureExt as _,
    future::{BoxFuture, Shared},
};
use tokio::sync::oneshot;

/// Completes at the first SIGINT or SIGTERM; returned by [`shutdown_signal`]. All clones complete at the same
/// signal.
#[derive(Clone, Debug)]
#[must_use = "the program ignores its first signal unless this future is awaited"]
pub struct Shutdown(Shared<BoxFuture<'static, ()>>);

impl Future for Shutdown {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0.poll_unpin(context)
    }
}

/// Catches SIGINT and SIGTERM from now on, or Ctrl-C on Windows. The first signal completes the returned future.
/// The second exits with 1 at once, and so does the first if the future and its clones were dropped.
///
/// # Errors
///
/// Returns an error if the signals cannot be caught.
///
/// # Panics
///
/// Panics outside of a tokio runtime.
pub fn shutdown_signal() -> io::Result<Shutdown> {
    let mut signals = Signals::catch()?;
    let (first, stop) = oneshot::channel();
    tokio::spawn(async move {
        let mut signal = signals.next().await;
        if first.send(()).is_ok() {
            tracing::info!(signal, "stopping; running keys may finish");
            signal = signals.next().await;
        }
        tracing::warn!(signal, "stopping at once");
        std::process::exit(1);
    });
    Ok(Shutdown(stop.map(drop).boxed().shared()))
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn catch() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.terminate.recv() => "SIGTERM",
        }
    }
}

#[cfg(windows)]
struct Signals(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Signals {
    fn catch() -> io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }

    async fn next(&mut self) -> &'static str {
        self.0.recv().await;
        "Ctrl-C"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn all_clones_complete_at_the_same_signal() {
        let (first, stop) = oneshot::channel();
        let shutdown = Shutdown(stop.map(drop).boxed().shared());
        let mut clone = shutdown.clone();
        assert!(futures::poll!(&mut clone).is_pending());
        first.send(()).unwrap();
        tokio::join!(shutdown, clone);
    }
}
