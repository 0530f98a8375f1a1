//! The `Cargo.toml` of packages: new ones, and entries for those that are there.

use std::path::Path;

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value};

use super::origin::Origin;
use crate::report::Failure;

/// What annotated types need beside the runtime, in the versions that the runtime has.
const LIBRARIES: [(&str, &str, &[&str]); 3] =
    [("k8s-openapi", "0.29", &["latest"]), ("schemars", "1.2", &[]), ("serde", "1", &["derive"])];

/// What a controller needs in addition.
const PROGRAM: (&str, &str, &[&str]) = ("tokio", "1.54", &["macros", "rt-multi-thread", "signal"]);

/// The manifest of a new package.
pub(super) fn new(name: &str, program: bool, origin: &Origin, package: &Path) -> String {
    let mut manifest = format!(
        "[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = \"2024\"\npublish = false\n\n[dependencies]\n"
    );
    manifest += &format!("genclient-runtime = {}\n", origin.runtime(package));
    manifest +=
        "# The first Kubernetes version whose API is needed, or the latest. Only one crate may choose.\n";
    for (name, version, features) in LIBRARIES.into_iter().chain(program.then_some(PROGRAM)) {
        manifest += &format!("{name} = {}\n", dependency(version, features));
    }
    manifest
}

/// Adds what a package lacks for annotated types.
pub(super) fn with_dependencies(text: &str, origin: &Origin, package: &Path) -> Result<String, Failure> {
    let mut manifest = parse(text)?;
    let dependencies = manifest.entry("dependencies").or_insert(Item::Table(Table::new()));
    let table = dependencies.as_table_like_mut().ok_or_else(|| {
        Failure::message("the `dependencies` of `Cargo.toml` are not a table")
            .help("write them as `[dependencies]`")
    })?;
    if !table.contains_key("genclient-runtime") {
        table.insert("genclient-runtime", Item::Value(origin.runtime(package)));
    }
    for (name, version, features) in LIBRARIES {
        match table.get(name) {
            None => drop(table.insert(name, Item::Value(dependency(version, features)))),
            Some(there) => check(name, there, version)?,
        }
    }
    check_version_feature(&manifest)?;
    Ok(manifest.to_string())
}

/// Whether a member of a workspace, which may be a pattern, is this folder.
fn covers(member: &str, folder: &str) -> bool {
    let (member, folder): (Vec<_>, Vec<_>) = (member.split('/').collect(), folder.split('/').collect());
    member.len() == folder.len()
        && member.iter().zip(&folder).all(|(name, other)| *name == "*" || name == other)
}

/// Adds members to a workspace, unless a pattern covers them or it excludes them.
pub(super) fn with_members(text: &str, folders: &[&str]) -> Result<String, Failure> {
    let mut manifest = parse(text)?;
    let excluded = manifest.get("workspace").and_then(|workspace| workspace.get("exclude"));
    let excluded = excluded.and_then(Item::as_array).into_iter().flatten();
    let excluded: Vec<String> = excluded.filter_map(Value::as_str).map(str::to_owned).collect();
    let workspace = manifest.get_mut("workspace").and_then(Item::as_table_like_mut);
    let members = workspace
        .map(|workspace| workspace.entry("members").or_insert(Item::Value(Array::new().into())))
        .and_then(Item::as_array_mut)
        .ok_or_else(|| {
            Failure::message("the `members` of the workspace are not a list")
                .help("write them as `members = [\"…\"]` in `[workspace]`")
        })?;
    for folder in folders {
        let covered = excluded.iter().any(|excluded| Path::new(folder).starts_with(excluded))
            || members.iter().filter_map(Value::as_str).any(|member| covers(member, folder));
        if !covered {
            // On a line of its own if the entry before it is.
            let last =
                members.iter().last().and_then(|last| last.decor().prefix()?.as_str().map(str::to_owned));
            match last.filter(|prefix| prefix.contains('\n')) {
                Some(prefix) => members.push_formatted(Value::from(*folder).decorated(prefix, "")),
                None => members.push(*folder),
            }
        }
    }
    Ok(manifest.to_string())
}

/// The path of the library's root.
pub(super) fn library(text: &str) -> Result<String, Failure> {
    let manifest = parse(text)?;
    let path = manifest.get("lib").and_then(|lib| lib.get("path")).and_then(Item::as_str);
    Ok(path.unwrap_or("src/lib.rs").to_owned())
}

/// Whether a manifest has this table.
pub(super) fn has(text: &str, table: &str) -> Result<bool, Failure> {
    Ok(parse(text)?.contains_key(table))
}

fn parse(text: &str) -> Result<DocumentMut, Failure> {
    text.parse().map_err(|error| {
        Failure::message(format!("cannot read `Cargo.toml`: {error}"))
            .help("cargo cannot read it either; mend it, and run `genclient init` again")
    })
}

fn dependency(version: &str, features: &[&str]) -> Value {
    if features.is_empty() {
        return version.into();
    }
    let mut table = InlineTable::new();
    table.insert("version", version.into());
    table.insert("features", features.iter().copied().collect::<Array>().into());
    table.into()
}

