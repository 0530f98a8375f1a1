//! Where the runtime comes from.

use std::path::{Component, Path, PathBuf};

use toml_edit::{InlineTable, Value};

use crate::{args::InitArgs, report::Failure};

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
            Self::Path(checkout) => {
                let from = std::path::absolute(package).unwrap_or_else(|_| package.to_path_buf());
                table("path", &relative(&from, &checkout.join("runtime")))
            }
        }
    }
}

fn table(key: &str, value: &str) -> Value {
    let mut table = InlineTable::new();
    table.insert(key, value.into());
    table.into()
}

/// The way from one absolute folder to another.
fn relative(from: &Path, to: &Path) -> String {
    let from = from.canonicalize().unwrap_or_else(|_| from.to_path_buf());
    let (from, to): (Vec<_>, Vec<_>) = (from.components().collect(), to.components().collect());
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n(Component::ParentDir, from.len() - common);
    let path: PathBuf = up.chain(to[common..].iter().copied()).collect();
    path.to_string_lossy().replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_another_folder_is_relative() {
        assert_eq!(relative(Path::new("/a/b/c"), Path::new("/a/d/runtime")), "../../d/runtime");
        assert_eq!(relative(Path::new("/a"), Path::new("/a/runtime")), "runtime");
    }
}
