//! Where generated code is: a crate of its own, or a module of somebody's crate.

use std::{collections::BTreeMap, io, path::Path};

use serde::Deserialize;

use crate::{
    CRD_PROGRAM,
    config::ClientConfig,
    model::Model,
    names::Name,
    source::{Error, Module, Packages, ReadFile, SourceCrate, Sources},
};

/// The package of the API server in memory, which the generated module `fake` needs.
pub const FAKE: &str = "genclient-fake";

/// The Cargo feature of the generated module `fake`.
pub const FAKE_FEATURE: &str = "fake";

/// The place of one client's files, and what its code is called there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The folder of the package, relative to the configuration.
    pub package: String,
    /// The name by which other crates import the package.
    pub crate_name: String,
    /// The names that lead from the crate's root to the generated module. A crate of its own has none.
    pub module: Vec<String>,
    /// The name by which the package imports the runtime.
    pub runtime: String,
    /// Whether the package has to be made: it has no `Cargo.toml` yet.
    pub is_new: bool,
    /// The features that the package declares, each with those that it enables.
    pub features: BTreeMap<String, Vec<String>>,
    /// Whether the package depends on the fake.
    pub has_fake: bool,
}

impl Layout {
    /// Finds the package that holds the output folder of a client.
    ///
    /// The output is a module if it is below the folder `src` of a package, and a crate otherwise.
    pub fn find(reader: &dyn ReadFile, client: &ClientConfig) -> Result<Self, Error> {
        let output: Vec<&str> = client.output.split('/').filter(|name| !name.is_empty()).collect();
        let module =
            (0..output.len().saturating_sub(1)).rev().filter(|at| output[*at] == "src").find_map(|at| {
                let package = output[..at].join("/");
                Some((manifest(reader, &package)?, package, &output[at + 1..]))
            });
        let own = manifest(reader, &client.output);
        let (manifest, package, module) = match (own, module) {
            (None, Some((manifest, package, module))) => (Some(manifest), package, module),
            (own, _) => (own, client.output.clone(), &[][..]),
        };
        let is_new = manifest.is_none();
        let declared = manifest.as_deref().and_then(|text| toml::from_str::<Manifest>(text).ok());
        let (features, has_fake) = declared.map_or_else(Default::default, |manifest| {
            let has_fake = manifest.dependencies.contains_key(FAKE);
            (manifest.features, has_fake)
        });
        let crate_name = match manifest {
            Some(text) => crate_name(&text).ok_or_else(|| {
                Error::new(None, format!("`{}` does not name a package", shown_manifest(&package)))
                    .help("`output` must be in a package; give the file a `[package]` with a `name`")
            })?,
            None => new_package_name(&client.output).replace('-', "_"),
        };
        if let Some(name) = module.iter().find(|name| syn::parse_str::<syn::Ident>(name).is_err()) {
            return Err(Error::new(
                None,
                format!("`{name}` in the output `{}` cannot be a module", client.output),
            )
            .help("below `src` every folder of `output` is a Rust module"));
        }
        Ok(Self {
            package,
            crate_name,
            module: module.iter().map(|name| (*name).to_owned()).collect(),
            runtime: client.runtime.clone(),
            is_new,
            features,
            has_fake,
        })
    }

