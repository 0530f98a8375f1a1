//! The packages of a dependency graph, as `cargo metadata` describes them.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use serde::Deserialize;

/// The packages of a dependency graph. The empty one is enough for crates in folders.
#[derive(Clone, Debug, Default)]
pub struct Packages {
    packages: BTreeMap<String, Package>,
}

/// One package of the graph.
#[derive(Clone, Debug)]
pub struct Package {
    /// The package's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its folder on this machine.
    pub folder: PathBuf,
    /// Its library, if it has one.
    pub library: Option<PackageLibrary>,
    /// The features that the graph enables.
    pub features: BTreeSet<String>,
    /// The ids of the packages that it depends on.
    dependencies: Vec<String>,
}

/// The library of a package.
#[derive(Clone, Debug)]
pub struct PackageLibrary {
    /// The name by which other crates import it.
    pub name: String,
    /// The file of its root module.
    pub root: PathBuf,
    /// Whether it is of the edition of 2015.
    pub edition_2015: bool,
}

impl Packages {
    /// Reads what `cargo metadata --format-version 1` prints.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        let metadata: Metadata = serde_json::from_str(text)?;
        let mut nodes: BTreeMap<String, Node> =
            metadata.resolve.nodes.into_iter().map(|node| (node.id.clone(), node)).collect();
        let packages = metadata.packages.into_iter().filter_map(|package| {
            let node = nodes.remove(&package.id)?;
            let library = package.targets.into_iter().find(Target::is_library).map(|target| PackageLibrary {
                name: target.name.replace('-', "_"),
                root: target.src_path,
                edition_2015: target.edition == "2015",
            });
            let found = Package {
                name: package.name,
                version: package.version,
                folder: package.manifest_path.parent()?.to_path_buf(),
                library,
                features: node.features,
                dependencies: node.deps.into_iter().map(|dependency| dependency.pkg).collect(),
            };
            Some((package.id, found))
        });
        Ok(Self { packages: packages.collect() })
    }

    /// The k8s-openapi that the runtime uses, or else the only one.
    pub(crate) fn k8s_openapi(&self) -> Result<&Package, String> {
        const NAME: &str = "k8s-openapi";
        let mut runtimes = self.named("genclient-runtime");
        if let Some(package) = runtimes.find_map(|runtime| self.dependencies(runtime, NAME).next()) {
            return Ok(package);
        }
        let found: Vec<_> = self.named(NAME).collect();
        match &found[..] {
            [] => Err(format!("`{NAME}` is not in the dependency graph of the workspace")),
            [only] => Ok(only),
            several => Err(format!("the workspace uses `{NAME}` in the versions {}", versions(several))),
        }
    }

    fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Package> {
        self.packages.values().filter(move |package| package.name == name)
    }

    /// The packages of this name that another one depends on itself.
    fn dependencies<'a>(&'a self, of: &'a Package, name: &'a str) -> impl Iterator<Item = &'a Package> {
        let packages = of.dependencies.iter().filter_map(|id| self.packages.get(id));
        packages.filter(move |package| package.name == name)
    }
}

fn versions(packages: &[&Package]) -> String {
    packages.iter().map(|package| package.version.as_str()).collect::<Vec<_>>().join(" and ")
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Listed>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Listed {
    id: String,
    name: String,
    version: String,
    manifest_path: PathBuf,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    name: String,
    src_path: PathBuf,
    edition: String,
}

impl Target {
    fn is_library(&self) -> bool {
        self.kind
            .iter()
            .any(|kind| matches!(kind.as_str(), "lib" | "rlib" | "dylib" | "cdylib" | "staticlib"))
    }
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    features: BTreeSet<String>,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
}
