//! What is there already: nothing, a crate, or a workspace.

use std::{
    fs,
    path::{Path, PathBuf},
};

use genclient::{layout, names};

use super::{manifest, origin::Origin, sample::Sample};
use crate::{place, report::Failure};

/// The folder that is set up.
pub(super) struct Project {
    state: State,
    /// The module of the types, after the version.
    module: String,
}

enum State {
    /// No package: one crate is made for types, generated code and controller. In a workspace it becomes a
    /// member, because cargo refuses a package below one that is not.
    Empty { name: String, workspace: Option<Above> },
    /// A crate, which gets a module of types and the generated code.
    Crate { name: String, manifest: String, lib: Library },
    /// A workspace without a package of its own, which gets a crate of types and a generated one.
    Workspace { manifest: String },
}

/// The root of a crate's library.
struct Library {
    /// Its path in the package.
    path: String,
    /// Its text, if it is there.
    text: Option<String>,
}

/// A workspace above the folder.
struct Above {
    folder: PathBuf,
    manifest: String,
}

impl Above {
    fn find(folder: &Path) -> Result<Option<Self>, Failure> {
        for folder in place::absolute(folder).ancestors().skip(1) {
            let Ok(manifest) = fs::read_to_string(folder.join("Cargo.toml")) else { continue };
            if manifest::has(&manifest, "workspace")? {
                return Ok(Some(Self { folder: folder.to_path_buf(), manifest }));
            }
        }
        Ok(None)
    }
}

impl Project {
    pub fn find(folder: &Path, version: &str) -> Result<Self, Failure> {
        if folder.join("genclient.toml").exists() {
            return Err(Failure::message("there is a `genclient.toml` already")
                .help("`genclient generate` generates what it names"));
        }
        let module = names::module_within("", &version.replace('-', "_"));
        let state = match fs::read_to_string(folder.join("Cargo.toml")) {
            Ok(text) if manifest::has(&text, "package")? => {
                let name = layout::crate_name(&text).ok_or_else(|| {
                    Failure::message("the package of `Cargo.toml` has no name")
                        .help("give it a `name`, and run `genclient init` again")
                })?;
                let path = manifest::library(&text)?;
                if Path::new(&path).parent() != Some(Path::new("src")) {
                    return Err(Failure::message(format!(
                        "the library of `Cargo.toml` is `{path}`, and generated modules are in `src`"
                    ))
                    .help("move it to `src/lib.rs`, or run `genclient init` in the folder of a workspace"));
                }
                let lib = Library { text: fs::read_to_string(folder.join(&path)).ok(), path };
                State::Crate { name, manifest: text, lib }
            }
            Ok(text) if manifest::has(&text, "workspace")? => State::Workspace { manifest: text },
            Ok(_) => {
                return Err(Failure::message("`Cargo.toml` holds neither a package nor a workspace")
                    .help("add a `[package]`, or run `genclient init` in another folder"));
            }
            Err(_) => State::Empty { name: package_name(folder), workspace: Above::find(folder)? },
        };
        Ok(Self { state, module })
    }

    /// The crate of the types.
    pub fn types_crate(&self) -> String {
        match &self.state {
            State::Empty { name, .. } | State::Crate { name, .. } => name.replace('-', "_"),
            State::Workspace { .. } => "apis".to_owned(),
        }
    }

    /// The path of the generated code.
    pub fn generated(&self) -> String {
        match &self.state {
            State::Workspace { .. } => "client".to_owned(),
            _ => format!("{}::generated", self.types_crate()),
        }
    }