    /// Checks that the package has the feature of the fake, and the dependency. One that is made gets them.
    pub(crate) fn check_fake(&self, model: &Model) -> Result<(), Vec<Error>> {
        let manifest = shown_manifest(&self.package);
        let mut errors = Vec::new();
        if let Some(group) = model
            .groups
            .iter()
            .find(|group| group.feature.as_ref().is_some_and(|feature| feature.name == FAKE_FEATURE))
        {
            let message =
                format!("the feature of the group `{}` and that of the fake are both `fake`", group.name);
            errors.push(Error::new(None, message).help("set `features = false` or `fake = false`"));
        }
        if self.is_new {
            return if errors.is_empty() { Ok(()) } else { Err(errors) };
        }
        let enabled = self.features.get(FAKE_FEATURE);
        let wanted = [format!("dep:{FAKE}"), FAKE.to_owned()];
        if !enabled.is_some_and(|enabled| enabled.iter().any(|name| wanted.contains(name))) {
            let line = format!("{FAKE_FEATURE} = [\"dep:{FAKE}\"]");
            errors.push(
                Error::new(None, format!("`{manifest}` does not declare the feature `{FAKE_FEATURE}`"))
                    .help(format!("add it to its `[features]`: `{line}`")),
            );
        }
        if !self.has_fake {
            let version = env!("CARGO_PKG_VERSION");
            let line = format!("{FAKE} = {{ version = \"{version}\", optional = true }}");
            errors.push(
                Error::new(None, format!("`{manifest}` does not depend on `{FAKE}`"))
                    .help(format!("add it to its `[dependencies]`: `{line}`")),
            );
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Checks that the package declares the feature of each group. One that is made gets them all.
    pub(crate) fn check_features(&self, model: &Model) -> Result<(), Vec<Error>> {
        if self.is_new {
            return Ok(());
        }
        let manifest = shown_manifest(&self.package);
        let missing = model.groups.iter().filter_map(|group| group.feature.as_ref()).filter(|feature| {
            let declared = self.features.get(&feature.name);
            !declared.is_some_and(|enabled| feature.needs.iter().all(|need| enabled.contains(need)))
        });
        let errors: Vec<_> = missing
            .map(|feature| {
                Error::new(None, format!("`{manifest}` does not declare the feature `{}`", feature.name))
                    .help(format!("add it to its `[features]`: `{} = {:?}`", feature.name, feature.needs))
            })
            .collect();
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Reads the source crates of a client. One that holds the generated module is read without it: it is
    /// what is about to be written.
    ///
    /// # Errors
    ///
    /// Returns an error if such a crate does not declare the module.
    pub fn sources(
        &self,
        reader: &dyn ReadFile,
        client: &ClientConfig,
        packages: &Packages,
    ) -> Result<Sources, Error> {
        if !self.is_module() {
            return Ok(Sources::load(reader, &client.sources, packages));
        }
        let root = Path::new(&self.package).join(self.root());
        let sources = Sources::load(&Without { reader, root: &root }, &client.sources, packages);
        let own = sources.crates.iter().find(|krate| krate.package.is_none() && krate.folder == self.package);
        let declares = |krate: &SourceCrate| {
            let path =
                |module: &Module| module.path.iter().map(|name| name.as_str().to_owned()).collect::<Vec<_>>();
            krate.root.walk().any(|module| path(module) == self.module)
        };
        match own {
            Some(krate) if !declares(krate) => {
                let name = self.module.last().map(String::as_str).unwrap_or_default();
                Err(Error::new(
                    None,
                    format!("the crate does not declare the module `{}`", self.module.join("::")),
                )
                .help(format!("add `pub mod {name};` to the file of the module above it")))
            }
            _ => Ok(sources),
        }
    }

    /// Whether the generated code is a module of a crate that holds other things too.
    pub fn is_module(&self) -> bool {
        !self.module.is_empty()
    }

    /// The path of a generated source file in the package.
    pub(crate) fn source(&self, file: &str) -> String {
        let mut path = String::from("src/");
        self.module.iter().for_each(|name| path.extend([name, "/"]));
        path + file
    }

    /// The file that holds the root of the generated code.
    pub(crate) fn root(&self) -> String {
        self.source(if self.is_module() { "mod.rs" } else { "lib.rs" })
    }

    /// The places of the package that hold generated code: a folder, and the program that prints CRDs.
    pub fn folders(&self) -> Vec<String> {
        vec![self.folder(), CRD_PROGRAM.to_owned()]
    }

    /// The folder of the package that holds generated modules, and those of no other client.
    pub fn folder(&self) -> String {
        self.source("").trim_end_matches('/').to_owned()
    }

    /// A path of the generated code, as the crate itself writes it.
    pub(crate) fn within(&self, path: &str) -> String {
        let module = self.module.iter().map(String::as_str);
        std::iter::once("crate").chain(module).chain([path]).collect::<Vec<_>>().join("::")
    }

    /// A path that starts with the name of a crate, as the generated code writes it.
    pub(crate) fn seen_from_here(&self, path: &[Name]) -> Vec<String> {
        let mut path: Vec<String> = path.iter().map(|name| name.as_str().to_owned()).collect();
        if let Some(first) = path.first_mut().filter(|first| self.is_module() && **first == self.crate_name) {
            *first = "crate".to_owned();
        }
        path
    }
}

/// The files of another reader, of which one is empty.
struct Without<'a> {
    reader: &'a dyn ReadFile,
    root: &'a Path,
}

impl ReadFile for Without<'_> {
    fn read(&self, path: &Path) -> io::Result<String> {
        if path == self.root { Ok(String::new()) } else { self.reader.read(path) }
    }
}

/// The name of the package that is made for an output folder.
pub fn new_package_name(output: &str) -> String {
    let folder = output.rsplit('/').next().unwrap_or(output);
    let name: String =
        folder.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '-' }).collect();
    match name.ends_with("client") {
        true => name,
        false => format!("{}-client", name.trim_matches('-')),
    }
}

