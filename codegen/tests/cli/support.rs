//! A folder with sources and a configuration, and the command run in it.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::SystemTime,
};

use tempfile::TempDir;

/// What stands in front of most sources.
pub const HEAD: &str = "use genclient_runtime::{GenClient, GenClientList, ListMeta, ObjectMeta};\n";

/// A kind of this name that nothing is wrong with.
pub fn kind(name: &str) -> String {
    kind_with(name, "")
}

/// A kind of this name with an attribute.
pub fn kind_with(name: &str, attribute: &str) -> String {
    let attribute = if attribute.is_empty() { String::new() } else { format!("#[genclient({attribute})]\n") };
    format!(
        "\n#[derive(Clone, Debug, GenClient)]\n{attribute}pub struct {name} {{\n    pub metadata: ObjectMeta,\n}}\n"
    )
}

/// A module of this group and version with these items.
pub fn module(group_version: &str, items: &str) -> String {
    format!("{HEAD}\ngenclient_runtime::group_version!(\"{group_version}\");\n{items}")
}

/// A temporary folder in which the command runs.
pub struct Workspace {
    folder: TempDir,
}

/// How a run ended.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        Self {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// A file: its bytes, and when it was last written.
type File = (Vec<u8>, SystemTime);

impl Workspace {
    /// A crate `apis` with this root, and a configuration that makes `generated/client` of it.
    pub fn new(root: &str) -> Self {
        let workspace = Self { folder: tempfile::tempdir().unwrap() };
        workspace.write("apis/Cargo.toml", "[package]\nname = \"sample-apis\"\n");
        workspace.write("apis/src/lib.rs", root);
        workspace.write(
            "genclient.toml",
            "command = \"hack/update.sh\"\n\n[[client]]\noutput = \"generated/client\"\nsources = [\"apis\"]\ncrds = false\n",
        );
        workspace
    }

    /// A folder without anything in it.
    pub fn empty() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Runs the command in the folder.
    pub fn run(&self, arguments: &[&str]) -> Run {
        self.run_with(arguments, &[])
    }

    /// Runs the command in the folder, with variables of the environment.
    pub fn run_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Run {
        Run::of(self.command(arguments).envs(environment.iter().copied()))
    }

    /// Runs the command in a folder below.
    pub fn run_in(&self, folder: &str, arguments: &[&str]) -> Run {
        Run::of(self.command(arguments).current_dir(self.path(folder)))
    }

    /// The command, to be run in the folder.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_genclient"));
        command.args(arguments).current_dir(self.folder.path());
        command
    }

    /// Runs `genclient generate`, which must succeed.
    pub fn generate(&self) -> Run {
        let run = self.run(&["generate"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        run
    }

    /// Every file of the folder.
    pub fn tree(&self) -> BTreeMap<PathBuf, File> {
        let mut files = BTreeMap::new();
        collect(self.folder.path(), self.folder.path(), &mut files);
        files
    }
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<PathBuf, File>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => collect(root, &entry.path(), files),
            false => {
                let path = entry.path().strip_prefix(root).unwrap().to_path_buf();
                let modified = entry.metadata().unwrap().modified().unwrap();
                files.insert(path, (fs::read(entry.path()).unwrap(), modified));
            }
        }
    }
}

/// Compares a text with the one in `snapshots/`; `INSTA_UPDATE=always` writes it anew.
pub fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}
