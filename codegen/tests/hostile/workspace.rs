//! The folder in which everything happens: the command over each crate, then one build of all clients
//! and one run of a program that calls all their methods.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use crate::krate::Crate;

/// How many crates are the modules of one.
const BATCH: usize = 40;

/// What stands in the generated folder before the command runs.
const MARK: &str = "a file of a person's\n";

pub struct Workspace {
    folder: PathBuf,
}

/// What a client was seen to do: the requests, by the crate and the code of the call.
pub type Requests = BTreeMap<(String, String), String>;

impl Workspace {
    /// An empty folder, always the same, so that cargo finds what it compiled there the last time.
    pub fn new() -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile");
        let _ = fs::remove_dir_all(&folder);
        Self { folder }
    }

    fn write(&self, path: impl AsRef<Path>, text: &str) {
        let path = self.folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Runs the command over a crate: the generated files, or what it says.
    pub fn generate(&self, krate: &Crate) -> Result<BTreeMap<String, String>, String> {
        let name = &krate.name;
        let manifest = format!("[package]\nname = \"{name}\"\nedition = \"{}\"\n", krate.edition);
        self.write(format!("crates/{name}/apis/Cargo.toml"), &manifest);
        for (path, text) in &krate.files {
            self.write(format!("crates/{name}/apis/src/{path}"), &krate.text(text));
        }
        let config = "[[client]]\noutput = \"client\"\nsources = [\"apis\"]\n";
        self.write(format!("crates/{name}/genclient.toml"), config);
        self.write(format!("crates/{name}/client/README.md"), MARK);
        let folder = self.folder.join("crates").join(name);
        let Output { status, stderr, .. } = Command::new(env!("CARGO_BIN_EXE_genclient"))
            .arg("generate")
            .current_dir(&folder)
            .output()
            .unwrap();
        let stderr = String::from_utf8(stderr).unwrap();
        let generated = read(&folder.join("client"));
        match status.code() {
            Some(0) => Ok(generated.into_iter().filter(|(path, _)| path != "README.md").collect()),
            Some(2) => {
                let untouched = BTreeMap::from([("README.md".to_owned(), MARK.to_owned())]);
                assert_eq!(generated, untouched, "{name} is refused and something was written");
                Err(stderr)
            }
            other => panic!("{name}: exit code {other:?}\n{stderr}"),
        }
    }

    /// Builds the clients of these crates and calls all their methods.
    pub fn call_all(&self, clients: &[(&Crate, BTreeMap<String, String>)]) -> Requests {
        let (alone, together): (Vec<_>, Vec<_>) = clients.iter().partition(|(krate, _)| krate.alone);
        let mut members = Vec::new();
        for (number, batch) in together.chunks(BATCH).enumerate() {
            members.push(self.write_member(&format!("batch{number}"), "2024", batch, false));
        }
        for entry in alone {
            members.push(self.write_member(&entry.0.name, entry.0.edition, &[entry], true));
        }
        self.write_program(&members);
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--offline", "--quiet", "--keep-going", "--package", "hostile", "--target-dir"]);
        build.arg(target_folder()).current_dir(&self.folder);
        let build = genclient_tally::nested_build("hostile: cargo build", &mut build);
        assert!(build.status.success(), "{}", errors(&String::from_utf8_lossy(&build.stderr)));
        let binary = target_folder().join("debug").join(format!("hostile{}", env::consts::EXE_SUFFIX));
        let output = Command::new(binary).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut requests = Requests::new();
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            let [krate, code, request] = line.splitn(3, '\t').collect::<Vec<_>>().try_into().unwrap();
            requests.insert((krate.to_owned(), code.to_owned()), request.to_owned());
        }
        requests
    }

    /// Writes the types of some crates as one crate and their clients as another.
    fn write_member(
        &self,
        member: &str,
        edition: &str,
        entries: &[&(&Crate, BTreeMap<String, String>)],
        alone: bool,
    ) -> String {
        let apis = if alone { member.to_owned() } else { format!("{member}_apis") };
        let client = format!("{member}_client");
        let (mut apis_root, mut client_root) = (String::new(), String::new());
        let (mut all, mut calls) = (String::new(), String::new());
        for (krate, generated) in entries.iter().map(|entry| (&entry.0, &entry.1)) {
            let name = &krate.name;
            for (path, text) in &krate.files {
                match alone {
                    true => self.write(format!("{apis}/src/{path}"), &krate.text(text)),
                    false => self.write(format!("{apis}/src/{name}/{path}"), &krate.text_in_batch(text)),
                }
            }
            apis_root += &format!("#[path = \"{name}/lib.rs\"]\npub mod {name};\n");
            client_root += &format!("#[path = \"{name}/src/lib.rs\"]\npub mod client_of_{name};\n");
            for (path, text) in generated {
                let text = match alone {
                    true => text.clone(),
                    false => text.replace(name.as_str(), &format!("{apis}::{name}")),
                };
                let text = text.replace("crate::", &format!("crate::client_of_{name}::"));
                // The compiler leaves inlined methods to the one that calls them, which makes the build shorter.
                let text = text.replace("\n    pub fn ", "\n    #[inline]\n    pub fn ");
                self.write(format!("{client}/src/{name}/{path}"), &text);
            }
            for (number, kind) in krate.kinds.iter().enumerate() {
                let function = format!("{name}_{number}");
                all += &format!("    {function}(client, log).await;\n");
                calls += &format!(
                    "\nasync fn {function}(client: &kube::Client, log: &Log) {{\n    \
                     let clients = crate::client_of_{name}::clientset::Clientset::new(client.clone()).{}();\n",
                    kind.clients
                );
                for call in kind.calls() {
                    let call_site = format!("{}: {}", kind.clients, call.code);
                    calls +=
                        &format!("    let _ = {};\n    log.print({name:?}, {call_site:?});\n", call.code);
                }
                calls += "}\n";
            }
        }
        if !alone {
            self.write(format!("{apis}/src/lib.rs"), &format!("#![allow(warnings)]\n{apis_root}"));
        }
        self.write(format!("{apis}/Cargo.toml"), &manifest(&apis, edition, &[]));
        self.write(format!("{client}/src/calls.rs"), &format!("{}{calls}", CALLS.replace("{all}", &all)));
        self.write(
            format!("{client}/src/lib.rs"),
            &format!("#![deny(warnings)]\npub mod calls;\n{client_root}"),
        );
        let apis_dependency = format!("{apis} = {{ path = \"../{apis}\" }}");
        let dependencies =
            [apis_dependency.as_str(), "log = { path = \"../log\", package = \"hostile_log\" }"];
        self.write(format!("{client}/Cargo.toml"), &manifest(&client, "2024", &dependencies));
        client
    }

    /// Writes the program, what all clients share, and the workspace around them.
    fn write_program(&self, clients: &[String]) {
        let here = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
        fs::copy(here.join("Cargo.lock"), self.folder.join("Cargo.lock")).unwrap();
        self.write("log/Cargo.toml", &manifest("hostile_log", "2024", &[]));
        self.write("log/src/lib.rs", include_str!("log.rs"));
        let dependencies: Vec<_> =
            clients.iter().map(|client| format!("{client} = {{ path = \"../{client}\" }}")).collect();
        let mut dependencies: Vec<_> = dependencies.iter().map(String::as_str).collect();
        dependencies.push("log = { path = \"../log\", package = \"hostile_log\" }");
        self.write("hostile/Cargo.toml", &manifest("hostile", "2024", &dependencies));
        let calls: String = clients
            .iter()
            .map(|client| format!("        {client}::calls::all(&client, &log).await;\n"))
            .collect();
        self.write("hostile/src/main.rs", &PROGRAM.replace("{calls}", &calls));
        // The dependencies and the settings of this very workspace, so that nothing is compiled anew.
        let text = fs::read_to_string(here.join("Cargo.toml")).unwrap();
        let mut root: toml::Table = text.parse().unwrap();
        let members =
            ["hostile".to_owned(), "log".to_owned()].into_iter().chain(clients.iter().flat_map(|client| {
                let member = client.strip_suffix("_client").unwrap();
                let apis = format!("{member}_apis");
                let apis = if self.folder.join(&apis).exists() { apis } else { member.to_owned() };
                [client.clone(), apis]
            }));
        let members: Vec<_> = members.collect();
        // Nobody debugs these crates, and what debuggers need takes long to write.
        let settings = members.iter().map(|member| (member.clone(), toml::toml!(debug = false).into()));
        let packages: toml::Table = settings.filter(|(member, _)| member != "log").collect();
        root["profile"]["dev"].as_table_mut().unwrap().insert("package".into(), packages.into());
        let workspace = root["workspace"].as_table_mut().unwrap();
        workspace
            .insert("members".into(), members.into_iter().map(toml::Value::from).collect::<Vec<_>>().into());
        for (_, dependency) in workspace["dependencies"].as_table_mut().unwrap() {
            if let Some(path) = dependency.get_mut("path") {
                *path = here.join(path.as_str().unwrap()).to_str().unwrap().into();
            }
        }
        self.write("Cargo.toml", &root.to_string());
    }
}

