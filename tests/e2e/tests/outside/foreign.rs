//! The workspace in `tests/outside`, built from a copy.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{alone, cargo, checkout, command, copy, folder, genclient, is_long, run};

/// Replaces a text that must be there in a file.
fn replace(file: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains(from), "no `{from}` in {}", file.display());
    fs::write(file, text.replace(from, to)).unwrap();
}

/// A copy that depends on genclient like this.
fn repository(name: &str, dependency: &str) -> PathBuf {
    let folder = folder(name);
    copy(&checkout().join("tests/outside"), &folder);
    fs::copy(checkout().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    replace(&folder.join("Cargo.toml"), "{ path = \"../../runtime\" }", dependency);
    folder
}

/// Generates, builds and runs a copy that depends on genclient like this.
fn builds(name: &str, dependency: &str) {
    let folder = repository(name, dependency);
    // The client is a member of the workspace that does not exist yet: one step makes it.
    assert!(!folder.join("shop-client").exists());
    run(command(genclient(), &folder.join("apis/src")).arg("generate"));
    let crd = fs::read_to_string(folder.join("shop-client/crds/orders.shop.example.com.yaml")).unwrap();
    assert!(crd.contains("specReplicasPath: .spec.pieces"), "{crd}");
    run(command(genclient(), &folder).args(["generate", "--check"]));
    let printed = cargo(&folder, &["run", "--quiet", "--package", "shop-controller"]);
    assert!(printed.contains("orders.shop.example.com letters.type.shop.example.com"), "{printed}");
}

#[test]
fn a_foreign_workspace_builds_with_a_path_dependency() {
    let _alone = alone();
    let runtime = checkout().join("runtime");
    builds("foreign-path", &format!("{{ path = {runtime:?} }}"));
}

#[test]
fn a_foreign_workspace_builds_with_a_git_dependency() {
    if !is_long("a_foreign_workspace_builds_with_a_git_dependency") {
        return;
    }
    let _alone = alone();
    // What is there, whether it is committed or not.
    let repository = folder("repository");
    copy(&checkout(), &repository);
    let git = |arguments: &[&str]| run(command("git", &repository).args(arguments));
    git(&["init", "--quiet"]);
    git(&["add", "--all"]);
    git(&[
        "-c",
        "user.name=test",
        "-c",
        "user.email=test@example.com",
        "commit",
        "--quiet",
        "--message",
        "All",
    ]);
    builds("foreign-git", &format!("{{ git = \"file://{}\" }}", repository.display()));
}

#[test]
fn a_configuration_in_a_folder_of_its_own_names_a_types_crate_called_crd_beside_it() {
    let _alone = alone();
    let runtime = checkout().join("runtime");
    let folder = repository("foreign-beside", &format!("{{ path = {runtime:?} }}"));
    for file in ["apis/Cargo.toml", "Cargo.toml"] {
        replace(&folder.join(file), "\"shop-apis\"", "\"crd\"");
    }
    let (client, beside) = (folder.join("shop-client"), folder.join("hack"));
    fs::create_dir(&beside).unwrap();
    fs::remove_file(folder.join("genclient.toml")).unwrap();
    let config = "[[client]]\noutput = \"../shop-client\"\nsources = [\"../apis\"]\n";
    fs::write(beside.join("genclient.toml"), config).unwrap();

    run(command(genclient(), &beside).arg("generate"));
    let definitions = || fs::read_to_string(client.join("crds/orders.shop.example.com.yaml")).unwrap();
    let first = definitions();
    // The versions are those of the workspace's lock, which generating again leaves as it is.
    let lock = || fs::read_to_string(folder.join("Cargo.lock")).unwrap();
    let locked = lock();
    fs::remove_dir_all(client.join("crds")).unwrap();
    run(command(genclient(), &beside).arg("generate").env("CARGO_NET_OFFLINE", "true"));
    assert_eq!(definitions(), first);
    assert_eq!(lock(), locked);
    cargo(&folder, &["build", "--quiet", "--locked", "--package", "shop-client"]);
}
