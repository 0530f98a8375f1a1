//! The `Cargo.toml` of a generated crate that has none yet.

use std::{fmt::Write as _, fs, path::Path};

use genclient::{
    GeneratedFile,
    config::{ClientConfig, Source},
    layout::{Layout, new_package_name},
    model::Feature,
};
use toml_edit::{DocumentMut, Item, Value};

/// What the manifest of a new package has beside the folders of its sources.
#[derive(Default)]
pub(crate) struct Made {
    /// The features of its groups.
    pub features: Vec<Feature>,
    /// The packages that its sources name, with their versions.
    pub dependencies: Vec<(String, String)>,
}

/// The manifest of a new package: the runtime as the first source crate names it, and the source crates.
pub(crate) fn manifest(client: &ClientConfig, layout: &Layout, package: &Path, made: &Made) -> GeneratedFile {
    let up = "../".repeat(layout.package.split('/').filter(|name| !name.is_empty()).count());
    let base = package.ancestors().nth(up.len() / 3).unwrap_or(package);
    let mut text = format!(
        "[package]\nname = \"{}\"\nversion = \"0.1.0\"\nedition = \"2024\"\npublish = false\n\n[dependencies]\n",
        new_package_name(&layout.package)
    );
    let sources: Vec<(String, DocumentMut)> = client
        .sources
        .iter()
        .filter_map(|source| {
            let Source::Folder { folder: source, .. } = source else { return None };
            let text = fs::read_to_string(base.join(source).join("Cargo.toml")).ok()?;
            Some((source.clone(), text.parse().ok()?))
        })
        .collect();
    let runtime = sources.iter().find_map(|(source, manifest)| runtime(manifest, &format!("{up}{source}")));
    let runtime = runtime.unwrap_or_else(|| format!("{:?}", env!("CARGO_PKG_VERSION")));
    let mut dependencies = vec![("genclient-runtime".to_owned(), runtime)];
    for (source, manifest) in &sources {
        if let Some(name) =
            manifest.get("package").and_then(|package| package.get("name")).and_then(Item::as_str)
        {
            dependencies.push((name.to_owned(), format!("{{ path = \"{up}{source}\" }}")));
        }
    }
    dependencies
        .extend(made.dependencies.iter().map(|(name, version)| (name.clone(), format!("{version:?}"))));
    dependencies.sort();
    for (name, dependency) in dependencies {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name} = {dependency}");
    }
    if !made.features.is_empty() {
        text.push_str(
            "\n# One for each group, with those of the groups whose types its clients take.\n[features]\n",
        );
    }
    for Feature { name, needs } in &made.features {
        let _ = writeln!(text, "{name} = {needs:?}");
    }
    GeneratedFile { path: "Cargo.toml".to_owned(), text }
}

/// How a source crate depends on the runtime, as a package elsewhere writes it.
fn runtime(manifest: &DocumentMut, folder: &str) -> Option<String> {
    let mut item = manifest.get("dependencies")?.get("genclient-runtime")?.clone();
    if let Some(table) = item.as_table_like_mut() {
        if let Some(path) = table.get("path").and_then(Item::as_str).map(|path| format!("{folder}/{path}")) {
            table.insert("path", Item::Value(Value::from(path)));
        }
        for key in ["optional", "package"] {
            table.remove(key);
        }
    }
    let value = match item {
        Item::Table(table) => Value::InlineTable(table.into_inline_table()),
        item => item.into_value().ok()?,
    };
    Some(value.to_string().trim().to_owned())
}
