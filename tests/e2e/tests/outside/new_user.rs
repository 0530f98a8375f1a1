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

/// How long it may take from the installed command to a controller that has listed the object, on a busy
/// machine with two cores and an empty target folder. Alone it takes a few minutes.
const LIMIT: Duration = Duration::from_secs(20 * 60);

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
    let crds = ["crd/orders.shop.example.com", "crd/tools.shop.example.com"];
    for crd in crds {
        env.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", crd]).await.unwrap();
    }
    env.kubectl(&["apply", "-f", folder.join("example-order.yaml").to_str().unwrap()]).await.unwrap();
    tokio::task::block_in_place(|| says(&folder, env.kubeconfig(), "default/first wants the size 3"));
    step("the controller has listed the object");
    assert!(start.elapsed() < LIMIT, "a new user waited for {:?}", start.elapsed());
    for crd in crds {
        env.kubectl(&["delete", crd]).await.unwrap();
    }
}

/// The lines of the README that begin a repository, without their comments.
fn first_lines() -> Vec<String> {
    let readme = fs::read_to_string(checkout().join("README.md")).unwrap();
    let (_, section) = readme.split_once("## In your own repository\n```sh\n").unwrap();
    let (block, _) = section.split_once("```").unwrap();
    block.lines().map(|line| line.split(" #").next().unwrap().trim().to_owned()).collect()
}

/// Everything up to a controller that is built.
fn build(step: &dyn Fn(&str)) -> PathBuf {
    let _alone = alone();
    let command_line = genclient();
    step("cargo install");
    // A checkout that is called as in the README, in a folder where nothing else is.
    let root = folder("new-user");
    std::os::unix::fs::symlink(checkout(), root.join("genclient")).unwrap();
    let mut script = format!("set -e\ncd {:?}\n", root.join("genclient"));
    for line in first_lines() {
        script += &match line.as_str() {
            // The same without optimisation, which is installed already.
            line if line.starts_with("cargo install") => {
                format!("{line} --debug --locked --force --root {:?}\n", root.join("installed"))
            }
            // The versions keep the test off the network.
            line if line.contains("mkdir shop") => format!("{line}\ncp ../genclient/Cargo.lock .\n"),
            line => format!("{line}\n"),
        };
    }
    let path = format!("{}:{}", root.join("installed/bin").display(), std::env::var("PATH").unwrap());
    let said = run(command("bash", &root).args(["-c", &script]).env("PATH", path));
    assert!(said.contains("3. cargo run"), "{said}");
    step("genclient init");
    let folder = root.join("shop");

    // A kind of one's own beside the first one, and the controller of that.
    let types = fs::read_to_string(folder.join("src/v1.rs")).unwrap();
    let second = "\n/// A tool.\n#[derive(Clone, Debug, GenClient)]\npub struct Tool {\n    /// The metadata.\n    \
                  pub metadata: ObjectMeta,\n    /// What is wanted.\n    pub spec: OrderSpec,\n}\n";
    fs::write(folder.join("src/v1.rs"), types + second).unwrap();
    for file in ["src/main.rs", "example-order.yaml"] {
        let text = fs::read_to_string(folder.join(file)).unwrap();
        let text = text.replace("Order", "Tool").replace("orders", "tools").replace("order::", "tool::");
        fs::write(folder.join(file), text).unwrap();
    }
    run(command(command_line, &folder).arg("generate"));
    assert!(folder.join("src/generated/listers/shop/v1/tool.rs").exists());
    step("genclient generate, with a second kind");
    cargo(&folder, &["test", "--quiet"]);
    cargo(&folder, &["build", "--quiet"]);
    step("cargo test");
    folder
}

/// Runs the controller that `init` wrote until it prints a line.
fn says(folder: &Path, kubeconfig: &Path, expected: &str) {
    let mut running = Running(
        Command::new(target().join("debug/shop"))
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
