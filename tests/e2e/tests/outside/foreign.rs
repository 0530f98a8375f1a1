//! The workspace in `tests/outside`, built from a copy.

use std::{fs, path::Path};

use super::{alone, cargo, checkout, command, folder, genclient, run};

/// Copies every file of a folder that git knows or would.
fn copy(from: &Path, to: &Path) {
    let listed = run(command("git", from).args(["ls-files", "--cached", "--others", "--exclude-standard"]));
    for path in listed.lines().filter(|path| from.join(path).is_file()) {
        fs::create_dir_all(to.join(path).parent().unwrap()).unwrap();
        fs::copy(from.join(path), to.join(path)).unwrap();
    }
}

/// Generates, builds and runs a copy that depends on genclient like this.
fn builds(name: &str, dependency: &str) {
    let folder = folder(name);
    copy(&checkout().join("tests/outside"), &folder);
    fs::copy(checkout().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let replaced = manifest.replace("{ path = \"../../runtime\" }", dependency);
    assert_ne!(manifest, replaced);
    fs::write(folder.join("Cargo.toml"), replaced).unwrap();

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
