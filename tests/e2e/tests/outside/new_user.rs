//! A new user's way: install, `init`, a kind of one's own, a controller that lists it on a real API server.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use genclient_testenv::{TestEnv, require_servers};

use super::{alone, cargo, checkout, command, folder, genclient, run, target};

/// A program that is ended with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn from_an_empty_folder_to_a_controller_on_a_real_server() {
    require_servers!(ControlPlane);
    let env = TestEnv::shared().await.unwrap();
    let start = Instant::now();
    let step = |what: &str| println!("{:>4} s  {what}", start.elapsed().as_secs());
    let folder = tokio::task::block_in_place(|| build(&step));

    env.kubectl(&["apply", "-f", folder.join("crds").to_str().unwrap()]).await.unwrap();
    let crds = ["crd/gadgets.newcomer.example.com", "crd/tools.newcomer.example.com"];
    for crd in crds {
        env.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", crd]).await.unwrap();
    }
    env.kubectl(&["apply", "-f", folder.join("example-gadget.yaml").to_str().unwrap()]).await.unwrap();
    let kubeconfig = folder.join("kubeconfig");
    let raw = env.kubectl(&["config", "view", "--raw", "--minify", "-o", "json"]).await.unwrap();
    fs::write(&kubeconfig, raw).unwrap();
    tokio::task::block_in_place(|| says(&folder, &kubeconfig, "default/first wants the size 3"));
    step("the controller has listed the object");
    for crd in crds {
        env.kubectl(&["delete", crd]).await.unwrap();
    }
}

/// Everything up to a controller that is built.
fn build(step: &dyn Fn(&str)) -> PathBuf {
    let _alone = alone();
    let command_line = genclient();
    step("cargo install");
    let folder = folder("new-user");
    // An empty folder but for the versions, which keep the test off the network.
    fs::copy(checkout().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let said = run(command(command_line, &folder)
        .args(["init", "--kind", "Gadget", "--group", "newcomer.example.com", "--path"])
        .arg(checkout()));
    assert!(said.contains("3. cargo run"), "{said}");
    step("genclient init");

    // A kind of one's own beside the first one.
    let types = fs::read_to_string(folder.join("src/v1.rs")).unwrap();
    let second = "\n/// A tool.\n#[derive(Clone, Debug, GenClient)]\npub struct Tool {\n    /// The metadata.\n    \
                  pub metadata: ObjectMeta,\n}\n";
    fs::write(folder.join("src/v1.rs"), types + second).unwrap();
    run(command(command_line, &folder).arg("generate"));
    assert!(folder.join("src/generated/listers/newcomer/v1/tool.rs").exists());
    step("genclient generate, with a second kind");
    cargo(&folder, &["test", "--quiet"]);
    cargo(&folder, &["build", "--quiet"]);
    step("cargo test");
    folder
}

/// Runs the controller that `init` wrote until it prints a line.
fn says(folder: &Path, kubeconfig: &Path, expected: &str) {
    let mut running = Running(
        Command::new(target().join("debug/new-user"))
            .current_dir(folder)
            .env("KUBECONFIG", kubeconfig)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let (sender, receiver) = mpsc::channel();
    let lines = BufReader::new(running.0.stdout.take().unwrap()).lines();
    std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
    let mut said = Vec::new();
    while said.last().map(String::as_str) != Some(expected) {
        match receiver.recv_timeout(Duration::from_secs(120)) {
            Ok(line) => said.push(line),
            Err(error) => panic!("{error} after {said:#?}"),
        }
    }
}
