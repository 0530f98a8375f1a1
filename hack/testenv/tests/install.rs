//! `install.sh` leaves a complete installation or none, shown with a Go that only pretends to build.

use std::{
    fs,
    io::Read,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Notes every call, and writes the file that it was asked to build; while the file `hold` exists it never ends.
const GO: &str = r#"#!/bin/sh
echo called >>"$PLACE/calls"
while [ $# -gt 0 ]; do
  if [ "$1" = -o ]; then output=$2; fi
  shift
done
while [ -e "$PLACE/hold" ]; do sleep 0.1; done
echo '#!/bin/sh' >"$output"
chmod +x "$output"
"#;

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir(place.join("bin")).unwrap();
        fs::write(place.join("bin/go"), GO).unwrap();
        fs::set_permissions(place.join("bin/go"), fs::Permissions::from_mode(0o755)).unwrap();
        place
    }

    fn join(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        self.command_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("install.sh"), args)
    }

    fn command_of(&self, script: &Path, args: &[&str]) -> Command {
        let path = format!("{}:{}", self.join("bin").display(), std::env::var("PATH").unwrap());
        // Whoever starts the tests in the background has them ignore SIGINT, and a script inherits that.
        let mut command = Command::new("env");
        command
            .arg("--default-signal")
            .arg(script)
            .args(args)
            .env("PATH", path)
            .env("PLACE", self.0.path())
            .env("GENCLIENT_CACHE", self.join("cache"))
            .env_remove("KUBEBUILDER_ASSETS")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Starts an installation and returns while the first program is being built.
    fn start_and_hold(&self) -> Child {
        fs::write(self.join("hold"), "").unwrap();
        let child = self.command(&["kubernetes"]).spawn().unwrap();
        wait_until("the build has begun", || self.calls() > 0);
        child
    }

    fn calls(&self) -> usize {
        fs::read_to_string(self.join("calls")).map_or(0, |calls| calls.lines().count())
    }

    /// What is in the cache, without the locks.
    fn installed(&self) -> Vec<String> {
        let entries = fs::read_dir(self.join("cache")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| !name.starts_with('.')).collect()
    }
}

fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it did not happen within a minute that {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Sends a signal to the script and everything it has started, as a terminal does.
fn signal(child: &Child, name: &str) {
    let group = format!("-{}", child.id());
    assert!(Command::new("kill").args(["-s", name, "--", &group]).status().unwrap().success());
}

fn folder_in(output: &Output) -> PathBuf {
    let stdout = String::from_utf8_lossy(&output.stdout);
    PathBuf::from(stdout.trim().strip_prefix("kubernetes ").unwrap_or_else(|| panic!("{output:?}")))
}

#[test]
fn an_installation_is_complete_and_is_reused() {
    let place = Place::new();
    assert_eq!(place.run(&["--print", "kubernetes"]).status.code(), Some(3));
    let folder = folder_in(&place.run(&["kubernetes"]));
    for program in ["etcd", "kube-apiserver", "kube-controller-manager", "kubectl"] {
        assert!(folder.join(program).is_file(), "{program}");
    }
    assert_eq!(place.calls(), 4);
    assert_eq!(folder_in(&place.run(&["kubernetes"])), folder);
    assert_eq!(folder_in(&place.run(&["--print", "kubernetes"])), folder);
    assert_eq!(place.calls(), 4, "nothing was built again");
}

#[test]
fn a_partial_installation_does_not_count_and_is_made_anew() {
    let place = Place::new();
    let folder = folder_in(&place.run(&["kubernetes"]));
    for lost in ["kube-apiserver", "complete"] {
        fs::remove_file(folder.join(lost)).unwrap();
        assert_eq!(place.run(&["--print", "kubernetes"]).status.code(), Some(3), "without {lost}");
        let output = place.run(&["kubernetes"]);
        assert_eq!(folder_in(&output), folder);
        assert!(String::from_utf8_lossy(&output.stderr).contains(&format!("lacks {lost}")), "{output:?}");
        assert!(folder.join(lost).is_file());
    }
    assert_eq!(place.calls(), 12);
}

#[test]
fn another_way_to_build_is_another_installation() {
    let place = Place::new();
    let copy = place.join("copy");
    let source = Path::new(env!("CARGO_MANIFEST_DIR"));
    assert!(Command::new("cp").arg("-r").arg(source).arg(&copy).status().unwrap().success());
    let script = copy.join("install.sh");
    let folder = |text: &str| {
        fs::write(&script, text).unwrap();
        folder_in(&place.command_of(&script, &["kubernetes"]).output().unwrap())
    };
    let text = fs::read_to_string(&script).unwrap();
    let before = folder(&text);
    assert_eq!(folder(&text.replace("# A short name", "# Another comment")), before);
    assert_ne!(folder(&text.replace("-trimpath ", "")), before);
}

#[test]
fn every_package_has_a_version_and_a_hash() {
    for service in ["neutron", "keystone"] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("openstack/{service}.txt"));
        let text = fs::read_to_string(file).unwrap();
        for package in text.replace(" \\\n ", "").lines().filter(|line| !line.starts_with('#')) {
            assert!(package.contains("==") && package.contains(" --hash=sha256:"), "{service}: {package}");
        }
    }
}

#[test]
fn an_interrupted_installation_leaves_nothing() {
    for name in ["INT", "TERM"] {
        let place = Place::new();
        let mut child = place.start_and_hold();
        signal(&child, name);
        assert!(!child.wait().unwrap().success());
        assert_eq!(place.installed(), Vec::<String>::new(), "after SIG{name}");
    }
}

#[test]
fn a_killed_installation_does_not_hinder_the_next() {
    let place = Place::new();
    let mut child = place.start_and_hold();
    signal(&child, "KILL");
    child.wait().unwrap();
    assert_eq!(place.run(&["--print", "kubernetes"]).status.code(), Some(3));

    fs::remove_file(place.join("hold")).unwrap();
    let folder = folder_in(&place.run(&["kubernetes"]));
    assert!(folder.join("kubectl").is_file());
    assert_eq!(place.installed().len(), 1, "{:?}", place.installed());
}

#[test]
fn of_two_installations_at_once_one_builds_and_the_other_waits() {
    let place = Place::new();
    let first = place.start_and_hold();
    let mut second = place.command(&["kubernetes"]).spawn().unwrap();
    let mut waiting = [0; 44];
    second.stderr.as_mut().unwrap().read_exact(&mut waiting).unwrap();
    assert_eq!(String::from_utf8_lossy(&waiting), "testenv: waiting for another installation of");

    fs::remove_file(place.join("hold")).unwrap();
    let (first, second) = (first.wait_with_output().unwrap(), second.wait_with_output().unwrap());
    assert_eq!(folder_in(&first), folder_in(&second));
    assert_eq!(place.calls(), 4, "one of them built");
}

#[test]
fn programs_that_are_there_already_are_used_if_none_is_missing() {
    let place = Place::new();
    let assets = folder_in(&place.run(&["kubernetes"]));
    let with_assets = || place.command(&["kubernetes"]).env("KUBEBUILDER_ASSETS", &assets).output().unwrap();
    assert_eq!(folder_in(&with_assets()), assets);

    fs::remove_file(assets.join("kube-controller-manager")).unwrap();
    let output = with_assets();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("has no kube-controller-manager"), "{output:?}");
}

#[test]
fn an_unknown_word_is_refused_with_the_usage() {
    let output = Place::new().run(&["kubernetess"]);
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("Usage:") && message.contains("unknown argument: kubernetess"), "{message}");
}
