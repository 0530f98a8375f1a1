//! What is written, what is left alone, and what is removed.

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

use super::support::{Workspace, kind, kind_with, module, snapshot};

const CLIENT: &str = "generated/client/src/clientset/typed/a/v1/network.rs";

fn workspace() -> Workspace {
    Workspace::new(&module("a.example.com/v1", &kind("Network")))
}

/// Puts every generated file into the past, so that a new time tells that it was written.
fn age(workspace: &Workspace) {
    let past = SystemTime::now() - Duration::from_secs(3600);
    for path in workspace.tree().keys().filter(|path| path.starts_with("generated")) {
        let file = fs::File::options().append(true).open(workspace.path(&path.to_string_lossy())).unwrap();
        file.set_modified(past).unwrap();
    }
}

#[test]
fn a_second_run_touches_nothing() {
    let workspace = workspace();
    assert!(workspace.generate().stderr.ends_with(" files written, 0 removed, 0 unchanged\n"));
    age(&workspace);
    let before = workspace.tree();
    assert!(workspace.generate().stderr.starts_with("0 files written, 0 removed, "));
    assert!(workspace.tree() == before);
}

#[test]
fn only_the_files_that_change_are_written() {
    let workspace = workspace();
    workspace.generate();
    age(&workspace);
    let before = workspace.tree();
    workspace
        .write("apis/src/lib.rs", &module("a.example.com/v1", &kind_with("Network", "skip_verbs(patch)")));
    assert!(workspace.generate().stderr.starts_with("1 file written, 0 removed, "));
    let after = workspace.tree();
    let changed: Vec<_> = after
        .iter()
        .filter(|(path, file)| path.starts_with("generated") && before[*path] != **file)
        .collect();
    assert_eq!(changed.len(), 1);
    assert_eq!(changed[0].0, Path::new(CLIENT));
}

#[test]
fn a_renamed_kind_leaves_no_orphan_and_its_hand_written_neighbours() {
    let workspace = workspace();
    workspace.generate();
    let by_hand = [
        "generated/client/src/expansions.rs",
        "generated/client/src/clientset/typed/a/v1/by_hand.rs",
        "generated/client/crds/by_hand.yaml",
        "generated/client/examples/by_hand.rs",
    ];
    for path in by_hand {
        workspace.write(path, "// written by hand\n");
    }
    workspace.write("apis/src/lib.rs", &module("a.example.com/v1", &kind("Subnet")));
    let said = workspace.generate().stderr;
    assert!(said.contains(" 5 removed"), "two clients, apply configuration, lister and informer");
    assert!(said.contains("removed `generated/client/src/listers/a/v1/network.rs`"), "{said}");
    let tree = workspace.tree();
    assert!(!tree.keys().any(|path| path.to_string_lossy().contains("network")));
    assert!(tree.contains_key(Path::new("generated/client/src/listers/a/v1/subnet.rs")));
    for path in by_hand {
        assert_eq!(workspace.read(path), "// written by hand\n");
    }
}

#[test]
fn a_group_that_is_gone_leaves_no_folders() {
    let workspace = workspace();
    workspace.generate();
    workspace.write("apis/src/lib.rs", &module("b.example.com/v1", &kind("Network")));
    workspace.generate();
    assert!(!workspace.path("generated/client/src/clientset/typed/a").exists());
    assert!(!workspace.path("generated/client/src/informers/a").exists());
    assert!(workspace.path("generated/client/src/informers/b").exists());
}

#[test]
fn check_shows_the_difference_and_changes_nothing() {
    let workspace = workspace();
    workspace.generate();
    assert_eq!(workspace.run(&["generate", "--check"]).code, 0);
    workspace
        .write("apis/src/lib.rs", &module("a.example.com/v1", &kind_with("Network", "skip_verbs(patch)")));
    let before = workspace.tree();
    let run = workspace.run(&["generate", "--check"]);
    assert_eq!(run.code, 1);
    assert!(workspace.tree() == before);
    snapshot("check_diff", &run.stdout);
    snapshot("check_message", &run.stderr);
}

