//! Where the runtime comes from.

use std::path::{Path, PathBuf};

use toml_edit::{InlineTable, Value};

use crate::{args::InitArgs, place, report::Failure};

/// Where packages take genclient's crates from.
pub(super) enum Origin {
    /// The registry, in this command's version.
    Registry,
    /// A checkout, by its absolute path.
    Path(PathBuf),
    /// A repository.
    Git(String),
}

impl Origin {
    pub fn of(options: &InitArgs) -> Result<Self, Failure> {
        match (&options.path, &options.git) {
            (Some(path), _) => {
                let checkout =
                    path.canonicalize().ok().filter(|path| path.join("runtime/Cargo.toml").exists());
                checkout.map(Self::Path).ok_or_else(|| {
                    Failure::message(format!("`{}` is not a checkout of genclient", path.display()))
                        .help("name the folder that holds `runtime/Cargo.toml`")
                })
            }
            (None, Some(url)) => Ok(Self::Git(url.clone())),
            (None, None) => Ok(Self::Registry),
        }
    }

    /// The runtime as a dependency of the package in a folder.
    pub fn runtime(&self, package: &Path) -> Value {
        match self {
            Self::Registry => env!("CARGO_PKG_VERSION").into(),
            Self::Git(url) => table("git", url),
            Self::Path(checkout) => table("path", &place::relative(package, &checkout.join("runtime"))),
        }
    }
}

fn table(key: &str, value: &str) -> Value {
    let mut table = InlineTable::new();
    table.insert(key, value.into());
    table.into()
}
