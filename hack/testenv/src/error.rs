//! Errors, with messages that tell the reader of a failed test what to do.

use std::{io, path::PathBuf};

use crate::Server;

/// An error of the test environment.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server is not installed, and what is needed to build it is absent.
    #[error("{server} is not installed and cannot be built here: {reason}")]
    NotInstalled {
        /// The server that is missing.
        server: Server,
        /// What is absent, in the words of `hack/testenv/install.sh`.
        reason: String,
    },

    /// The server could not be built, although everything needed was there.
    #[error("hack/testenv/install.sh could not install {server}:\n{output}")]
    Install {
        /// The server that was built.
        server: Server,
        /// The end of what the script wrote.
        output: String,
    },

    /// The environment is a cluster that was not started by this library, so its servers cannot be touched.
    #[error("{operation} is not supported: the cluster is not one that the test environment started itself")]
    NotSupported {
        /// What was asked for.
        operation: &'static str,
    },

    /// A server did not come up.
    #[error("{server} did not start: {reason}\nthe end of {}:\n{tail}", log.display())]
    Start {
        /// The name of the program.
        server: &'static str,
        /// What happened.
        reason: String,
        /// Where the whole log is, if the data folder was kept.
        log: PathBuf,
        /// The last lines of the log.
        tail: String,
    },

    /// A handle was asked to signal a server that is not running.
    #[error("{server} is not running")]
    NotRunning {
        /// The name of the program.
        server: &'static str,
    },

    /// A command ended with an error.
    #[error("`{command}` failed ({status}):\n{stderr}")]
    Command {
        /// The command line.
        command: String,
        /// Its exit status.
        status: String,
        /// What it wrote to standard error.
        stderr: String,
    },

    /// A server answered a request in a way that was not expected.
    #[error("unexpected answer to {request}: {answer}")]
    Answer {
        /// The request.
        request: String,
        /// What came back.
        answer: String,
    },

    /// The operating system refused something.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done.
        doing: String,
        /// The operating system's answer.
        source: io::Error,
    },

    /// The certificates could not be made.
    #[error("making the certificates: {0}")]
    Certificate(#[from] rcgen::Error),

    /// The kubeconfig could not be used.
    #[error("reading the kubeconfig: {0}")]
    Kubeconfig(#[from] kube::config::KubeconfigError),

    /// A request to the API server or to etcd failed.
    #[error(transparent)]
    Kube(#[from] kube::Error),
}

impl Error {
    /// Wraps an error of the operating system with what was being done.
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }

    /// Whether the server ended because another program had taken its port in the meantime.
    pub(crate) fn is_port_conflict(&self) -> bool {
        matches!(self, Self::Start { tail, .. } if tail.to_lowercase().contains("address already in use"))
    }
}
