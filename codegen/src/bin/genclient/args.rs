//! The command line's words.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// Generates typed Kubernetes clientsets, listers and shared informers from annotated Rust structs.
///
/// A struct with `#[derive(GenClient)]` in a module with `group_version!` is a kind. The
/// configuration, `genclient.toml`, says which crates hold such structs and where the generated
/// crate is.
///
/// Exit codes: 0 fine, 1 stale (`generate --check`), 2 error; after an error nothing has been written.
#[derive(Parser)]
#[command(version, max_term_width = 100)]
pub(crate) struct Args {
    /// The configuration; its paths are relative to its folder.
    #[arg(long, global = true, value_name = "FILE", default_value = "genclient.toml")]
    pub config: PathBuf,

    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Generate the code, and with `--crds` the CRD manifests.
    Generate(GenerateArgs),
    /// Show every kind: group, version, verbs, what is generated, and where it is defined.
    List,
    /// Explain the attributes of `#[genclient(…)]`, or one of them.
    Explain {
        /// The attribute to explain; all of them without it.
        attribute: Option<String>,
    },
}

/// Generate the code, and with `--crds` the CRD manifests.
///
/// Files that are already right are not touched. Files that carry the generator's header and are no
/// longer generated are removed; hand-written files are left alone.
#[derive(clap::Args)]
pub(crate) struct GenerateArgs {
    /// Write nothing; print what differs and exit with 1 if anything does.
    #[arg(long, conflicts_with = "dry_run")]
    pub check: bool,

    /// Write nothing; print what would change.
    #[arg(long)]
    pub dry_run: bool,

    /// Also generate the CRD manifests. This compiles the source crates, because their schemas exist
    /// only in compiled code.
    #[arg(long)]
    pub crds: bool,
}
