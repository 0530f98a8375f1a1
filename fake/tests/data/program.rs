//! The program `genclient-fake serve --data`.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, Config,
    api::PostParams,
    config::{KubeConfigOptions, Kubeconfig},
};

fn program(data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_genclient-fake"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data).stdin(Stdio::null());
    command
}

/// A program that is killed with the test.
struct Running(Child);

impl Running {
    fn kill(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts the program, and returns it, a client of it, and all that it prints at its start.
async fn start(data: &Path) -> (Running, Client, String) {
    let mut child = Running(program(data).stdout(Stdio::piped()).spawn().unwrap());
    let mut printed = String::new();
    for line in BufReader::new(child.0.stdout.take().unwrap()).lines() {
        printed += &format!("{}\n", line.unwrap());
        if printed.contains("Ctrl-C") {
            break;
        }
    }
    let path = printed.lines().find_map(|line| line.trim().strip_prefix("export KUBECONFIG=")).unwrap();
    let kubeconfig = Kubeconfig::read_from(path).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    (child, Client::try_from(config).unwrap(), printed)
}

#[tokio::test]
async fn the_program_keeps_its_state_when_it_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let (mut child, client, printed) = start(&data).await;
    assert!(printed.contains(&format!("its state is kept in {}", data.display())), "{printed}");
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let mut map = ConfigMap::default();
    map.metadata.name = Some("example".to_owned());
    let created = maps.create(&PostParams::default(), &map).await.unwrap();

    let second = program(&data).output().unwrap();
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(second.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("is in use by process {}", child.0.id())), "{said}");

    child.kill();
    let (_child, client, _) = start(&data).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    assert_eq!(maps.get("example").await.unwrap(), created);
}
