//! One entry of `sources`.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor, value::MapAccessDeserializer},
};

/// Where kinds come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The crate in a folder.
    Folder {
        /// The folder, relative to the configuration.
        folder: String,
        /// Whether CRDs are written for kube's custom resources too, which have their own.
        crds: bool,
    },
    /// A package of the dependency graph.
    Package {
        /// The package's name.
        package: String,
        /// Whether CRDs are written for its kinds.
        crds: bool,
    },
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
        Self::Folder { folder: folder.to_owned(), crds: false }
    }
}

/// A source that is written as a table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    folder: Option<String>,
    package: Option<String>,
    kubernetes: Option<String>,
    crds: Option<bool>,
    groups: Option<Vec<String>>,
}

impl Table {
    fn source(self) -> Result<Source, String> {
        let crds = self.crds.unwrap_or_default();
        match (self.folder, self.package, self.kubernetes) {
            (None, None, Some(_)) if self.crds.is_some() => {
                Err("Kubernetes' own kinds have no CRDs; remove `crds`".to_owned())
            }
            (None, None, Some(version)) if !is_version(&version) => {
                Err(format!("`{version}` is not a version of Kubernetes, which is written like `1.37`"))
            }
            (None, None, Some(version)) => {
                Ok(Source::Kubernetes { version, groups: self.groups.unwrap_or_default() })
            }
            _ if self.groups.is_some() => Err("`groups` belongs to `kubernetes`".to_owned()),
            (Some(folder), None, None) => Ok(Source::Folder { folder, crds }),
            (None, Some(package), None) => Ok(Source::Package { package, crds }),
            _ => Err("a source has exactly one of `folder`, `package` and `kubernetes`".to_owned()),
        }
    }
}

fn is_version(text: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    text.split_once('.').is_some_and(|(major, minor)| number(major) && number(minor))
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
        f.write_str(
            "the folder of a crate, or a table such as `{ package = \"…\" }` or `{ kubernetes = \"1.37\" }`",
        )
    }

    fn visit_str<E: Error>(self, folder: &str) -> Result<Source, E> {
        Ok(folder.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Source, A::Error> {
        Table::deserialize(MapAccessDeserializer::new(map))?.source().map_err(A::Error::custom)
    }
}
