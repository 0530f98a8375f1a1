//! What a test does where the servers can neither be found nor be built.
//!
//! Another test of this program is run again in such a place: with an empty cache, and without Go on the path.

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Output},
};

const SHARING_TEST: &str = "kubernetes::a_deleted_namespace_takes_its_objects_along";
const FAULT_TEST: &str = "faults::a_paused_api_server_answers_nothing_until_it_goes_on";

/// Everything that is on the path, except Go.
fn path_without_go(folder: &Path) {
    let path = std::env::var_os("PATH").unwrap();
    for program in std::env::split_paths(&path).filter_map(|folder| fs::read_dir(folder).ok()).flatten() {
        let program = program.unwrap();
        if program.file_name() != "go" {
            // The first of two programs with one name is the one that counts.
            let _ = symlink(program.path(), folder.join(program.file_name()));
        }
    }
}

fn run_without_go(folder: &Path, test: &str, variables: &[(&str, &str)]) -> Output {
    let (path, cache) = (folder.join("path"), folder.join("cache"));
    fs::create_dir(&path).unwrap();
    path_without_go(&path);
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env("PATH", &path)
        .env("GENCLIENT_CACHE", &cache)
        .env("GENCLIENT_SKIPPED", folder.join("skipped"))
        .env_remove("CI")
        .env_remove("KUBEBUILDER_ASSETS")
        .env_remove("GENCLIENT_TEST_KUBECONFIG")
        .env_remove("GENCLIENT_SHARED_KUBECONFIG")
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

#[test]
fn a_test_without_servers_is_skipped_with_a_message_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let output = run_without_go(folder.path(), SHARING_TEST, &[]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
    let skipped = fs::read_to_string(folder.path().join("skipped")).unwrap();
    assert!(
        skipped.starts_with(&format!("SKIPPED {SHARING_TEST}: Kubernetes is not installed")),
        "{skipped}"
    );
    assert!(skipped.contains("needs Go") && skipped.lines().count() == 1, "{skipped}");
    assert!(message.contains(skipped.trim()), "{message}");
}

#[test]
fn a_test_without_servers_fails_where_nothing_may_be_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let output = run_without_go(folder.path(), SHARING_TEST, &[("CI", "true")]);
    assert_eq!(output.status.code(), Some(101));
    assert!(String::from_utf8_lossy(&output.stdout).contains("Kubernetes is not installed"));
    assert!(!folder.path().join("skipped").exists());
}

#[test]
fn with_a_cluster_of_somebody_else_only_the_tests_that_inject_faults_are_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = [("GENCLIENT_TEST_KUBECONFIG", "/nonexistent/kubeconfig")];
    let output = run_without_go(folder.path(), FAULT_TEST, &cluster);
    assert!(output.status.success());
    assert!(folder.path().join("skipped").exists());

    let folder = tempfile::tempdir().unwrap();
    let output = run_without_go(folder.path(), SHARING_TEST, &cluster);
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("/nonexistent/kubeconfig"),
        "the cluster was tried"
    );
    assert!(!folder.path().join("skipped").exists());
}