/// A manifest with these dependencies and those that every crate here has.
fn manifest(name: &str, edition: &str, dependencies: &[&str]) -> String {
    format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"{edition}\"\n\n[lib]\nname = \"{name}\"\n\n[dependencies]\n\
         futures.workspace = true\ngenclient-runtime.workspace = true\nhttp.workspace = true\n\
         k8s-openapi = {{ workspace = true, features = [\"latest\"] }}\nkube.workspace = true\nschemars.workspace = true\n\
         serde.workspace = true\nserde_json.workspace = true\ntokio = {{ workspace = true, features = [\"rt\"] }}\n\
         tower.workspace = true\n{}\n",
        dependencies.join("\n")
    )
    .replace(if name == "hostile" { "[lib]\nname = \"hostile\"\n\n" } else { "\0" }, "")
}

/// The module of a client crate that calls every generated method.
const CALLS: &str = "#![allow(unused)]
use log::{Log, object};

pub async fn all(client: &kube::Client, log: &Log) {
{all}}
";

const PROGRAM: &str = "fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, log) = log::client();
{calls}    });
}
";

/// The files of a folder, by their paths in it.
fn read(folder: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(path) = open.pop() {
        match path.is_dir() {
            true => open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path())),
            false => {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().replace('\\', "/");
                files.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    files
}

/// The errors among what a compiler says.
fn errors(stderr: &str) -> String {
    let blocks = stderr.split("\n\n").filter(|block| block.contains("error"));
    blocks.take(30).collect::<Vec<_>>().join("\n\n")
}

/// The target folder of this very test.
fn target_folder() -> PathBuf {
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_genclient"));
    binary.ancestors().nth(2).unwrap().to_path_buf()
}
