//! The packages of a dependency graph, as `cargo metadata` describes them.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::Error;
use crate::diag::did_you_mean;

/// The packages of a dependency graph. The empty one is enough for crates in folders.
#[derive(Clone, Debug, Default)]
pub struct Packages {
    packages: BTreeMap<String, Package>,
    /// The folder of the package that the sources must be dependencies of.
    own: Option<PathBuf>,
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
    /// The packages that it depends on.
    dependencies: Vec<Used>,
}

/// A package that another one depends on.
#[derive(Clone, Debug)]
struct Used {
    id: String,
    /// Whether its library uses it, not only its tests or its build script.
    by_library: bool,
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
                dependencies: node.deps.into_iter().map(Used::from).collect(),
            };
            Some((package.id, found))
        });
        Ok(Self { packages: packages.collect(), own: None })
    }

    /// The same graph, of which the package in this folder is to use the sources.
    #[must_use]
    pub fn seen_from(self, folder: &Path) -> Self {
        let own = self.packages.values().find(|package| package.folder == folder);
        Self { own: own.map(|package| package.folder.clone()), ..self }
    }

    /// A package that the generated package depends on, or, if that has to be made, any one of the graph.
    pub(crate) fn find(&self, name: &str) -> Result<&Package, Error> {
        let own = self.packages.values().find(|package| Some(&package.folder) == self.own.as_ref());
        let found = match own {
            Some(own) => self.dependencies(own, name),
            None => self.named(name),
        };
        if let Some(own) = own.filter(|own| found.is_empty() && self.uses_elsewhere(own, name)) {
            let message = format!("`{name}` is only a dev- or build-dependency of `{}`", own.name);
            let help = format!("the generated code needs it: `cargo add --package {} {name}`", own.name);
            return Err(Error::new(None, message).help(help));
        }
        let of = own.map_or("the workspace".to_owned(), |own| format!("`{}`", own.name));
        match &found[..] {
            [only] => self.check_kube(only).map(|()| *only),
            [] => {
                let error = Error::new(None, format!("`{name}` is not a dependency of {of}"));
                let names = self.packages.values().map(|package| package.name.as_str());
                let near = did_you_mean(name, names).filter(|near| *near != name);
                Err(match (near, own) {
                    (Some(near), _) => error.help(format!("did you mean `{near}`?")),
                    (None, Some(own)) => {
                        error.help(format!("add it with `cargo add --package {} {name}`", own.name))
                    }
                    (None, None) => error.help(format!("add it with `cargo add {name}`")),
                })
            }
            several => {
                Err(Error::new(None, format!("{of} uses `{name}` in the versions {}", versions(several)))
                    .help("let the generated package depend on one of them"))
            }
        }
    }

    /// Refuses a package whose kinds are those of another kube than the runtime's.
    fn check_kube(&self, package: &Package) -> Result<(), Error> {
        let runtime = self.named("genclient-runtime").into_iter().find_map(|runtime| self.kube_of(runtime));
        match (self.kube_of(package), runtime) {
            (Some(theirs), Some(ours)) if major(&theirs.version) != major(&ours.version) => Err(Error::new(
                None,
                format!(
                    "`{} {}` stands on kube {}, and `genclient-runtime` on kube {}",
                    package.name, package.version, theirs.version, ours.version
                ),
            )
            .help(format!(
                "use a version of `{}` that stands on kube {}",
                package.name,
                major(&ours.version)
            ))),
            _ => Ok(()),
        }
    }

    /// The k8s-openapi that the runtime uses, or else the only one.
    pub(crate) fn k8s_openapi(&self) -> Result<&Package, String> {
        const NAME: &str = "k8s-openapi";
        let mut runtimes = self.named("genclient-runtime").into_iter();
        let used = runtimes.find_map(|runtime| self.dependencies(runtime, NAME).first().copied());
        if let Some(package) = used {
            return Ok(package);
        }
        let found = self.named(NAME);
        match &found[..] {
            [] => Err(format!("`{NAME}` is not in the dependency graph of the workspace")),
            [only] => Ok(only),
            several => Err(format!("the workspace uses `{NAME}` in the versions {}", versions(several))),
        }
    }

    fn named(&self, name: &str) -> Vec<&Package> {
        self.packages.values().filter(|package| package.name == name).collect()
    }

    /// The packages of this name that the library of another one depends on itself.
    fn dependencies(&self, of: &Package, name: &str) -> Vec<&Package> {
        let used = of.dependencies.iter().filter(|used| used.by_library);
        let packages = used.filter_map(|used| self.packages.get(&used.id));
        packages.filter(|package| package.name == name).collect()
    }

    /// Whether the tests or the build script of a package use one of this name.
    fn uses_elsewhere(&self, package: &Package, name: &str) -> bool {
        let mut packages = package.dependencies.iter().filter_map(|used| self.packages.get(&used.id));
        packages.any(|package| package.name == name)
    }

    /// The kube that a package depends on itself.
    fn kube_of(&self, package: &Package) -> Option<&Package> {
        let names = ["kube", "kube-core", "kube-derive", "kube-client"];
        names.iter().find_map(|name| self.dependencies(package, name).first().copied())
    }
}

