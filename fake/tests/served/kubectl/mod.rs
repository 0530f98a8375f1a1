//! kubectl on the served fake and on the real API server: the same commands print the same.
//!
//! `commands.txt` has one command in each line. Lines are compared without what differs by nature: ages, uids, times,
//! versions, addresses and temporary files. The real control plane runs without the controllers of workloads, which
//! the fake does not have. Of a line that begins with `~`, only the exit code is compared, for the reason above it.

mod normal;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use genclient_fake::Server;
use genclient_testenv::{TestEnv, require_servers};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::Command,
    time::timeout,
};

use crate::support::{LONG, anywhere};
use normal::normal;

const COMMANDS: &str = include_str!("commands.txt");
const MANIFESTS: &str = include_str!("manifests.yaml");
const NETWORKS: &str = include_str!("../../../../generated/samplecrd/crds/networks.samplecrd.k8s.io.yaml");

/// What runs in the real cluster: nothing that the fake does not do, except for service accounts, without which the
/// real one creates no pods.
const CONTROLLERS: &str =
    "--controllers=namespace-controller,garbage-collector-controller,serviceaccount-controller";

/// A cluster as kubectl sees it.
struct Cluster {
    name: &'static str,
    kubectl: PathBuf,
    kubeconfig: PathBuf,
    cache: PathBuf,
    manifests: PathBuf,
}

impl Cluster {
    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(&self.kubectl);
        command
            .args(words(line))
            .current_dir(&self.manifests)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("KUBECACHEDIR", &self.cache)
            .env("KUBE_EDITOR", self.manifests.join("editor.sh"))
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }

    /// Runs a command and returns what it printed, and how it ended.
    async fn run(&self, line: &str) -> String {
        let output = timeout(Duration::from_secs(60), self.command(line).output());
        let output = output.await.unwrap_or_else(|_| panic!("{}: {line} does not end", self.name)).unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let code = output.status.code().unwrap_or(-1);
        format!("{}{}exit code {code}", text(&output.stdout), text(&output.stderr))
    }

    /// Runs `get --watch`, and returns its first lines, while other commands run.
    async fn watch(&self, line: &str, changes: &[&str], count: usize) -> Vec<String> {
        let mut child = self.command(line).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut seen = Vec::new();
        // The watch begins with what is there.
        for number in 0..count {
            let next = timeout(LONG, lines.next_line()).await;
            let next = next.unwrap_or_else(|_| panic!("{}: {line}: {seen:?}", self.name));
            seen.push(next.unwrap().expect("the watch goes on"));
            if number == 1 {
                for change in changes {
                    self.run(change).await;
                }
            }
        }
        child.kill().await.unwrap();
        seen
    }
}

/// Splits a line into words; a word in single quotes can have spaces.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut rest) = (Vec::new(), line.trim());
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix('\'') {
            Some(quoted) => quoted.split_once('\'').expect("the quotes are closed"),
            None => rest.split_once(' ').unwrap_or((rest, "")),
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    words
}

/// Writes the manifests, each into a file with the name in its first line, and the editor.
fn write_manifests(folder: &Path) {
    for manifest in MANIFESTS.split("### ").skip(1) {
        let (name, text) = manifest.split_once('\n').unwrap();
        fs::write(folder.join(name), text).unwrap();
    }
    fs::write(folder.join("networks.yaml"), NETWORKS).unwrap();
    let editor = folder.join("editor.sh");
    fs::write(&editor, "#!/bin/sh\nsed -i 's/colour: .*/colour: green/' \"$1\"\n").unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&editor, executable).unwrap();
}

fn cluster(name: &'static str, kubectl: &Path, kubeconfig: PathBuf, folder: &Path) -> Cluster {
    let (cache, manifests) = (folder.join(format!("{name}-cache")), folder.join(name));
    fs::create_dir(&manifests).unwrap();
    write_manifests(&manifests);
    Cluster { name, kubectl: kubectl.to_owned(), kubeconfig, cache, manifests }
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_prints_the_same_on_the_fake_and_on_the_real_server() {
    require_servers!(ControlPlane);
    let env = TestEnv::builder().own_servers().controller_manager_arg(CONTROLLERS).start().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let serving = Server::new().serve(anywhere()).await.unwrap();
    let kubeconfig = folder.path().join("fake.kubeconfig");
    fs::write(&kubeconfig, serving.kubeconfig()).unwrap();
    let fake = cluster("fake", env.kubectl_path(), kubeconfig, folder.path());
    let real = cluster("real", env.kubectl_path(), env.kubeconfig().to_owned(), folder.path());

    let (mut count, mut differences) = (0, String::new());
    let lines = COMMANDS.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    for line in lines {
        let (loosely, line) = line.strip_prefix('~').map_or((false, line), |line| (true, line.trim()));
        let [ours, theirs] = [&fake, &real].map(|cluster| async {
            let printed = normal(&cluster.run(line).await);
            let code = printed.lines().last().unwrap_or_default().to_owned();
            if loosely { code } else { printed }
        });
        let (ours, theirs) = (ours.await, theirs.await);
        count += 1;
        if std::env::var_os("SHOW").is_some() {
            println!("$ kubectl {line}\n{ours}\n");
        }
        if ours != theirs {
            differences += &format!("$ kubectl {line}\n--- fake\n{ours}\n--- real\n{theirs}\n\n");
        }
    }
    println!("{count} commands");
    assert!(differences.is_empty(), "{differences}");

    // Where no real server would answer otherwise, the fake says why it cannot.
    for line in ["create namespace silent", "apply -n silent -f pod.yaml"] {
        assert!(fake.run(line).await.ends_with("exit code 0"));
    }
    let logs = fake.run("logs web-0 -n silent").await;
    assert!(logs.contains("nothing runs in this cluster, so there is no log"), "{logs}");
    assert!(logs.ends_with("exit code 1"), "{logs}");

    let watch = "get configmaps --watch -l app=watched -n watched";
    for setup in ["create namespace watched", "apply -f watched.yaml"] {
        assert!(fake.run(setup).await.ends_with("exit code 0"));
        assert!(real.run(setup).await.ends_with("exit code 0"));
    }
    let changes = [
        "patch configmap watched -n watched --type=merge -p '{\"data\":{\"b\":\"2\"}}'",
        "label configmap watched -n watched app-",
    ];
    let [ours, theirs] = [fake.watch(watch, &changes, 4).await, real.watch(watch, &changes, 4).await];
    assert_eq!(normal(&ours.join("\n")), normal(&theirs.join("\n")));
    serving.shutdown().await;
}
