//! Whether the runtime that a package uses is the one that the generated code is written for.

use std::{fs, path::Path};

use serde::Deserialize;

use crate::report::Failure;

/// This command's version; the runtime has the same.
const OWN: &str = env!("CARGO_PKG_VERSION");

#[derive(Deserialize)]
struct LockFile {
    #[serde(default)]
    package: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
}

/// Refuses a runtime that does not fit. Without a lock file there is nothing to compare with yet.
pub(crate) fn check(package: &Path) -> Result<(), Failure> {
    let absolute = std::path::absolute(package).unwrap_or_else(|_| package.to_path_buf());
    let lock = absolute.ancestors().find_map(|folder| fs::read_to_string(folder.join("Cargo.lock")).ok());
    let Some(lock) = lock.and_then(|text| toml::from_str::<LockFile>(&text).ok()) else { return Ok(()) };
    let runtimes: Vec<_> =
        lock.package.iter().filter(|package| package.name == "genclient-runtime").collect();
    match runtimes.first() {
        Some(runtime) if !runtimes.iter().any(|runtime| fits(OWN, &runtime.version)) => {
            Err(Failure::message(format!(
                "this is genclient {OWN}, and `{}` uses genclient-runtime {}",
                package.display(),
                runtime.version
            ))
            .help("their versions must fit: install the other `genclient`, or `cargo update -p genclient-runtime`"))
        }
        _ => Ok(()),
    }
}

/// Whether cargo would take one version for the other: the first number that is not zero is the same.
fn fits(own: &str, other: &str) -> bool {
    let significant = |version: &str| -> Vec<String> {
        let core = version.split(['-', '+']).next().unwrap_or_default();
        let mut numbers = Vec::new();
        for number in core.split('.') {
            numbers.push(number.to_owned());
            if number != "0" {
                break;
            }
        }
        numbers
    };
    significant(own) == significant(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_fit_as_cargo_has_it() {
        for (own, other, expected) in [
            ("0.1.0", "0.1.7", true),
            ("0.1.0", "0.2.0", false),
            ("1.2.0", "1.0.0", true),
            ("1.2.0", "2.0.0", false),
            ("0.0.3", "0.0.4", false),
            ("0.1.0", "1.1.0", false),
            ("1.0.0-rc.1", "1.0.0", true),
        ] {
            assert_eq!(fits(own, other), expected, "{own} {other}");
        }
    }
}
