//! Why files could not be compared or written.

/// A failure to read, write or lock the generated files.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    message: String,
    help: Option<String>,
    interruption: bool,
}

impl Error {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None, interruption: false }
    }

    pub(super) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// A run that was asked to end.
    pub fn interrupted() -> Self {
        Self { interruption: true, ..Self::new("interrupted") }
    }

    /// What can be done about it.
    pub fn advice(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// Whether nothing failed, and the run was asked to end.
    pub fn is_interruption(&self) -> bool {
        self.interruption
    }
}
