//! The program `genclient-fake serve --data`.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client, Config, api::PostParams};

fn program(data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_genclient-fake"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data).stdin(Stdio::null());
    command
}

/// Starts the program, and returns it, a client of it, and all that it prints at its start.
fn start(data: &Path) -> (Child, Client, String) {
    let mut child = program(data).stdout(Stdio::piped()).spawn().unwrap();
    let mut printed = String::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        printed += &line.unwrap();
        if printed.contains("Ctrl-C") {
            break;
        }
    }
    let url = printed.split_whitespace().find(|word| word.starts_with("http://")).unwrap();
    let config = Config::new(url.trim_end_matches('.').parse().unwrap());
    (child, Client::try_from(config).unwrap(), printed)
}

#[tokio::test]
async fn the_program_keeps_its_state_when_it_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let (mut child, client, printed) = start(&data);
    assert!(printed.contains(&format!("its state is kept in {}", data.display())), "{printed}");
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let mut map = ConfigMap::default();
    map.metadata.name = Some("example".to_owned());
    let created = maps.create(&PostParams::default(), &map).await.unwrap();

    let second = program(&data).output().unwrap();
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(second.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("is in use by process {}", child.id())), "{said}");

    child.kill().unwrap();
    child.wait().unwrap();
    let (mut child, client, _) = start(&data);
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    assert_eq!(maps.get("example").await.unwrap(), created);
    child.kill().unwrap();
    child.wait().unwrap();
}
