//! The configuration file, `genclient.toml`.
//!
//! ```toml
//! # What a person runs to generate again; it is named in every generated file. Optional.
//! command = "hack/update-codegen.sh"
//!
//! # One table for each generated crate.
//! [[client]]
//! output = "generated/samplecrd" # the folder of the generated crate, relative to this file
//! sources = ["apis"]             # the folders of the crates that hold the annotated types
//! crds = true                    # write CRD manifests to `crds/` in the output folder. Optional, default true
//! expansions = false             # declare the hand-written module `src/expansions.rs`. Optional, default false
//! ```

use serde::Deserialize;

/// The whole configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// What a person runs to generate again; it is named in every generated file.
    #[serde(default = "default_command")]
    pub command: String,
    /// The generated crates.
    #[serde(default, rename = "client")]
    pub clients: Vec<ClientConfig>,
}

/// One generated crate.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientConfig {
    /// The folder of the generated crate, relative to the configuration.
    pub output: String,
    /// The folders of the crates that hold the annotated types, relative to the configuration.
    pub sources: Vec<String>,
    /// Whether CRD manifests are written to `crds/` in the output folder.
    #[serde(default = "yes")]
    pub crds: bool,
    /// Whether the generated crate has a hand-written module `src/expansions.rs`.
    #[serde(default)]
    pub expansions: bool,
}

fn default_command() -> String {
    "genclient generate".into()
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
    /// A client has no sources.
    #[error("the client `{0}` has no `sources`")]
    NoSources(String),
    /// Two clients share a folder.
    #[error("two clients have the output `{0}`")]
    SharedOutput(String),
}

impl Config {
    /// Reads the text of a configuration.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let config: Self = toml::from_str(text)?;
        if config.clients.is_empty() {
            return Err(ConfigError::NoClient);
        }
        for (i, client) in config.clients.iter().enumerate() {
            if client.sources.is_empty() {
                return Err(ConfigError::NoSources(client.output.clone()));
            }
            if config.clients[..i].iter().any(|other| other.output == client.output) {
                return Err(ConfigError::SharedOutput(client.output.clone()));
            }
        }
        Ok(config)
    }
}
