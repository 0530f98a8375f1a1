//! The signals that end a program.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::oneshot,
};

/// Completes at the first SIGINT or SIGTERM; made by [`shutdown_signal`].
#[derive(Debug)]
#[must_use = "a program that does not wait for its signals does not end at one"]
pub struct Shutdown(oneshot::Receiver<()>);

impl Future for Shutdown {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(context).map(drop)
    }
}

/// Catches SIGINT and SIGTERM from now on. The first one completes the returned future. The second one exits
/// with 1 at once.
///
/// # Errors
///
/// Returns an error if the signals cannot be caught.
///
/// # Panics
///
/// Panics outside of a tokio runtime.
pub fn shutdown_signal() -> io::Result<Shutdown> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let (first, stop) = oneshot::channel();
    tokio::spawn(async move {
        let signal = next(&mut interrupt, &mut terminate).await;
        tracing::info!(signal, "stopping; running keys may finish");
        // Nobody is waiting if the program has ended without a signal.
        let _ = first.send(());
        let signal = next(&mut interrupt, &mut terminate).await;
        tracing::warn!(signal, "stopping at once");
        std::process::exit(1);
    });
    Ok(Shutdown(stop))
}

async fn next(interrupt: &mut Signal, terminate: &mut Signal) -> &'static str {
    tokio::select! {
        _ = interrupt.recv() => "SIGINT",
        _ = terminate.recv() => "SIGTERM",
    }
}