fn shown_manifest(package: &str) -> String {
    match package {
        "" => "Cargo.toml".to_owned(),
        package => format!("{package}/Cargo.toml"),
    }
}

fn manifest(reader: &dyn ReadFile, package: &str) -> Option<String> {
    reader.read(Path::new(&shown_manifest(package))).ok()
}

#[derive(Deserialize)]
struct Manifest {
    package: Option<Named>,
    lib: Option<Named>,
    #[serde(default)]
    features: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    dependencies: BTreeMap<String, toml::Value>,
}

#[derive(Deserialize)]
struct Named {
    name: Option<String>,
}

/// The name by which other crates import the package of a manifest.
pub fn crate_name(manifest: &str) -> Option<String> {
    let manifest: Manifest = toml::from_str(manifest).ok()?;
    let package = manifest.package?.name?;
    let name = manifest.lib.and_then(|lib| lib.name).unwrap_or(package);
    Some(name.replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::config::Config;

    fn layout(output: &str, files: &[(&str, &str)]) -> Result<Layout, Error> {
        let files: BTreeMap<PathBuf, String> =
            files.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect();
        let config = format!("[[client]]\noutput = {output:?}\nsources = [\"apis\"]\n");
        Layout::find(&files, &Config::parse(&config).unwrap().clients[0])
    }

    const PACKAGE: &str = "[package]\nname = \"my-crate\"\n";

    #[test]
    fn below_src_of_a_package_it_is_a_module_and_elsewhere_a_crate() {
        let module = layout("src/generated", &[("Cargo.toml", PACKAGE)]).unwrap();
        assert_eq!((module.package.as_str(), module.crate_name.as_str()), ("", "my_crate"));
        assert_eq!(module.root(), "src/generated/mod.rs");
        assert_eq!(module.within("clientset::Clientset"), "crate::generated::clientset::Clientset");

        let deep = layout("crates/a/src/api/gen_", &[("crates/a/Cargo.toml", PACKAGE)]).unwrap();
        assert_eq!((deep.package.as_str(), deep.root().as_str()), ("crates/a", "src/api/gen_/mod.rs"));

        // A repository may keep its crates in a folder `src`.
        let files = [("Cargo.toml", PACKAGE), ("src/client/Cargo.toml", PACKAGE)];
        let own = layout("src/client", &files).unwrap();
        assert_eq!((own.package.as_str(), own.root().as_str()), ("src/client", "src/lib.rs"));
        assert!(!own.is_module() && !own.is_new);

        let new = layout("generated/sample", &[("Cargo.toml", PACKAGE)]).unwrap();
        assert_eq!((new.crate_name.as_str(), new.is_new), ("sample_client", true));
        let new = layout("src/generated", &[("Cargo.toml", "[workspace]\n")]);
        assert!(new.is_err(), "a workspace is not a package");
    }

    #[test]
    fn the_name_of_the_library_counts() {
        let manifest = "[package]\nname = \"a\"\n[lib]\nname = \"b\"\n";
        assert_eq!(layout("client", &[("client/Cargo.toml", manifest)]).unwrap().crate_name, "b");
    }

    #[test]
    fn a_folder_that_cannot_be_a_module_is_refused() {
        assert!(layout("src/my-client", &[("Cargo.toml", PACKAGE)]).is_err());
    }
}
