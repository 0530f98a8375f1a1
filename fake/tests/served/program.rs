//! The program `genclient-fake`.

use std::{
    fs,
    path::Path,
    process::{Output, Stdio},
};

use genclient_fake::Server;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, ChildStdout, Command},
    time::timeout,
};

use crate::support::{LONG, anywhere};

fn program(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_genclient-fake"));
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

async fn output(args: &[&str]) -> Output {
    timeout(LONG, program(args).output()).await.expect("the program ends").unwrap()
}

/// Starts the program, and returns it, what it prints, and the command that it shows.
async fn start(args: &[&str]) -> (Child, tokio::io::Lines<BufReader<ChildStdout>>, String, String) {
    let mut child = program(args).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = async || timeout(LONG, lines.next_line()).await.expect("a line").unwrap().expect("a line");
    let (first, mut export) = (next().await, String::new());
    while !export.contains("export KUBECONFIG=") {
        export = next().await;
    }
    let kubeconfig = export.trim().strip_prefix("export KUBECONFIG=").unwrap().to_owned();
    (child, lines, first, kubeconfig)
}

/// Reads a path of the server of a kubeconfig.
async fn get(kubeconfig: &str, path: &str) -> String {
    let text = fs::read_to_string(kubeconfig).unwrap();
    let server =
        text.lines().find_map(|line| line.trim().strip_prefix("server: http://")).expect("no --insecure");
    let mut stream = tokio::net::TcpStream::connect(server).await.unwrap();
    let line = format!("GET {path} HTTP/1.0\r\n\r\n");
    tokio::io::AsyncWriteExt::write_all(&mut stream, line.as_bytes()).await.unwrap();
    crate::support::read_to_end(&mut stream).await
}

async fn signal(child: &Child, name: &str) {
    let id = child.id().unwrap().to_string();
    assert!(Command::new("kill").args([name, &id]).status().await.unwrap().success());
}

const NETWORKS: &str = include_str!("../../../generated/samplecrd/crds/networks.samplecrd.k8s.io.yaml");

#[tokio::test(flavor = "multi_thread")]
async fn manifests_are_served_and_a_signal_ends_the_program() {
    let folder = tempfile::tempdir().unwrap();
    // The objects come before their CRD and their namespace.
    let objects = "
apiVersion: samplecrd.k8s.io/v1
kind: Network
metadata: { name: example, namespace: shop }
spec: { cidr: 192.168.0.0/16, gateway: 192.168.0.1 }
---
# nothing
---
apiVersion: v1
kind: Namespace
metadata: { name: shop }
";
    fs::write(folder.path().join("a.yaml"), objects).unwrap();
    fs::write(folder.path().join("b.yml"), NETWORKS).unwrap();
    fs::write(folder.path().join("notes.txt"), "this is no manifest: {").unwrap();
    let kubeconfig = folder.path().join("out.kubeconfig");
    let (path, out) = (folder.path().to_str().unwrap(), kubeconfig.to_str().unwrap());
    let args = ["serve", "--listen", "127.0.0.1:0", "--insecure", "--load", path, "--kubeconfig-out", out];
    // The second time it overwrites what it has written the first time.
    for name in ["-INT", "-TERM"] {
        let (mut child, _lines, first, shown) = start(&args).await;
        assert!(first.contains("with 3 objects loaded"), "{first}");
        assert_eq!(Path::new(&shown), kubeconfig.canonicalize().unwrap());
        let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&kubeconfig).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600, "a token may be in it");
        let answer = get(&shown, "/apis/samplecrd.k8s.io/v1/namespaces/shop/networks/example").await;
        assert!(answer.contains("200 OK") && answer.contains("192.168.0.1"), "{answer}");
        signal(&child, name).await;
        assert_eq!(timeout(LONG, child.wait()).await.unwrap().unwrap().code(), Some(0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_file_the_kubeconfig_is_temporary() {
    let (mut child, _lines, first, kubeconfig) = start(&["serve", "--listen", "127.0.0.1:0"]).await;
    assert!(first.ends_with('.') && !first.contains("loaded"), "{first}");
    let text = fs::read_to_string(&kubeconfig).unwrap();
    assert!(text.contains("server: https://127.0.0.1:") && text.contains("token: "), "{text}");
    signal(&child, "-TERM").await;
    timeout(LONG, child.wait()).await.unwrap().unwrap();
    assert!(!Path::new(&kubeconfig).exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_wrong_is_said_and_told_by_the_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let serving = Server::new().serve(anywhere()).await.unwrap();
    let taken = serving.address().to_string();
    let broken = file("broken.yaml", "a: [");
    let refused = file(
        "refused.yaml",
        "{apiVersion: v1, kind: Namespace, metadata: {name: ok}}\n---\n\
         {apiVersion: v1, kind: ConfigMap, metadata: {name: Bad}}",
    );
    let unknown = file("unknown.yaml", "{apiVersion: a.example.com/v1, kind: Thing, metadata: {name: x}}");
    let foreign = file("config", "apiVersion: v1\nkind: Config\n");
    let any = "127.0.0.1:0";
    let cases: [(&[&str], i32, &str); 10] = [
        (&["serve", "--listen", &taken], 1, "another program listens there"),
        (&["serve", "--listen", "0.0.0.0:0"], 1, "is not an address of loopback"),
        (&["serve", "--listen", "nowhere"], 2, "invalid socket address"),
        (&["serve", "--load", "/does/not/exist.yaml"], 1, "/does/not/exist.yaml: cannot be read"),
        (&["serve", "--load", &broken], 1, "broken.yaml, document 1: "),
        (
            &["serve", "--load", &refused],
            1,
            "refused.yaml, document 2, ConfigMap \"default/Bad\": ConfigMap \"Bad\" is invalid",
        ),
        (
            &["serve", "--load", &unknown],
            1,
            "unknown.yaml, document 1, Thing \"x\": no kind \"Thing\" is served",
        ),
        (&["serve", "--listen", any, "--kubeconfig-out", &foreign], 1, "was not written by this program"),
        (
            &["serve", "--listen", any, "--kubeconfig-out", "/does/not/exist"],
            1,
            "cannot write the kubeconfig",
        ),
        (&[], 2, "Usage: genclient-fake"),
    ];
    for (args, code, wanted) in cases {
        let output = output(args).await;
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {stderr}");
        assert!(stderr.contains(wanted), "{args:?}: {stderr}");
    }
    assert_eq!(fs::read_to_string(&foreign).unwrap(), "apiVersion: v1\nkind: Config\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_help_teaches() {
    let output = output(&["serve", "--help"]).await;
    let help = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success());
    for wanted in [
        "--listen",
        "--kubeconfig-out",
        "--load",
        "--insecure",
        "export KUBECONFIG",
        "Exit codes",
        "loopback",
    ] {
        assert!(help.contains(wanted), "{wanted}: {help}");
    }
}
