//! What `genclient init` writes compiles, wherever it is called and whatever the kind is called.

use std::{fs, path::Path};

use super::{alone, cargo, checkout, command, folder, genclient, run};

/// Calls `genclient init` in a folder that has the versions of this checkout, which keep it off the network.
fn init(folder: &Path, arguments: &[&str]) -> String {
    fs::copy(checkout().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    run(command(genclient(), folder).arg("init").args(arguments).arg("--path").arg(checkout()))
}

#[test]
fn a_crate_with_a_first_kind_builds_and_its_test_passes() {
    let _alone = alone();
    let folder = folder("init-crate");
    fs::create_dir(folder.join("src")).unwrap();
    fs::write(folder.join("Cargo.toml"), "[package]\nname = \"init-crate\"\nedition = \"2024\"\n").unwrap();
    fs::write(folder.join("src/lib.rs"), "//! Mine.\n\npub fn work() {}\n").unwrap();
    init(&folder, &[]);
    assert!(folder.join("crds/widgets.example.com.yaml").exists());
    cargo(&folder, &["test", "--quiet"]);
}

#[test]
fn a_workspace_with_a_first_kind_builds_and_its_test_passes() {
    let _alone = alone();
    let folder = folder("init-workspace");
    fs::write(folder.join("Cargo.toml"), "[workspace]\nresolver = \"3\"\nmembers = []\n").unwrap();
    init(&folder, &[]);
    assert!(folder.join("client/crds/widgets.example.com.yaml").exists());
    cargo(&folder, &["test", "--quiet", "--workspace"]);
}

#[test]
fn a_first_kind_may_have_the_name_of_anything() {
    let _alone = alone();
    // Names that the texts use themselves, and words of Rust. One workspace has them all, so that one build is enough.
    let root = folder("init-kinds");
    let kinds = [
        "Event",
        "Error",
        "Action",
        "Duration",
        "Clientset",
        "Type",
        "Gen",
        "Key",
        "Option",
        "Vec",
        "Object",
    ];
    for kind in kinds {
        let folder = root.join(format!("kind-{}", kind.to_lowercase()));
        fs::create_dir(&folder).unwrap();
        init(&folder, &["--kind", kind, "--no-generate"]);
        run(command(genclient(), &folder).args(["generate", "--no-crds"]));
        fs::remove_file(folder.join("Cargo.lock")).unwrap();
    }
    fs::write(root.join("Cargo.toml"), "[workspace]\nresolver = \"3\"\nmembers = [\"kind-*\"]\n").unwrap();
    fs::copy(checkout().join("Cargo.lock"), root.join("Cargo.lock")).unwrap();
    cargo(&root, &["check", "--quiet", "--workspace", "--all-targets"]);
}
