//! The command line's words.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// Generates typed Kubernetes clientsets, apply configurations, listers and shared informers from
/// annotated Rust structs.
///
/// A struct with `#[derive(GenClient)]` in a module with `group_version!` is a kind. The
/// configuration, `genclient.toml`, says which crates hold such structs and where the generated
/// code goes. `genclient init` writes one, with a first kind.
///
/// Exit codes: 0 fine, 1 stale (`generate --check`), 2 error; after an error nothing has been written.
#[derive(Parser)]
#[command(version, max_term_width = 100, after_long_help = CONFIG)]
pub(crate) struct Args {
    /// The configuration; its paths are relative to its folder [default: `genclient.toml` in this
    /// folder or the nearest one above it].
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,

    #[command(subcommand)]
    pub command: Command,
}

/// Every key of the configuration.
const CONFIG: &str = "\
The configuration, with its defaults where there are any:
  command = \"genclient generate\"   # what a person runs to generate again

  [[client]]                       # one for each generated client
  output = \"generated/client\"      # the folder of a crate; or below a crate's `src`: a module of it
  sources = [\"apis\"]               # the folders of crates with annotated structs or kube's custom
                                   # resources; { package = \"gateway-api\" }: a dependency;
                                   # { kubernetes = \"1.37\" }: Kubernetes' own kinds, perhaps only
                                   # those of some groups: groups = [\"apps\", \"core\"]
  features = false                 # give each group a Cargo feature of its own
  crds = true                      # write CRD manifests to `crds/` in the package
  expansions = false               # declare a hand-written module `expansions`
  fake = false                     # write `fake::Clientset`, on an API server in memory, behind the
                                   # Cargo feature `fake`, for tests
  runtime = \"genclient_runtime\"    # what the package calls the crate genclient-runtime";

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Generate the code and the CRD manifests.
    ///
    /// Files that are already right are not touched. Files that carry the generator's header and are
    /// no longer generated are removed; hand-written files are left alone. One run at a time writes;
    /// another one waits for it.
    Generate(GenerateArgs),
    /// Set up a folder: a configuration, a first kind, its client, a test.
    ///
    /// In an empty folder it makes a crate with a controller; in a crate it adds a module of types
    /// and the generated code; in a workspace it adds a crate of types and a generated one. Nothing
    /// is overwritten.
    Init(InitArgs),
    /// Show every kind: group, version, verbs, what is generated, and where it is defined.
    List,
    /// Explain the attributes of `#[genclient(…)]`, or one of them.
    Explain {
        /// The attribute to explain; all of them without it.
        attribute: Option<String>,
    },
}

#[derive(clap::Args)]
pub(crate) struct InitArgs {
    /// The folder to set up [default: this one].
    pub folder: Option<PathBuf>,

    /// The name of the first kind.
    #[arg(long, default_value = "Widget")]
    pub kind: String,

    /// Its group: a domain that is yours.
    #[arg(long, default_value = "example.com")]
    pub group: String,

    /// Its version.
    #[arg(long, default_value = "v1", value_name = "VERSION")]
    pub api_version: String,

    /// Take genclient's crates from a checkout instead of the registry.
    #[arg(long, value_name = "FOLDER", conflicts_with = "git")]
    pub path: Option<PathBuf>,

    /// Take genclient's crates from a Git repository instead of the registry.
    #[arg(long, value_name = "URL")]
    pub git: Option<String>,

    /// Do not generate yet.
    #[arg(long)]
    pub no_generate: bool,
}

#[derive(clap::Args, Default)]
pub(crate) struct GenerateArgs {
    /// Write nothing; print what differs and exit with 1 if anything does.
    #[arg(long, conflicts_with = "dry_run")]
    pub check: bool,

    /// Write nothing; print what would change.
    #[arg(long)]
    pub dry_run: bool,

    /// Leave the CRD manifests as they are. They are what takes time: the generated package is
    /// compiled and run for them, because schemas exist only in compiled code.
    #[arg(long)]
    pub no_crds: bool,
}
