//! A server that can be stopped, paused, killed and started again with the same arguments.

use std::time::Duration;

use parking_lot::Mutex;

use crate::{
    Error,
    process::{Process, Program, Signal},
};

/// How long a server may take to end before it is killed.
const GRACE: Duration = Duration::from_secs(20);

/// A program and, while it runs, its process. All methods take `&self`, because tests that share the environment
/// inject faults. The lock is never held across an await.
#[derive(Debug)]
pub(crate) struct Service {
    program: Program,
    process: Mutex<Option<Process>>,
}

impl Service {
    /// Returns a service that has not been started.
    pub(crate) fn new(program: Program) -> Self {
        Self { program, process: Mutex::new(None) }
    }

    /// Returns the process id while the server runs.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.process.lock().as_ref().filter(|process| !process.has_exited()).map(Process::pid)
    }

    /// Starts the server and waits until `ready` succeeds. A server that does not become ready is killed.
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

    /// Sends a signal without waiting for its effect.
    pub(crate) fn signal(&self, signal: Signal) -> Result<(), Error> {
        match &mut *self.process.lock() {
            Some(process) => process.signal(signal),
            None => Err(Error::NotRunning { server: self.program.name }),
        }
    }

    /// Kills the server, and waits until it has ended.
    pub(crate) async fn kill9(&self) -> Result<(), Error> {
        self.end(Signal::Kill).await
    }

    /// Terminates the server, and waits until it has ended. It is killed if that takes too long.
    pub(crate) async fn stop(&self) -> Result<(), Error> {
        self.end(Signal::Term).await
    }

    async fn end(&self, signal: Signal) -> Result<(), Error> {
        let exited = {
            let mut process = self.process.lock();
            let process = process.as_mut().ok_or(Error::NotRunning { server: self.program.name })?;
            process.signal(signal)?;
            // A paused server handles only SIGKILL until it continues. It may also have ended already.
            let _ = process.signal(Signal::Cont);
            process.exited()
        };
        // A server that did not end in time is killed by the drop that follows.
        let _ = tokio::time::timeout(GRACE, exited).await;
        drop(self.process.lock().take());
        Ok(())
    }
}
