//! A disk that is full.

use std::{path::PathBuf, process::Command, time::Duration};

use genclient_fake::Server;
use serde_json::json;

use crate::{
    say, spawn,
    support::{CONFIG_MAPS, Requests},
};

#[test]
#[ignore = "a process of another test"]
fn child() {
    let data = PathBuf::from(std::env::var_os("DATA").expect("another test starts this one"));
    let server = Server::builder().data(data).try_build().unwrap();
    let large = "x".repeat(10_000);
    let (mut refused, mut shown) = (0, None);
    for number in 0.. {
        let map = json!({ "metadata": { "name": format!("map-{number}") }, "data": { "key": large } });
        let (code, answer) = server.post(CONFIG_MAPS, map);
        if code == 201 {
            continue;
        }
        assert_eq!(code, 500, "{answer}");
        refused += 1;
        let (_, list) = server.get(CONFIG_MAPS);
        let count = list["items"].as_array().unwrap().len();
        assert_eq!(*shown.get_or_insert(count), count, "what is refused is not there");
        if refused == 5 {
            let message = answer["message"].as_str().unwrap();
            say(&format!("{count} {message}"));
            return;
        }
    }
}

#[test]
#[cfg(unix)]
fn a_full_disk_refuses_writes_and_keeps_what_was_answered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    // The largest file that the child may write has 200 kB; the signal that would end it is ignored.
    let mut command = Command::new("bash");
    let program = std::env::current_exe().unwrap();
    command.args(["-c", "trap '' XFSZ; ulimit -f 200; exec \"$@\"", "bash"]).arg(program);
    let (mut child, lines) = spawn(command, "full::child", &path);
    let line = lines.recv_timeout(Duration::from_secs(60)).expect("the child reaches the end of the disk");
    assert!(child.wait().unwrap().success());
    let (count, message) = line.split_once(' ').unwrap();
    assert!(
        message.contains("cannot write to the data file") && message.contains("File too large"),
        "{message}"
    );
    let server = Server::builder().data(&path).try_build().unwrap();
    let (_, list) = server.get(CONFIG_MAPS);
    assert_eq!(list["items"].as_array().unwrap().len().to_string(), count);
    server.create(CONFIG_MAPS, json!({ "metadata": { "name": "later" } }));
}
