//! Crates held in memory, and what the generator reads in them.

use std::{collections::BTreeMap, path::PathBuf};

use genclient::{
    model,
    model::ApplyType,
    source::{Packages, Sources},
};

/// A kind of this name, with these attributes in front of its derive.
pub fn kind_with(attributes: &str, name: &str) -> String {
    format!("{attributes} #[derive(GenClient)] pub struct {name} {{ pub metadata: ObjectMeta }}\n")
}

/// A kind of this name.
pub fn kind(name: &str) -> String {
    kind_with("", name)
}

/// A `group_version!` with this version.
pub fn version(version: &str) -> String {
    format!("genclient_runtime::group_version!(\"example.com/{version}\");\n")
}

/// The items of a module with one kind.
pub fn network(group_version: &str) -> String {
    version(group_version) + &kind_with("#[genclient(storage)]", "Network")
}

/// What is read in the crate `my-apis` with these files in its `src`: for each kind its version, kind,
/// plural, scope and path, or every error with its line.
pub fn read(files: &[(&str, &str)]) -> Result<Vec<String>, Vec<String>> {
    read_edition("2024", files)
}

/// As [`read`], in a crate of this edition.
pub fn read_edition(edition: &str, files: &[(&str, &str)]) -> Result<Vec<String>, Vec<String>> {
    let sources = sources(edition, files);
    let model = model(&sources).map_err(|errors| {
        errors
            .iter()
            .map(|error| {
                assert!(error.help.is_some(), "without help: {}", error.message);
                let at = error.at.as_ref().map(|at| (&sources.files[at.file], at));
                let place = at.map_or(String::new(), |(file, at)| {
                    // The line and the marked bytes are of one place.
                    let lines = file.text[..at.range.start].matches('\n').count() + 1;
                    assert_eq!(lines, at.line, "{}", error.message);
                    format!("{}:{}: ", file.path.trim_start_matches("apis/src/"), at.line)
                });
                format!("{place}{}", error.message)
            })
            .collect::<Vec<_>>()
    })?;
    Ok(model
        .resources()
        .map(|(_, version, resource)| {
            let scope = if resource.namespaced { "namespaced" } else { "cluster" };
            format!("{} {} {} {scope} {}", version.name, resource.kind, resource.plural, resource.type_path)
        })
        .collect())
}

/// The types of the apply configurations of the crate with these files.
pub fn apply_types(files: &[(&str, &str)]) -> Vec<ApplyType> {
    model(&sources("2024", files)).unwrap_or_else(|errors| panic!("{errors:#?}")).apply
}

/// The crate `my-apis` with these files in its `src`.
fn sources(edition: &str, files: &[(&str, &str)]) -> Sources {
    let manifest = format!("[package]\nname = \"my-apis\"\nedition = \"{edition}\"\n");
    let files: BTreeMap<PathBuf, String> = files
        .iter()
        .map(|(path, text)| (PathBuf::from(format!("apis/src/{path}")), (*text).to_owned()))
        .chain([(PathBuf::from("apis/Cargo.toml"), manifest)])
        .collect();
    Sources::load(&files, &["apis".into()], &Packages::default())
}

/// The paths of the kinds of the crate with this root, or `-` where it is refused as unreachable.
pub fn paths(root: &str) -> Vec<String> {
    paths_edition("2024", root)
}

/// As [`paths`], in a crate of this edition.
pub fn paths_edition(edition: &str, root: &str) -> Vec<String> {
    match read_edition(edition, &[("lib.rs", root)]) {
        Ok(kinds) => kinds.iter().map(|kind| kind.rsplit(' ').next().unwrap().to_owned()).collect(),
        Err(errors) => {
            for error in errors {
                assert!(error.ends_with("cannot be reached from other crates"), "{error}\n{root}");
            }
            vec!["-".to_owned()]
        }
    }
}