/// The part of a version that must be the same: the first number that is not zero, and those before it.
fn major(version: &str) -> &str {
    let zeros = version.split('.').take_while(|number| *number == "0").count();
    let end = version.match_indices('.').nth(zeros).map_or(version.len(), |(at, _)| at);
    &version[..end]
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
    /// Empty if cargo is too old to say.
    #[serde(default)]
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Deserialize)]
struct DependencyKind {
    /// `dev`, `build`, or nothing for a dependency of the library.
    kind: Option<String>,
}

impl From<Dependency> for Used {
    fn from(Dependency { pkg, dep_kinds }: Dependency) -> Self {
        let by_library = dep_kinds.is_empty() || dep_kinds.iter().any(|used| used.kind.is_none());
        Self { id: pkg, by_library }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_major_version_is_what_cargo_holds_compatible() {
        for (version, expected) in
            [("5.0.0", "5"), ("0.99.1", "0.99"), ("0.0.3", "0.0.3"), ("1.2.3-rc.1", "1")]
        {
            assert_eq!(major(version), expected);
        }
    }

    /// A graph of the packages `own` and `runtime`, and of two versions of kube.
    fn graph(extra: &str) -> Packages {
        graph_with(extra, None)
    }

    /// The same graph, in which `own` uses `extra` as this kind of dependency.
    fn graph_with(extra: &str, kind: Option<&str>) -> Packages {
        let package = |name: &str, version: &str, dependencies: &[&str]| {
            let listed = serde_json::json!({
                "id": format!("{name} {version}"), "name": name, "version": version,
                "manifest_path": format!("/{name}-{version}/Cargo.toml"), "targets": [],
            });
            let dependency = |id: &&str| {
                let kind = kind.filter(|_| *id == extra);
                serde_json::json!({ "pkg": id, "dep_kinds": [{ "kind": kind, "target": null }] })
            };
            let deps: Vec<_> = dependencies.iter().map(dependency).collect();
            (listed, serde_json::json!({ "id": format!("{name} {version}"), "features": [], "deps": deps }))
        };
        let (packages, nodes): (Vec<_>, Vec<_>) = [
            package("own", "0.1.0", &["genclient-runtime 0.1.0", "new-kinds 1.0.0", extra]),
            package("genclient-runtime", "0.1.0", &["kube 5.0.0"]),
            package("new-kinds", "1.0.0", &["kube 5.0.0"]),
            package("old-kinds", "2.0.0", &["kube 0.99.0"]),
            package("kube", "5.0.0", &[]),
            package("kube", "0.99.0", &[]),
        ]
        .into_iter()
        .unzip();
        let metadata = serde_json::json!({ "packages": packages, "resolve": { "nodes": nodes } });
        Packages::parse(&metadata.to_string()).unwrap().seen_from(Path::new("/own-0.1.0"))
    }

    #[test]
    fn a_package_is_a_dependency_that_stands_on_the_same_kube() {
        let found = graph("").find("new-kinds").map(|package| package.version.clone());
        assert_eq!(found.unwrap(), "1.0.0");
        let error = graph("").find("old-kinds").unwrap_err();
        assert_eq!(error.message, "`old-kinds` is not a dependency of `own`");
        let error = graph("").find("new-kind").unwrap_err();
        assert_eq!(error.help.as_deref(), Some("did you mean `new-kinds`?"));
        let error = graph("old-kinds 2.0.0").find("old-kinds").unwrap_err();
        assert_eq!(
            error.message,
            "`old-kinds 2.0.0` stands on kube 0.99.0, and `genclient-runtime` on kube 5.0.0"
        );
    }

    #[test]
    fn a_dependency_of_tests_or_of_the_build_script_is_not_enough() {
        for kind in ["dev", "build"] {
            let error = graph_with("old-kinds 2.0.0", Some(kind)).find("old-kinds").unwrap_err();
            assert_eq!(error.message, "`old-kinds` is only a dev- or build-dependency of `own`");
            let help = "the generated code needs it: `cargo add --package own old-kinds`";
            assert_eq!(error.help.as_deref(), Some(help));
        }
    }
}