#[test]
fn check_finds_orphans_and_changed_files() {
    let workspace = workspace();
    workspace.generate();
    let text = workspace.read(CLIENT);
    workspace.write(CLIENT, &format!("{text}// one line more\n"));
    assert_eq!(workspace.run(&["generate", "--check"]).code, 1);
    workspace.write(CLIENT, &text);
    assert_eq!(workspace.run(&["generate", "--check"]).code, 0);
    workspace.write("generated/client/src/listers/a/v1/gone.rs", &text);
    let run = workspace.run(&["generate", "--check"]);
    assert_eq!(run.code, 1);
    assert!(
        run.stdout.starts_with("--- a/generated/client/src/listers/a/v1/gone.rs\n+++ /dev/null\n"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_dry_run_shows_the_difference_writes_nothing_and_ends_well() {
    let workspace = workspace();
    let before = workspace.tree();
    let run = workspace.run(&["generate", "--dry-run"]);
    assert_eq!(run.code, 0);
    assert!(run.stdout.contains("+++ b/generated/client/src/lib.rs"), "{}", run.stdout);
    assert!(run.stderr.contains("would be written"), "{}", run.stderr);
    assert!(workspace.tree() == before);
}

#[test]
fn an_error_in_one_client_leaves_the_other_as_it_was() {
    let workspace = workspace();
    workspace.write("more/Cargo.toml", "[package]\nname = \"more\"\n");
    workspace.write("more/src/lib.rs", &module("b.example.com/v1", &kind_with("Network", "banana")));
    workspace.write(
        "genclient.toml",
        "[[client]]\noutput = \"one\"\nsources = [\"apis\"]\n\n[[client]]\noutput = \"two\"\nsources = [\"more\"]\n",
    );
    let before = workspace.tree();
    assert_eq!(workspace.run(&["generate"]).code, 2);
    assert!(workspace.tree() == before);
}

#[test]
fn another_locale_and_another_folder_give_the_same_bytes() {
    let bytes = |locale: &str, config: &str| {
        let workspace = workspace();
        let run = workspace.run_with(
            &["--config", config, "generate"],
            &[("LC_ALL", locale), ("LANG", locale), ("TZ", "Asia/Tokyo")],
        );
        assert_eq!(run.code, 0, "{}", run.stderr);
        workspace
            .tree()
            .into_iter()
            .filter(|(path, _)| path.starts_with("generated"))
            .map(|(path, (bytes, _))| (path, bytes))
            .collect::<Vec<_>>()
    };
    let expected = bytes("C", "genclient.toml");
    assert_eq!(bytes("tr_TR.UTF-8", "genclient.toml"), expected);
    assert_eq!(bytes("C", "./apis/../genclient.toml"), expected);
}

#[cfg(unix)]
#[test]
fn more_files_can_be_written_than_may_be_open() {
    let kinds: String = (0..60).map(|number| kind(&format!("Kind{number}"))).collect();
    let workspace = Workspace::new(&module("a.example.com/v1", &kinds));
    let limited = std::process::Command::new("sh")
        .args(["-c", "ulimit -n 40 && exec \"$0\" generate", env!("CARGO_BIN_EXE_genclient")])
        .current_dir(workspace.path("."))
        .output()
        .unwrap();
    assert!(limited.status.success(), "{}", String::from_utf8_lossy(&limited.stderr));
    assert!(workspace.tree().len() > 180);
}

#[test]
fn the_runtime_may_have_any_name_and_a_new_package_depends_on_it_under_that_name() {
    for (runtime, written, key) in [
        ("rt", "rt", "rt"),
        ("::rt", "rt", "rt"),
        ("r#type", "r#type", "type"),
        ("genclient_runtime", "genclient_runtime", "genclient-runtime"),
    ] {
        let workspace = workspace();
        let config = workspace.read("genclient.toml");
        workspace.write("genclient.toml", &format!("{config}runtime = {runtime:?}\n"));
        workspace.generate();
        let client = workspace.read(CLIENT);
        assert!(client.contains(&format!("\nuse {written}::{{")), "{runtime}: {client}");
        let manifest = workspace.read("generated/client/Cargo.toml");
        let version = env!("CARGO_PKG_VERSION");
        let expected = match key {
            "genclient-runtime" => format!("\n{key} = \"{version}\"\n"),
            key => format!("\n{key} = {{ version = \"{version}\", package = \"genclient-runtime\" }}\n"),
        };
        assert!(manifest.contains(&expected), "{runtime}: {manifest}");
    }
}

#[test]
fn a_new_package_takes_the_runtime_from_where_its_sources_take_it() {
    const PACKAGE: &str = "package = \"genclient-runtime\"";
    let root = "[workspace]\n[workspace.dependencies]\nrt = { package = \"genclient-runtime\", path = \"up/runtime\" }\n";
    for (runtime, dependency, expected) in [
        (
            "genclient_runtime",
            "genclient-runtime = { path = \"../../up/runtime\", optional = true }".to_owned(),
            "genclient-runtime = { path = \"../../../up/runtime\" }".to_owned(),
        ),
        ("rt", format!("rt = {{ {PACKAGE}, git = \"g\" }}"), format!("rt = {{ {PACKAGE}, git = \"g\" }}")),
        (
            "rt",
            "genclient-runtime = { git = \"g\" }".to_owned(),
            format!("rt = {{ git = \"g\", {PACKAGE} }}"),
        ),
        ("rt", "genclient-runtime = \"0.1\"".to_owned(), format!("rt = {{ version = \"0.1\", {PACKAGE} }}")),
        (
            "genclient_runtime",
            format!("rt = {{ {PACKAGE}, git = \"g\" }}"),
            "genclient-runtime = { git = \"g\" }".to_owned(),
        ),
        ("rt", "rt.workspace = true".to_owned(), "rt = { workspace = true }".to_owned()),
        (
            "genclient_runtime",
            "rt.workspace = true".to_owned(),
            "genclient-runtime = { path = \"../../up/runtime\" }".to_owned(),
        ),
        // A crate that passes the runtime on.
        (
            "facade::rt",
            "facade = { path = \"../facade\" }".to_owned(),
            "facade = { path = \"../../facade\" }".to_owned(),
        ),
    ] {
        let workspace = workspace();
        workspace.write("Cargo.toml", root);
        workspace.write(
            "apis/Cargo.toml",
            &format!("[package]\nname = \"sample-apis\"\n\n[dependencies]\n{dependency}\n"),
        );
        let config = workspace.read("genclient.toml");
        workspace.write("genclient.toml", &format!("{config}runtime = {runtime:?}\n"));
        workspace.generate();
        let manifest = workspace.read("generated/client/Cargo.toml");
        assert!(manifest.contains(&format!("\n{expected}\n")), "{runtime}, {dependency}: {manifest}");
    }
}

#[test]
fn an_output_beside_the_configuration_finds_its_sources() {
    let workspace = workspace();
    let config = workspace.read("genclient.toml");
    let config = config.replace("generated/client", "../out/client").replace("[\"apis\"]", "[\"../apis\"]");
    workspace.write("config/genclient.toml", &config);
    let dependency = "genclient-runtime = { path = \"../runtime\" }";
    workspace.write(
        "apis/Cargo.toml",
        &format!("[package]\nname = \"sample-apis\"\n\n[dependencies]\n{dependency}\n"),
    );
    let run = workspace.run(&["--config", "config/genclient.toml", "generate"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let manifest = workspace.read("out/client/Cargo.toml");
    assert!(manifest.contains("\nsample-apis = { path = \"../../apis\" }\n"), "{manifest}");
    assert!(manifest.contains("\ngenclient-runtime = { path = \"../../runtime\" }\n"), "{manifest}");
}

#[test]
fn two_modules_of_one_package_leave_each_other_alone() {
    let workspace = workspace();
    workspace.write("Cargo.toml", "[package]\nname = \"mine\"\n");
    let client =
        |name: &str| format!("[[client]]\noutput = {name:?}\nsources = [\"apis\"]\ncrds = false\n\n");
    // The third one is a crate below the folder in which the package keeps its CRD program.
    workspace.write("genclient.toml", &(client("src/a") + &client("src/b") + &client("examples/c")));
    workspace.generate();
    assert_eq!(workspace.run(&["generate", "--check"]).code, 0);
    assert!(workspace.generate().stderr.starts_with("0 files written, 0 removed, "));
    for root in ["src/a/mod.rs", "src/b/mod.rs", "examples/c/src/lib.rs"] {
        assert!(workspace.path(root).exists(), "{root}");
    }
}
