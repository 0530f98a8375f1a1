//! Nothing is left behind, however the program that started the servers ends.
//!
//! The program is this test program itself, run again for the one test that is ignored otherwise.
#![cfg(target_os = "linux")]

use std::{
    fs,
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    process::Stdio,
};

use genclient_testenv::{Neutron, TestEnv, require_servers};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

use crate::eventually;

const HOW: &str = "GENCLIENT_TEST_CHILD_ENDS";

#[tokio::test]
#[ignore = "a program for the tests below, which start it"]
async fn child() {
    let how = std::env::var(HOW).expect("the tests below say how to end");
    let env = TestEnv::builder().own_servers().start().await.unwrap();
    let neutron = match how.as_str() {
        "killed" => Some(Neutron::start().await.unwrap()),
        _ => None,
    };
    let mut ports = env.ports();
    println!("\nfolder {}", env.folder().display());
    if let Some(neutron) = &neutron {
        println!("folder {}", neutron.folder().display());
        ports.extend(neutron.ports());
    }
    for port in ports {
        println!("port {port}");
    }
    println!("started");
    match how.as_str() {
        "normally" => {}
        "panicking" => panic!("as asked"),
        _ => std::future::pending().await,
    }
}

struct Started {
    program: Child,
    folders: Vec<PathBuf>,
    ports: Vec<u16>,
}

/// Runs the program above until its servers are ready.
async fn start(how: &str) -> Started {
    let mut program = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "leftovers::child", "--ignored", "--nocapture"])
        .env(HOW, how)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(program.stdout.take().unwrap()).lines();
    let (mut folders, mut ports) = (Vec::new(), Vec::new());
    loop {
        let line = lines.next_line().await.unwrap().expect("the program reaches the end of its start");
        match line.split_once(' ') {
            Some(("folder", folder)) => folders.push(PathBuf::from(folder)),
            Some(("port", port)) => ports.push(port.parse().unwrap()),
            _ if line == "started" => break,
            _ => {}
        }
    }
    // The program must not wait for somebody to read the rest.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    Started { program, folders, ports }
}

/// The servers and their supervisors all name their folder in their arguments.
fn processes_of(folder: &Path) -> Vec<String> {
    let folder = folder.to_str().unwrap();
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let arguments = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    arguments
        .map(|bytes| String::from_utf8_lossy(&bytes).replace('\0', " "))
        .filter(|arguments| arguments.contains(folder))
        .collect()
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

#[tokio::test]
async fn nothing_is_left_after_a_program_that_ends_normally() {
    require_servers!(ControlPlane);
    let Started { mut program, folders, ports } = start("normally").await;
    assert!(program.wait().await.unwrap().success());
    assert_eq!(processes_of(&folders[0]), Vec::<String>::new());
    assert!(ports.iter().all(|port| is_free(*port)), "{ports:?}");
    assert!(!folders[0].exists());
}

#[tokio::test]
async fn nothing_but_the_logs_is_left_after_a_program_that_panics() {
    require_servers!(ControlPlane);
    let Started { mut program, folders, ports } = start("panicking").await;
    assert!(!program.wait().await.unwrap().success());
    assert_eq!(processes_of(&folders[0]), Vec::<String>::new());
    assert!(ports.iter().all(|port| is_free(*port)), "{ports:?}");
    assert!(folders[0].join("kube-apiserver.log").exists());
    fs::remove_dir_all(&folders[0]).unwrap();
}

#[tokio::test]
async fn nothing_is_left_after_a_program_that_is_killed() {
    require_servers!(ControlPlane, Neutron);
    let Started { mut program, folders, ports } = start("killed").await;
    assert_eq!((folders.len(), ports.len()), (2, 4));
    for folder in &folders {
        assert!(!processes_of(folder).is_empty(), "what must be gone later is there now");
    }
    assert!(!ports.iter().any(|port| is_free(*port)));

    program.kill().await.unwrap();
    for folder in &folders {
        eventually("no process is left", async || processes_of(folder).is_empty()).await;
        eventually("the folder is gone", async || !folder.exists()).await;
    }
    assert!(ports.iter().all(|port| is_free(*port)), "{ports:?}");
}
