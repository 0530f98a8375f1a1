//! The `Cargo.toml` of a generated crate that has none yet.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use genclient::{
    GeneratedFile,
    config::{ClientConfig, Source},
    layout::{FAKE, FAKE_FEATURE, Layout, new_package_name},
    model::Feature,
};
use toml_edit::{DocumentMut, InlineTable, Item, Value};

use crate::place;

/// The name of the runtime's package.
const RUNTIME: &str = "genclient-runtime";

/// What the manifest of a new package has beside the folders of its sources.
#[derive(Default)]
pub(crate) struct Made {
    /// The features of its groups.
    pub features: Vec<Feature>,
    /// The packages that its sources name, with their versions.
    pub dependencies: Vec<(String, String)>,
}

/// The manifest of a new package: the runtime from where the first source crate takes it, under the name that
/// generated code gives it, and the source crates. `folder` is that of the configuration.
pub(crate) fn manifest(
    folder: &Path,
    client: &ClientConfig,
    layout: &Layout,
    package: &Path,
    made: &Made,
) -> GeneratedFile {
    let mut text = format!(
        "[package]\nname = \"{}\"\nversion = \"0.1.0\"\nedition = \"2024\"\npublish = false\n\n[dependencies]\n",
        new_package_name(&layout.package)
    );
    let sources = client.sources.iter().filter_map(|source| {
        let Source::Folder { folder: source, .. } = source else { return None };
        Manifest::read(&folder.join(source))
    });
    let sources: Vec<Manifest> = sources.collect();
    let wanted = layout.runtime.split("::").next().unwrap_or_default();
    let found = sources.iter().find_map(|source| source.runtime(wanted, package));
    let runtime = found.unwrap_or_else(|| called(wanted, env!("CARGO_PKG_VERSION").into()));
    let fake = client.fake.then(|| (FAKE.to_owned(), beside(&runtime.1)));
    let mut dependencies: Vec<_> = fake.into_iter().chain([runtime]).collect();
    for source in &sources {
        let named = source.text.get("package").and_then(|package| package.get("name"));
        if let Some(name) = named.and_then(Item::as_str) {
            let mut path = InlineTable::new();
            path.insert("path", place::relative(package, &source.folder).into());
            dependencies.push((name.to_owned(), path.into()));
        }
    }
    dependencies.extend(made.dependencies.iter().map(|(name, version)| (name.clone(), version.into())));
    dependencies.sort_by(|(a, _), (b, _)| a.cmp(b));
    for (name, dependency) in dependencies {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name} = {}", dependency.to_string().trim());
    }
    if !made.features.is_empty() {
        text.push_str(
            "\n# One for each group, with those of the groups whose types its clients take.\n[features]\n",
        );
    }
    for Feature { name, needs } in &made.features {
        let _ = writeln!(text, "{name} = {needs:?}");
    }
    if client.fake {
        let title = if made.features.is_empty() { "\n[features]" } else { "" };
        let _ = writeln!(
            text,
            "{title}\n# An API server in memory, for tests.\n{FAKE_FEATURE} = [\"dep:{FAKE}\"]"
        );
    }
    GeneratedFile { path: "Cargo.toml".to_owned(), text }
}

/// A `Cargo.toml` and its folder.
struct Manifest {
    folder: PathBuf,
    text: DocumentMut,
}

impl Manifest {
    fn read(folder: &Path) -> Option<Self> {
        let text = fs::read_to_string(folder.join("Cargo.toml")).ok()?.parse().ok()?;
        Some(Self { folder: folder.to_path_buf(), text })
    }

    /// How this crate depends on what generated code calls `wanted`, as a package elsewhere writes it.
    fn runtime(&self, wanted: &str, package: &Path) -> Option<(String, Value)> {
        let dependencies = self.text.get("dependencies")?.as_table_like()?;
        if let Some((name, there)) = dependencies.iter().find(|(name, _)| name.replace('-', "_") == wanted) {
            return Some((name.to_owned(), self.seen_from(package, there)?));
        }
        dependencies.iter().find_map(|(name, there)| {
            let inherited = there.get("workspace").and_then(Item::as_bool).unwrap_or_default();
            let workspace = if inherited { self.workspace() } else { None };
            let (manifest, there) = match &workspace {
                Some(workspace) => (
                    workspace,
                    workspace.text.get("workspace")?.get("dependencies")?.as_table_like()?.get(name)?,
                ),
                None => (self, there),
            };
            if there.get("package").and_then(Item::as_str).unwrap_or(name) != RUNTIME {
                return None;
            }
            let mut value = manifest.seen_from(package, there)?;
            if let Some(table) = value.as_inline_table_mut() {
                table.remove("package");
                table.fmt();
            }
            Some(called(wanted, value))
        })
    }

    /// The workspace that the crate is a member of.
    fn workspace(&self) -> Option<Self> {
        let folder = place::absolute(&self.folder);
        folder.ancestors().filter_map(Self::read).find(|manifest| manifest.text.contains_key("workspace"))
    }

    /// A dependency of this crate as a package elsewhere writes it.
    fn seen_from(&self, package: &Path, dependency: &Item) -> Option<Value> {
        let mut value = match dependency.clone() {
            Item::Table(table) => Value::InlineTable(table.into_inline_table()),
            item => item.into_value().ok()?,
        };
        if let Some(table) = value.as_inline_table_mut() {
            if let Some(path) = table.get("path").and_then(Value::as_str) {
                let path = place::relative(package, &self.folder.join(path));
                table.insert("path", path.into());
            }
            table.remove("optional");
            table.set_dotted(false);
            table.fmt();
        }
        Some(value)
    }
}

/// The fake from where the runtime is, as an optional dependency.
fn beside(runtime: &Value) -> Value {
    let mut fake = InlineTable::new();
    match runtime {
        Value::InlineTable(table) => {
            for (key, value) in table.iter().filter(|(key, _)| !matches!(*key, "package" | "features")) {
                // In a checkout, each package is in a folder of its own.
                let folder =
                    value.as_str().filter(|_| key == "path").and_then(|path| path.strip_suffix("runtime"));
                fake.insert(
                    key,
                    folder.map_or_else(|| value.clone(), |folder| format!("{folder}fake").into()),
                );
            }
        }
        version => {
            fake.insert("version", version.clone().decorated("", ""));
        }
    }
    fake.insert("optional", true.into());
    fake.fmt();
    fake.into()
}

/// The runtime under the name that generated code gives it.
fn called(wanted: &str, dependency: Value) -> (String, Value) {
    if wanted == RUNTIME.replace('-', "_") {
        return (RUNTIME.to_owned(), dependency);
    }
    let mut table = match dependency {
        Value::InlineTable(table) => table,
        version => {
            let mut table = InlineTable::new();
            table.insert("version", version.decorated("", ""));
            table
        }
    };
    table.insert("package", RUNTIME.into());
    table.fmt();
    (wanted.to_owned(), table.into())
}
