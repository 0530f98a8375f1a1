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
    let table = dependencies
        .as_table_like_mut()
        .ok_or_else(|| Failure::message("the `dependencies` of `Cargo.toml` are not a table"))?;
    if !table.contains_key("genclient-runtime") {
        table.insert("genclient-runtime", Item::Value(origin.runtime(package)));
    }
    for (name, version, features) in LIBRARIES {
        match table.get(name) {
            None => drop(table.insert(name, Item::Value(dependency(version, features)))),
            Some(there) => check(name, there, version)?,
        }
    }
    Ok(manifest.to_string())
}

/// Adds members to a workspace, unless a pattern covers them.
pub(super) fn with_members(text: &str, folders: &[&str]) -> Result<String, Failure> {
    let mut manifest = parse(text)?;
    let workspace = manifest.get_mut("workspace").and_then(Item::as_table_like_mut);
    let members = workspace
        .map(|workspace| workspace.entry("members").or_insert(Item::Value(Array::new().into())))
        .and_then(Item::as_array_mut)
        .ok_or_else(|| Failure::message("the `members` of the workspace are not a list"))?;
    for folder in folders {
        let covered =
            members.iter().filter_map(Value::as_str).any(|member| member == *folder || member == "*");
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

/// Whether a manifest has this table.
pub(super) fn has(text: &str, table: &str) -> Result<bool, Failure> {
    Ok(parse(text)?.contains_key(table))
}

fn parse(text: &str) -> Result<DocumentMut, Failure> {
    text.parse().map_err(|error| Failure::message(format!("cannot read `Cargo.toml`: {error}")))
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
    fn members_are_added_in_the_form_that_is_there() {
        for (before, after) in [
            ("members = [\"a\"]", "members = [\"a\", \"apis\", \"client\"]"),
            ("members = [\n    \"a\",\n]", "members = [\n    \"a\",\n    \"apis\",\n    \"client\",\n]"),
            ("members = [\"*\"]", "members = [\"*\"]"),
            ("members = [\"apis\"]", "members = [\"apis\", \"client\"]"),
        ] {
            let text = format!("[workspace]\n{before}\n");
            assert_eq!(with_members(&text, &["apis", "client"]).unwrap(), format!("[workspace]\n{after}\n"));
        }
        assert_eq!(with_members("[workspace]\n", &["apis"]).unwrap(), "[workspace]\nmembers = [\"apis\"]\n");
    }
}
