//! What could not be loaded, and where it is.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::metadata;

/// An object that could not be loaded.
///
/// ```
/// let text = "{ apiVersion: v1, kind: ConfigMap, metadata: { name: UPPER } }";
/// let error = genclient_fake::Server::new().load_yaml(text).unwrap_err();
/// assert!(error.to_string().starts_with("document 1, ConfigMap \"default/UPPER\": ConfigMap \"UPPER\" is invalid"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct LoadError {
    place: Box<Place>,
    message: String,
}

impl LoadError {
    /// Returns the file, if it was loaded from one.
    pub fn file(&self) -> Option<&Path> {
        self.place.source.file.as_deref()
    }

    /// Returns which document or object it is, counted from 1, or 0 if the file could not be read.
    pub fn document(&self) -> usize {
        self.place.source.document
    }

    /// Returns what is wrong, in the words of the server.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// Where an object comes from, and which one it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    source: Source,
    kind: String,
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Place {
    pub(super) fn new(source: &Source, object: &Value) -> Self {
        Self {
            source: source.clone(),
            kind: object["kind"].as_str().unwrap_or_default().to_owned(),
            namespace: metadata::text(object, "namespace").to_owned(),
            name: match metadata::text(object, "name") {
                "" => metadata::text(object, "generateName").to_owned(),
                name => name.to_owned(),
            },
        }
    }

    pub(super) fn error(self, message: impl Into<String>) -> LoadError {
        LoadError { place: Box::new(self), message: message.into() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Source { file, document } = &self.source;
        if let Some(file) = file {
            write!(f, "{}", file.display())?;
        }
        if *document > 0 {
            let comma = if file.is_some() { ", " } else { "" };
            write!(f, "{comma}document {document}")?;
        }
        if !self.kind.is_empty() {
            write!(f, ", {}", self.kind)?;
            match (self.namespace.as_str(), self.name.as_str()) {
                (_, "") => {}
                ("", name) => write!(f, " {name:?}")?,
                (namespace, name) => write!(f, " \"{namespace}/{name}\"")?,
            }
        }
        Ok(())
    }
}

/// Where an object comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) file: Option<PathBuf>,
    /// Which document of the file, or which object of a sequence, counted from 1; 0 is the file itself.
    pub(super) document: usize,
}

impl Source {
    pub(super) fn error(self, message: impl Into<String>) -> LoadError {
        Place { source: self, ..Place::default() }.error(message)
    }
}
