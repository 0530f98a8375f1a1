//! One entry of `sources`.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor, value::MapAccessDeserializer},
};

/// Where kinds come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The crate in a folder, relative to the configuration.
    Folder(String),
    /// Kubernetes' own kinds, as k8s-openapi has them.
    Kubernetes {
        /// The version of Kubernetes, such as `1.37`.
        version: String,
        /// The names of the groups; all of them where it is empty.
        groups: Vec<String>,
    },
}

impl From<&str> for Source {
    fn from(folder: &str) -> Self {
        Self::Folder(folder.to_owned())
    }
}

/// The form of a source that is not a folder.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    kubernetes: String,
    #[serde(default)]
    groups: Vec<String>,
}

impl<'de> Deserialize<'de> for Source {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SourceVisitor)
    }
}

struct SourceVisitor;

impl<'de> Visitor<'de> for SourceVisitor {
    type Value = Source;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the folder of a crate, or a table such as `{ kubernetes = \"1.37\" }`")
    }

    fn visit_str<E: Error>(self, folder: &str) -> Result<Source, E> {
        Ok(folder.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Source, A::Error> {
        let Table { kubernetes, groups } = Table::deserialize(MapAccessDeserializer::new(map))?;
        let number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
        match kubernetes.split_once('.') {
            Some((major, minor)) if number(major) && number(minor) => {
                Ok(Source::Kubernetes { version: kubernetes, groups })
            }
            _ => Err(A::Error::custom(format!(
                "`{kubernetes}` is not a version of Kubernetes, which is written like `1.37`"
            ))),
        }
    }
}
