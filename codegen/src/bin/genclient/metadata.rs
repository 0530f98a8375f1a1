//! The dependency graph, as `cargo metadata` prints it.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use genclient::{
    config::{ClientConfig, Source},
    layout::Layout,
    source::Packages,
};

use crate::report::Failure;

/// The packages that a client's sources may name. Crates in folders need none, and cargo is not asked. A command that
/// only reads does not let cargo write `Cargo.lock`.
pub(crate) fn packages(
    folder: &Path,
    client: &ClientConfig,
    layout: &Layout,
    only_reads: bool,
) -> Result<Packages, Failure> {
    if client.sources.iter().all(|source| matches!(source, Source::Folder { .. })) {
        return Ok(Packages::default());
    }
    let manifest = manifest(folder, layout).ok_or_else(|| {
        Failure::message("there is no `Cargo.toml` in the folder of the configuration or one above it")
            .help("sources that are dependencies are found through the workspace's dependency graph")
    })?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["metadata", "--format-version", "1", "--manifest-path"]).arg(manifest);
    // What only other platforms use need not have been downloaded.
    if let Some(platform) = platform() {
        cargo.args(["--filter-platform", &platform]);
    }
    if only_reads {
        cargo.arg("--locked");
    }
    let output = run(&mut cargo)?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        if only_reads && text.contains("--locked") {
            return Err(Failure::message(
                "`Cargo.lock` is missing or out of date, and this command writes nothing",
            )
            .help("run `cargo metadata` or `genclient generate`, and commit `Cargo.lock`"));
        }
        return Err(Failure::message(format!("`cargo metadata` failed: {}", text.trim()))
            .help("sources that are dependencies are found through the workspace's dependency graph"));
    }
    let own = folder.join(&layout.package);
    Packages::parse(&String::from_utf8_lossy(&output.stdout))
        .map(|packages| packages.seen_from(&std::path::absolute(&own).unwrap_or(own)))
        .map_err(|error| Failure::message(format!("cannot read what `cargo metadata` printed: {error}")))
}

/// The manifest of the generated package or, if it has to be made, of what it will be a part of.
fn manifest(folder: &Path, layout: &Layout) -> Option<PathBuf> {
    let own = folder.join(&layout.package).join("Cargo.toml");
    let absolute = std::path::absolute(folder).ok()?;
    let others = absolute.ancestors().map(|folder| folder.join("Cargo.toml"));
    std::iter::once(own).chain(others).find(|manifest| manifest.exists())
}

/// This machine's name for itself, as rustc has it.
fn platform() -> Option<String> {
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    let output = rustc.arg("-vV").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned)
}

fn run(command: &mut Command) -> Result<Output, Failure> {
    command.output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => Failure::message("cannot run `cargo metadata`: cargo is not installed"),
        _ => Failure::message(format!("cannot run `cargo metadata`: {error}")),
    })
}
