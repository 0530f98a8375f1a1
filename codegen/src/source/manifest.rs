//! What a crate's manifest says: how the crate is called, and where it starts.

use std::{
    io,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::{Error, ReadFile, walk::normalise};
use crate::files::with_slashes;

/// The part of a manifest that matters here.
#[derive(Deserialize)]
struct Manifest {
    package: Option<Package>,
    lib: Option<Lib>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    /// A text, or a table where the workspace has it.
    edition: Option<toml::Value>,
}

#[derive(Deserialize)]
struct Lib {
    name: Option<String>,
    path: Option<String>,
    edition: Option<toml::Value>,
}

/// A library crate, before its sources are read.
pub(super) struct Library {
    /// The name by which other crates import it.
    pub name: String,
    /// The file of its root module.
    pub root: PathBuf,
    pub edition_2015: bool,
}

impl Library {
    /// Reads the manifest in a crate's folder.
    pub fn read(reader: &dyn ReadFile, folder: &str) -> Result<Self, Error> {
        let path = normalise(&Path::new(folder).join("Cargo.toml"));
        let text = reader.read(&path).map_err(|error| {
            let (message, help) = unreadable(&with_slashes(&path), &error);
            let absent =
                "`sources` in the configuration names the folders of the crates that hold annotated types";
            Error::new(None, message).help(help.unwrap_or(absent))
        })?;
        let manifest: Manifest = toml::from_str(&text).map_err(|error| {
            Error::new(
                None,
                format!("cannot parse `{}`: {}", with_slashes(&path), error.to_string().trim_end()),
            )
            .help("check the manifest with `cargo metadata`")
        })?;
        let Some(package) = manifest.package else {
            return Err(Error::new(None, format!("`{}` describes no package", with_slashes(&path)))
                .help("name the folder of a crate, not of a workspace"));
        };
        let (name, root, edition) = match manifest.lib {
            Some(lib) => (lib.name, lib.path, lib.edition.or(package.edition)),
            None => (None, None, package.edition),
        };
        Ok(Self {
            name: name.unwrap_or(package.name).replace('-', "_"),
            root: normalise(&Path::new(folder).join(root.as_deref().unwrap_or("src/lib.rs"))),
            edition_2015: edition.is_none_or(|edition| edition.as_str() == Some("2015")),
        })
    }
}

/// What to say of a file that cannot be read, and what to do about it unless it is absent.
pub(super) fn unreadable(path: &str, error: &io::Error) -> (String, Option<&'static str>) {
    match error.kind() {
        io::ErrorKind::InvalidData => {
            (format!("cannot read `{path}`: it is not valid UTF-8"), Some("save the file as UTF-8"))
        }
        io::ErrorKind::NotFound => (format!("cannot read `{path}`: {error}"), None),
        _ => (format!("cannot read `{path}`: {error}"), Some("it must be a file that you may read")),
    }
}
