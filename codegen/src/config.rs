//! The configuration file, `genclient.toml`.
//!
//! ```toml
//! # What a person runs to generate again; it is named in every generated file. Optional.
//! command = "hack/update-codegen.sh"
//!
//! # One table for each generated client.
//! [[client]]
//! output = "generated/samplecrd" # the folder of the generated crate, relative to this file; or a folder
//!                                # below a crate's `src`, such as "src/generated": a module of that crate
//! sources = [
//!     "apis",                    # the folder of a crate with annotated types, or kube's custom resources
//!     { package = "gateway-api" }, # a package of the dependency graph, with kube's custom resources
//!     { kubernetes = "1.37" },   # Kubernetes' own kinds, as k8s-openapi has them; perhaps only some
//!                                # groups: { kubernetes = "1.37", groups = ["apps", "core"] }
//!     { folder = "kinds", crds = true }, # write CRDs for kube's custom resources too, which have their own
//! ]
//! features = false               # give each group a Cargo feature of its own. Optional, default false
//! crds = true                    # write CRD manifests to `crds/` in the package. Optional, default true
//! expansions = false             # declare the hand-written module `expansions`. Optional, default false
//! fake = false                   # write `fake::Clientset`, on an API server in memory, behind the feature `fake`.
//!                                # Optional, default false
//! runtime = "genclient_runtime"  # what the package calls the crate `genclient-runtime`. Optional
//! ```

mod source;

use std::path::Path;

use serde::Deserialize;

use crate::names::Name;
pub use source::Source;

/// The whole configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// What a person runs to generate again; it is named in every generated file.
    #[serde(default = "default_command")]
    pub command: String,
    /// The generated clients.
    #[serde(default, rename = "client")]
    pub clients: Vec<ClientConfig>,
}

/// One generated client: a crate, or a module of a crate.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientConfig {
    /// The folder of the generated crate or module, relative to the configuration.
    pub output: String,
    /// Where the kinds come from.
    pub sources: Vec<Source>,
    /// Whether each group has a Cargo feature of its own.
    #[serde(default)]
    pub features: bool,
    /// Whether CRD manifests are written to `crds/` in the package.
    #[serde(default = "yes")]
    pub crds: bool,
    /// Whether the generated code has a hand-written module `expansions`.
    #[serde(default)]
    pub expansions: bool,
    /// Whether there is a clientset on an API server in memory, behind the Cargo feature `fake`.
    #[serde(default)]
    pub fake: bool,
    /// The path by which the package reaches the crate `genclient-runtime`.
    #[serde(default = "default_runtime")]
    pub runtime: String,
}

fn default_command() -> String {
    "genclient generate".into()
}

fn default_runtime() -> String {
    "genclient_runtime".into()
}

fn yes() -> bool {
    true
}

/// A configuration that cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ConfigError {
    /// The text is not TOML, or has keys that mean nothing.
    #[error("{0}")]
    Parse(#[from] toml::de::Error),
    /// There is no `[[client]]`.
    #[error("no `[[client]]` is configured")]
    NoClient,
    /// The command has a line break, and would leave the comment that names it.
    #[error("`command` must be a single line")]
    Command,
    /// A client has no sources.
    #[error("the client `{0}` has no `sources`")]
    NoSources(String),
    /// A client has no output.
    #[error(
        "the `output` of a client is empty, or the folder of `genclient.toml` itself; move the file one folder up"
    )]
    NoOutput,
    /// A folder is not named relative to the configuration.
    #[error("`{0}` is not a path relative to the configuration")]
    Absolute(String),
    /// The path of the runtime is not a path.
    #[error("`runtime = \"{0}\"` is not the path of a crate")]
    Runtime(String),
    /// Two clients share a folder.
    #[error("two clients have the output `{0}`")]
    SharedOutput(String),
    /// The folder of one client is in that of another, which would remove its files.
    #[error("the output `{inner}` is within the output `{outer}`")]
    NestedOutput {
        /// The folder that holds the other.
        outer: String,
        /// The folder within it.
        inner: String,
    },
}

