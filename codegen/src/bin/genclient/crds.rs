//! CRD manifests. The schemas exist only in compiled code, so a small program over the source crates
//! is compiled and run; it prints the manifests, and nothing is written here.
//!
//! The program is a package of its own in the target folder, with the lock file, the profiles and
//! the patches of the workspace, so that what is compiled already is not compiled again.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use genclient::{GeneratedFile, HEADER, config::ClientConfig, model::Model};
use serde::Deserialize;

use crate::report::Failure;

/// The CRD manifests of a client, as files of its output folder.
pub(crate) fn manifests(
    base: &Path,
    client: &ClientConfig,
    model: &Model,
    command: &str,
) -> Result<Vec<GeneratedFile>, Failure> {
    let kinds = kinds_with_crd(model);
    if kinds.is_empty() {
        return Ok(Vec::new());
    }
    let base = fs::canonicalize(if base.as_os_str().is_empty() { Path::new(".") } else { base })
        .map_err(|error| Failure::message(format!("cannot find the folder of the configuration: {error}")))?;
    let metadata = Metadata::of(&base, client)?;
    let package = metadata.target_directory.join("genclient").join(client.output.replace(['/', '\\'], "-"));
    let write = |file: &str, text: String| {
        let path = package.join(file);
        // An unchanged file keeps its time, and cargo then has nothing to do.
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            return Ok(());
        }
        fs::write(&path, text)
            .map_err(|error| Failure::message(format!("cannot write `{}`: {error}", path.display())))
    };
    fs::create_dir_all(package.join("src"))
        .map_err(|error| Failure::message(format!("cannot create `{}`: {error}", package.display())))?;
    write("Cargo.toml", manifest(&metadata, &base, client)?)?;
    write("src/main.rs", program(&kinds))?;
    if let Ok(lock) = fs::read_to_string(metadata.workspace_root.join("Cargo.lock")) {
        // cargo drops what the package does not need and keeps every version.
        if !package.join("Cargo.lock").exists() {
            write("Cargo.lock", lock)?;
        }
    }
    let printed = run(&package, &metadata.target_directory)?;
    let manifests: BTreeMap<String, String> = serde_json::from_str(&printed).map_err(|error| {
        Failure::message(format!("the program that prints the CRDs printed something else: {error}"))
    })?;
    Ok(manifests
        .into_iter()
        .map(|(name, text)| GeneratedFile {
            path: format!("crds/{}.yaml", file_stem(&name)),
            text: format!("# {HEADER}\n# Regenerate with `{command}`.\n{text}"),
        })
        .collect())
}

/// The CRD's name as far as a file's name can hold it: 255 bytes with the ending. What is cut off
/// are at most the last three of 253, the end of a top-level domain.
fn file_stem(name: &str) -> &str {
    name.get(..250).unwrap_or(name)
}

/// The versions of a kind that make one CRD.
struct Kind {
    /// The paths of the types.
    types: Vec<String>,
    /// The version that is stored.
    stored: String,
}

/// Each kind that has a CRD.
fn kinds_with_crd(model: &Model) -> Vec<Kind> {
    let mut kinds: BTreeMap<(&str, &str), Kind> = BTreeMap::new();
    for (group, version, resource) in model.resources().filter(|(.., resource)| resource.crd) {
        let kind = kinds
            .entry((&group.name, &resource.kind))
            // The checks have made sure that one version is marked, or that there is only one.
            .or_insert_with(|| Kind { types: Vec::new(), stored: version.name.clone() });
        kind.types.push(resource.type_path.to_string());
        if resource.storage == Some(true) {
            kind.stored.clone_from(&version.name);
        }
    }
    kinds.into_values().collect()
}

fn program(kinds: &[Kind]) -> String {
    let mut text = String::from(
        "use genclient_runtime::{CustomResourceExt, crd};\n\nfn main() -> Result<(), Box<dyn std::error::Error>> {\n    crd::print_manifests(vec![\n",
    );
    for Kind { types, stored } in kinds {
        let versions: Vec<_> =
            types.iter().map(|path| format!("<{path} as CustomResourceExt>::crd()")).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "        crd::merge_versions(vec![{}], {stored:?})?,", versions.join(", "));
    }
    text.push_str("    ])\n}\n");
    text
}

