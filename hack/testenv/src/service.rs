//! A server that can be stopped, paused, killed and started again with the same arguments.

use std::time::Duration;

use parking_lot::Mutex;

use crate::{
    Error,
    process::{Process, Program, Signal},
};

/// How long a server may take to end after it was asked to, before it is killed.
const GRACE: Duration = Duration::from_secs(20);

/// A program and, while it runs, its process. All methods take `&self`: faults are injected from tests that share
/// the environment. The lock is never held while something is awaited.
#[derive(Debug)]
pub(crate) struct Service {
    program: Program,
    process: Mutex<Option<Process>>,
}

impl Service {
    /// A service that has not been started.
    pub(crate) fn new(program: Program) -> Self {
        Self { program, process: Mutex::new(None) }
    }

    /// The process id, while the server runs.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.process.lock().as_ref().filter(|process| !process.has_exited()).map(Process::pid)
    }

    /// Starts the server and waits until `ready` says so. A server that does not come up is killed.
    pub(crate) async fn start<F>(&self, within: Duration, ready: impl FnMut() -> F) -> Result<(), Error>
    where
        F: Future<Output = Result<(), String>>,
    {
        if self.pid().is_some() {
            return Err(self.program.start_error("it is running already"));
        }
        let process = Process::spawn(&self.program)?;
        process.wait_ready(within, ready).await?;
        *self.process.lock() = Some(process);
        Ok(())
    }

    /// Sends a signal without waiting for anything.
    pub(crate) fn signal(&self, signal: Signal) -> Result<(), Error> {
        match &mut *self.process.lock() {
            Some(process) => process.signal(signal),
            None => Err(Error::NotRunning { server: self.program.name }),
        }
    }

    /// Ends the server at once, without giving it a chance to finish anything, and waits until it is gone.
    pub(crate) async fn kill9(&self) -> Result<(), Error> {
        self.end(Signal::Kill).await
    }

    /// Asks the server to end, and waits until it is gone; after a while it is killed.
    pub(crate) async fn stop(&self) -> Result<(), Error> {
        self.end(Signal::Term).await
    }

    async fn end(&self, signal: Signal) -> Result<(), Error> {
        let exited = {
            let mut process = self.process.lock();
            let process = process.as_mut().ok_or(Error::NotRunning { server: self.program.name })?;
            process.signal(signal)?;
            // A paused server hears nothing but SIGKILL until it goes on. One that is gone already is what is wanted.
            let _ = process.signal(Signal::Cont);
            process.exited()
        };
        // A server that did not end in time is killed by the drop that follows.
        let _ = tokio::time::timeout(GRACE, exited).await;
        drop(self.process.lock().take());
        Ok(())
    }
}