impl Config {
    /// Reads the text of a configuration.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let mut config: Self = toml::from_str(text)?;
        if config.clients.is_empty() {
            return Err(ConfigError::NoClient);
        }
        if config.command.contains(char::is_control) {
            return Err(ConfigError::Command);
        }
        for client in &mut config.clients {
            client.output = normal(&client.output)?;
            if client.output.is_empty() {
                return Err(ConfigError::NoOutput);
            }
            for source in &mut client.sources {
                if let Source::Folder { folder, .. } = source {
                    *folder = normal(folder)?;
                }
            }
            client.runtime = crate_path(&client.runtime)?;
        }
        for (i, client) in config.clients.iter().enumerate() {
            if client.sources.is_empty() {
                return Err(ConfigError::NoSources(client.output.clone()));
            }
            for other in &config.clients[..i] {
                apart(Path::new(&other.output), Path::new(&client.output))?;
            }
        }
        Ok(config)
    }
}

/// Refuses two folders of which one is the other or holds it.
pub fn apart(one: &Path, other: &Path) -> Result<(), ConfigError> {
    let shown = |folder: &Path| folder.to_string_lossy().into_owned();
    let nested = |outer, inner| ConfigError::NestedOutput { outer: shown(outer), inner: shown(inner) };
    if one == other {
        Err(ConfigError::SharedOutput(shown(one)))
    } else if other.starts_with(one) {
        Err(nested(one, other))
    } else if one.starts_with(other) {
        Err(nested(other, one))
    } else {
        Ok(())
    }
}

/// The path of a crate or of a module of one: names joined by `::`, kept without the `r#` of raw ones.
fn crate_path(text: &str) -> Result<String, ConfigError> {
    let path = text.strip_prefix("::").unwrap_or(text);
    let names = path.split("::").map(|written| {
        // syn takes raw identifiers, and refuses keywords without `r#`, such as `crate`.
        let ident = syn::parse_str::<syn::Ident>(written).ok()?;
        Some(Name::from(&ident).as_str().to_owned())
    });
    let names: Option<Vec<String>> = names.collect();
    names.map(|names| names.join("::")).ok_or_else(|| ConfigError::Runtime(text.to_owned()))
}

/// A relative path in its shortest form, with forward slashes.
fn normal(path: &str) -> Result<String, ConfigError> {
    if path.starts_with(['/', '\\']) || path.contains(':') {
        return Err(ConfigError::Absolute(path.to_owned()));
    }
    let mut names: Vec<&str> = Vec::new();
    for name in path.split(['/', '\\']) {
        match name {
            "" | "." => {}
            ".." if names.last().is_some_and(|last| *last != "..") => drop(names.pop()),
            name => names.push(name),
        }
    }
    Ok(names.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(output: &str) -> Result<Config, ConfigError> {
        let other = "[[client]]\noutput = \"g\"\nsources = [\"./apis/\"]\n";
        Config::parse(&format!("{other}[[client]]\noutput = {output:?}\nsources = [\"a/../b\"]\n"))
    }

    #[test]
    fn one_folder_written_in_two_ways_is_one_folder() {
        for output in ["g", "./g", "g/", "a/../g", ".//g/."] {
            assert!(matches!(parse(output), Err(ConfigError::SharedOutput(_))), "{output}");
        }
        let config = parse("../h").unwrap();
        assert_eq!(config.clients[0].sources, ["apis".into()]);
        assert_eq!((config.clients[1].output.as_str(), &config.clients[1].sources[0]), ("../h", &"b".into()));
        assert!(matches!(parse("."), Err(ConfigError::NoOutput)));
        assert!(matches!(parse("/tmp/g"), Err(ConfigError::Absolute(_))));
    }

    #[test]
    fn a_folder_within_another_is_refused() {
        for output in ["g/h", "g/src/x", "a/../g/./h"] {
            assert!(matches!(parse(output), Err(ConfigError::NestedOutput { .. })), "{output}");
        }
        // A name that starts alike is another folder.
        assert!(parse("gg").is_ok() && parse("../g").is_ok());
    }

    #[test]
    fn a_command_is_one_line() {
        let text = "command = \"a\\nfn main() {}\"\n[[client]]\noutput = \"g\"\nsources = [\"a\"]\n";
        assert!(matches!(Config::parse(text), Err(ConfigError::Command)));
    }
}