    /// The files that must not be there.
    pub fn new_files(
        &self,
        sample: &Sample,
        origin: &Origin,
        folder: &Path,
    ) -> Result<Vec<(String, String)>, Failure> {
        let module = &self.module;
        let config =
            |output: &str, source: &str| format!("[[client]]\noutput = {output:?}\nsources = [{source:?}]\n");
        let object = (format!("example-{}.yaml", sample.snake.replace('_', "-")), sample.object());
        let mut files = vec![object];
        match &self.state {
            State::Empty { name, .. } => {
                files.push(("Cargo.toml".into(), manifest::new(name, true, origin, folder)));
                files.push(("genclient.toml".into(), config("src/generated", ".")));
                files.push((
                    "src/lib.rs".into(),
                    self.declarations("//! Types and client of a controller.\n\n"),
                ));
                files.push((format!("src/{module}.rs"), sample.types()));
                files.push(("src/main.rs".into(), sample.controller()));
                files.push((format!("tests/{}.rs", sample.test_name()), sample.test()));
                if !folder.join(".gitignore").exists() {
                    files.push((".gitignore".into(), "/target\n".into()));
                }
            }
            State::Crate { lib, .. } => {
                files.push(("genclient.toml".into(), config("src/generated", ".")));
                files.push((format!("src/{module}.rs"), sample.types()));
                files.push((format!("tests/{}.rs", sample.test_name()), sample.test()));
                if lib.text.is_none() {
                    files.push((lib.path.clone(), self.declarations("")));
                }
            }
            State::Workspace { .. } => {
                let apis = folder.join("apis");
                files.push(("genclient.toml".into(), config("client", "apis")));
                files.push(("apis/Cargo.toml".into(), manifest::new("apis", false, origin, &apis)));
                files.push((
                    "apis/src/lib.rs".into(),
                    format!("//! The annotated API types.\n\npub mod {module};\n"),
                ));
                files.push((format!("apis/src/{module}.rs"), sample.types()));
                files.push((format!("client/tests/{}.rs", sample.test_name()), sample.test()));
            }
        }
        Ok(files)
    }

    /// New texts of files that are there.
    pub fn edits(&self, origin: &Origin, folder: &Path) -> Result<Vec<(String, String)>, Failure> {
        Ok(match &self.state {
            State::Empty { .. } => Vec::new(),
            State::Crate { manifest: text, lib, .. } => {
                let mut edits =
                    vec![("Cargo.toml".into(), manifest::with_dependencies(text, origin, folder)?)];
                let declared = |text: &String| (lib.path.clone(), self.declarations(&format!("{text}\n")));
                edits.extend(lib.text.as_ref().map(declared));
                edits
            }
            State::Workspace { manifest: text } => {
                vec![("Cargo.toml".into(), manifest::with_members(text, &["apis", "client"])?)]
            }
        })
    }

    /// The folder of the workspace that a new crate becomes a member of, and the new text of its `Cargo.toml`.
    pub fn workspace(&self, folder: &Path) -> Result<Option<(&Path, String)>, Failure> {
        let State::Empty { workspace: Some(workspace), .. } = &self.state else { return Ok(None) };
        let member = place::relative(&workspace.folder, folder);
        let text = manifest::with_members(&workspace.manifest, &[&member])?;
        Ok(Some((&workspace.folder, text)))
    }

    /// The modules, after a text.
    fn declarations(&self, before: &str) -> String {
        format!("{before}pub mod generated;\npub mod {};\n", self.module)
    }

    /// What a person does now.
    pub fn next_steps(&self, sample: &Sample, folder: &Path) -> String {
        let (types, crds, run) = match &self.state {
            State::Empty { .. } => ("src", "crds", "cargo run"),
            State::Crate { .. } => ("src", "crds", "write a controller with the module `generated`"),
            State::Workspace { .. } => {
                ("apis/src", "client/crds", "write a controller with `client` and `apis`")
            }
        };
        let object = sample.snake.replace('_', "-");
        let enter = match folder.to_string_lossy().as_ref() {
            "." => String::new(),
            folder => format!("cd {folder} && "),
        };
        format!(
            "  1. {enter}cargo test\n  \
               2. kubectl apply -f {crds}/\n  \
               3. {run}, and kubectl apply -f example-{object}.yaml\n\
             Then make the kind yours in {types}/{}.rs and run `genclient generate`; `genclient explain` shows\n\
             every attribute.\n",
            self.module,
        )
    }
}

/// A package's name after its folder.
fn package_name(folder: &Path) -> String {
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| PathBuf::from(folder));
    let name = absolute.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect();
    let name = name.trim_matches('-');
    let usable = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && !names::is_keyword(name)
        && !["test", "core", "std", "alloc", "genclient-runtime"].contains(&name);
    if usable { name.to_owned() } else { "my-controller".to_owned() }
}