/// Refuses a version beside which the runtime's own would be another crate.
fn check(name: &str, there: &Item, needed: &str) -> Result<(), Failure> {
    let version = there.as_str().or_else(|| there.get("version").and_then(Item::as_str));
    let numbers = |version: &str| -> Vec<String> {
        let version = version.trim_start_matches(['^', '=', '~', '>', ' ']);
        let zero = version.starts_with("0.");
        version.split('.').take(if zero { 2 } else { 1 }).map(str::to_owned).collect()
    };
    match version {
        Some(version) if numbers(version) != numbers(needed) => Err(Failure::message(format!(
            "`Cargo.toml` has {name} {version}, and genclient-runtime needs {needed}"
        ))
        .help(&format!("change it to `{name} = \"{needed}\"`"))),
        _ => Ok(()),
    }
}

/// Refuses a k8s-openapi for which nobody has chosen a Kubernetes version: its build fails.
fn check_version_feature(manifest: &DocumentMut) -> Result<(), Failure> {
    const LIBRARY: &str = "k8s-openapi";
    let chooses = |table: &str| {
        let there = manifest.get(table).and_then(|table| table.get(LIBRARY));
        // What a workspace says of it is not seen here.
        let inherited = there.and_then(|there| there.get("workspace")).is_some();
        let features = there.and_then(|there| there.get("features")).and_then(Item::as_array);
        let mut features = features.into_iter().flatten().filter_map(Value::as_str);
        inherited || features.any(|name| ["latest", "earliest"].contains(&name) || name.starts_with("v1_"))
    };
    let passed_on =
        || manifest.get("features").is_some_and(|features| features.to_string().contains(LIBRARY));
    if chooses("dependencies") || chooses("dev-dependencies") || passed_on() {
        return Ok(());
    }
    Err(Failure::message(format!("`Cargo.toml` has {LIBRARY} without the feature of a Kubernetes version")).help(
        "add `features = [\"latest\"]`, or the oldest version that you need, there or in `dev-dependencies`",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_are_those_of_the_runtime() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
        // A published package has no workspace around it.
        let Ok(root) = std::fs::read_to_string(root) else { return };
        let root = parse(&root).unwrap();
        for (name, version, _) in LIBRARIES.into_iter().chain([PROGRAM]) {
            let there = &root["workspace"]["dependencies"][name];
            let there = there.as_str().or_else(|| there.get("version").and_then(Item::as_str));
            assert_eq!(there, Some(version), "{name}");
        }
    }

    #[test]
    fn what_is_there_is_kept_and_what_is_missing_is_added() {
        let text = "[package]\nname = \"a\" # mine\n\n[dependencies]\nserde = \"1.0.100\"\nother = \"2\"\n";
        let manifest = with_dependencies(text, &Origin::Registry, Path::new(".")).unwrap();
        assert!(manifest.starts_with(text), "{manifest}");
        assert!(manifest.contains("\ngenclient-runtime = \""), "{manifest}");
        assert!(
            manifest.contains("\nk8s-openapi = { version = \"0.29\", features = [\"latest\"] }\n"),
            "{manifest}"
        );
        let wrong = text.replace("other = \"2\"", "schemars = \"0.8\"");
        assert!(with_dependencies(&wrong, &Origin::Registry, Path::new(".")).is_err());
    }

    #[test]
    fn somebody_chooses_the_version_of_kubernetes() {
        for (manifest, accepted) in [
            ("[dependencies]\nk8s-openapi = \"0.29\"\n", false),
            ("[dependencies]\nk8s-openapi = { version = \"0.29\", features = [\"schemars\"] }\n", false),
            ("[dependencies]\nk8s-openapi = { version = \"0.29\", features = [\"v1_33\"] }\n", true),
            ("[dependencies]\nk8s-openapi.workspace = true\n", true),
            (
                "[dependencies]\nk8s-openapi = \"0.29\"\n[dev-dependencies]\n\
                 k8s-openapi = { version = \"0.29\", features = [\"latest\"] }\n",
                true,
            ),
            ("[dependencies]\nk8s-openapi = \"0.29\"\n[features]\nnew = [\"k8s-openapi/latest\"]\n", true),
        ] {
            let result = with_dependencies(manifest, &Origin::Registry, Path::new("."));
            assert_eq!(result.is_ok(), accepted, "{manifest}");
        }
    }

    #[test]
    fn members_are_added_in_the_form_that_is_there() {
        for (before, after) in [
            ("members = [\"a\"]", "members = [\"a\", \"apis\", \"client\"]"),
            ("members = [\n    \"a\",\n]", "members = [\n    \"a\",\n    \"apis\",\n    \"client\",\n]"),
            ("members = [\"*\"]", "members = [\"*\"]"),
            ("members = [\"apis\"]", "members = [\"apis\", \"client\"]"),
            (
                "members = [\"crates/*\"]\nexclude = [\"client\"]",
                "members = [\"crates/*\", \"apis\"]\nexclude = [\"client\"]",
            ),
        ] {
            let text = format!("[workspace]\n{before}\n");
            assert_eq!(with_members(&text, &["apis", "client"]).unwrap(), format!("[workspace]\n{after}\n"));
        }
        let text = "[workspace]\nmembers = [\"crates/*\"]\n";
        assert_eq!(with_members(text, &["crates/a"]).unwrap(), text);
        assert_ne!(with_members(text, &["crates/a/b"]).unwrap(), text);
        assert_eq!(with_members("[workspace]\n", &["apis"]).unwrap(), "[workspace]\nmembers = [\"apis\"]\n");
    }
}