/// The program's manifest: the source crates, the runtime that they use, and the workspace's settings.
fn manifest(metadata: &Metadata, base: &Path, client: &ClientConfig) -> Result<String, Failure> {
    let mut manifest = toml::Table::new();
    let mut package = toml::Table::new();
    package.insert("name".into(), "genclient-crds".into());
    package.insert("version".into(), "0.0.0".into());
    package.insert("edition".into(), "2024".into());
    package.insert("publish".into(), false.into());
    manifest.insert("package".into(), package.into());
    // A workspace of its own, not a stray member of the one around it.
    manifest.insert("workspace".into(), toml::Table::new().into());
    let mut dependencies = toml::Table::new();
    for source in &client.sources {
        let folder = base.join(source);
        let name = metadata
            .packages
            .iter()
            .find(|package| package.manifest_path.parent() == Some(&folder))
            .map(|package| package.name.clone())
            .ok_or_else(|| {
                Failure::message(format!("`{source}` is not a package of the workspace"))
                    .help("add it to the workspace, or give it a workspace of its own")
            })?;
        dependencies.insert(name, path_dependency(&folder));
    }
    let runtime =
        metadata.packages.iter().find(|package| package.name == "genclient-runtime").ok_or_else(|| {
            Failure::message("the source crates do not depend on `genclient-runtime`")
                .help("add it to their dependencies: the derives refer to it")
        })?;
    let dependency = match (&runtime.source, runtime.manifest_path.parent()) {
        (None, Some(folder)) => path_dependency(folder),
        _ => toml::Value::String(format!("={}", runtime.version)),
    };
    dependencies.insert("genclient-runtime".into(), dependency);
    manifest.insert("dependencies".into(), dependencies.into());
    let root = fs::read_to_string(metadata.workspace_root.join("Cargo.toml")).unwrap_or_default();
    if let Ok(root) = root.parse::<toml::Table>() {
        for table in ["profile", "patch"] {
            if let Some(settings) = root.get(table) {
                manifest.insert(table.into(), settings.clone());
            }
        }
    }
    Ok(manifest.to_string())
}

fn path_dependency(folder: &Path) -> toml::Value {
    let mut table = toml::Table::new();
    table.insert("path".into(), folder.to_string_lossy().into_owned().into());
    table.into()
}

/// Compiles and runs the program; cargo's progress goes to the standard error.
fn run(package: &Path, target_directory: &Path) -> Result<String, Failure> {
    let output = cargo()
        .args(["run", "--quiet", "--manifest-path"])
        .arg(package.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target_directory)
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|error| Failure::message(format!("cannot run cargo: {error}")))?;
    if !output.status.success() {
        return Err(Failure::message("the source crates do not compile, so their CRDs cannot be written")
            .help(
                "the compiler's errors are above; `genclient generate` without `--crds` needs no compilation",
            ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// What `cargo metadata` says of the workspace.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_root: PathBuf,
    target_directory: PathBuf,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    source: Option<String>,
    manifest_path: PathBuf,
}

impl Metadata {
    fn of(base: &Path, client: &ClientConfig) -> Result<Self, Failure> {
        let first = client.sources.first().map(String::as_str).unwrap_or_default();
        let output = cargo()
            .args(["metadata", "--format-version", "1", "--manifest-path"])
            .arg(base.join(first).join("Cargo.toml"))
            .output()
            .map_err(|error| Failure::message(format!("cannot run cargo: {error}")))?;
        if !output.status.success() {
            return Err(Failure::message(format!(
                "cargo cannot read the workspace of `{first}`: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            )));
        }
        serde_json::from_slice(&output.stdout)
            .map_err(|error| Failure::message(format!("cargo's metadata cannot be read: {error}")))
    }
}
