//! `genclient init`: what it writes, and that it overwrites nothing.

use std::{collections::BTreeMap, path::PathBuf};

use super::support::{Workspace, snapshot};

/// The texts of all files.
fn texts(workspace: &Workspace) -> BTreeMap<PathBuf, String> {
    let tree = workspace.tree().into_iter();
    tree.map(|(path, (bytes, _))| (path, String::from_utf8(bytes).unwrap())).collect()
}

fn init(workspace: &Workspace, arguments: &[&str]) -> super::support::Run {
    workspace.run(&[&["init", "--no-generate"], arguments].concat())
}

#[test]
fn an_empty_folder_becomes_a_crate_with_a_controller() {
    let workspace = Workspace::empty();
    let run = init(&workspace, &["demo", "--kind", "Gadget", "--group", "shop.example.com"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    snapshot("init_empty", &run.stdout);
    assert!(workspace.read("demo/Cargo.toml").starts_with("[package]\nname = \"demo\"\n"));
    assert!(workspace.read("demo/src/v1.rs").contains("group_version!(\"shop.example.com/v1\");"));
    assert!(workspace.read("demo/src/main.rs").contains("factory.shop().v1().gadgets()"));
    assert!(workspace.read("demo/tests/gadget.rs").contains("\"gadgets.shop.example.com\""));
    // What it has written is what the generator reads.
    let run = workspace.run_in("demo", &["generate", "--no-crds"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(workspace.path("demo/src/generated/listers/shop/v1/gadget.rs").exists());
    // And it is not done twice.
    let before = texts(&workspace);
    let run = init(&workspace, &["demo"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("there is a `genclient.toml` already"), "{}", run.stderr);
    assert_eq!(texts(&workspace), before);
}

#[test]
fn a_crate_gets_a_module_of_types_and_what_it_lacks() {
    let workspace = Workspace::empty();
    let manifest =
        "[package]\nname = \"mine\" # a comment\nversion = \"1.0.0\"\n\n[dependencies]\nserde = \"1\"\n";
    workspace.write("Cargo.toml", manifest);
    workspace.write("src/lib.rs", "//! Mine.\n\npub fn work() {}\n");
    let run = init(&workspace, &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    snapshot("init_crate", &run.stdout);
    assert!(workspace.read("Cargo.toml").starts_with(manifest));
    let lib = workspace.read("src/lib.rs");
    assert_eq!(lib, "//! Mine.\n\npub fn work() {}\n\npub mod generated;\npub mod v1;\n");
    let run = workspace.run(&["generate", "--no-crds"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(workspace.read("src/generated/clientset/typed/example/v1/widget.rs").contains("use crate::v1;"));
}

#[test]
fn a_workspace_gets_two_crates() {
    let workspace = Workspace::empty();
    workspace.write("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\n    \"controller\",\n]\n");
    let run = init(&workspace, &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    snapshot("init_workspace", &run.stdout);
    let members = "members = [\n    \"controller\",\n    \"apis\",\n    \"client\",\n]\n";
    assert!(workspace.read("Cargo.toml").ends_with(members), "{}", workspace.read("Cargo.toml"));
    // The generated crate gets its Cargo.toml from the generator.
    let run = workspace.run(&["generate", "--no-crds"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let manifest = workspace.read("client/Cargo.toml");
    assert!(
        manifest.contains("name = \"client\"") && manifest.contains("apis = { path = \"../apis\" }"),
        "{manifest}"
    );
    assert!(
        manifest.contains(&format!("genclient-runtime = \"{}\"", env!("CARGO_PKG_VERSION"))),
        "{manifest}"
    );
    assert_eq!(workspace.run(&["generate", "--no-crds", "--check"]).code, 0);
}

#[test]
fn nothing_is_overwritten() {
    for (path, text) in [("src/v1.rs", "mine\n"), ("tests/widget.rs", "mine\n"), ("example-widget.yaml", "")]
    {
        let workspace = Workspace::empty();
        workspace.write("Cargo.toml", "[package]\nname = \"mine\"\nversion = \"1.0.0\"\n");
        workspace.write("src/main.rs", "fn main() {}\n");
        workspace.write(path, text);
        let before = texts(&workspace);
        let run = init(&workspace, &[]);
        assert_eq!(run.code, 2);
        assert!(run.stderr.contains(&format!("`{path}` is there already")), "{}", run.stderr);
        assert_eq!(texts(&workspace), before);
    }
}

#[test]
fn names_that_cannot_be_are_refused_before_anything_is_written() {
    for arguments in [
        &["--kind", "widget"][..],
        &["--kind", "Not A Kind"],
        &["--group", "Example.com"],
        &["--group", "*"],
        &["--api-version", "V1"],
        &["--path", "nowhere"],
    ] {
        let workspace = Workspace::empty();
        let run = init(&workspace, arguments);
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.stdout);
        assert!(run.stderr.contains("nothing was written"), "{}", run.stderr);
        assert!(workspace.tree().is_empty(), "{arguments:?}");
    }
}

#[test]
fn another_version_of_a_shared_library_is_refused() {
    let workspace = Workspace::empty();
    let manifest = "[package]\nname = \"mine\"\n\n[dependencies]\nk8s-openapi = { version = \"0.20\", features = [\"v1_28\"] }\n";
    workspace.write("Cargo.toml", manifest);
    let run = init(&workspace, &[]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("has k8s-openapi 0.20, and genclient-runtime needs"), "{}", run.stderr);
    assert_eq!(workspace.tree().len(), 1);
}

#[test]
fn below_a_workspace_an_empty_folder_becomes_a_member() {
    for (members, changed) in [("\"a\"", true), ("\"*\"", false)] {
        let workspace = Workspace::empty();
        let manifest = format!("[workspace]\nmembers = [{members}]\n");
        workspace.write("Cargo.toml", &manifest);
        let run = init(&workspace, &["demo"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let expected = if changed { manifest.replace("\"a\"", "\"a\", \"demo\"") } else { manifest };
        assert_eq!(workspace.read("Cargo.toml"), expected);
        assert_eq!(run.stdout.contains("  ../Cargo.toml           changed\n"), changed, "{}", run.stdout);
    }
}

#[test]
fn the_root_of_the_library_is_where_the_package_says() {
    let workspace = Workspace::empty();
    let manifest = "[package]\nname = \"mine\"\nversion = \"1.0.0\"\n\n[lib]\npath = ";
    workspace.write("Cargo.toml", &format!("{manifest}\"src/mine.rs\"\n"));
    workspace.write("src/mine.rs", "//! Mine.\n");
    let run = init(&workspace, &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(workspace.read("src/mine.rs"), "//! Mine.\n\npub mod generated;\npub mod v1;\n");
    assert!(!workspace.path("src/lib.rs").exists());
    let run = workspace.run(&["generate", "--no-crds"]);
    assert_eq!(run.code, 0, "{}", run.stderr);

    let workspace = Workspace::empty();
    workspace.write("Cargo.toml", &format!("{manifest}\"lib.rs\"\n"));
    let run = init(&workspace, &[]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("the library of `Cargo.toml` is `lib.rs`"), "{}", run.stderr);
}

#[test]
fn the_texts_name_nothing_that_the_kind_may_be_called() {
    for kind in
        ["Event", "Error", "Action", "Duration", "Clientset", "Type", "Key", "Option", "Vec", "Object"]
    {
        let workspace = Workspace::empty();
        let run = init(&workspace, &["demo", "--kind", kind]);
        assert_eq!(run.code, 0, "{kind}: {}", run.stderr);
        let (main, types) = (workspace.read("demo/src/main.rs"), workspace.read("demo/src/v1.rs"));
        assert!(!main.contains(&format!("v1::{kind};")), "{kind}: {main}");
        assert!(
            main.contains("Some(object)") && main.contains(&format!("demo::v1::{kind}>")),
            "{kind}: {main}"
        );
        assert_eq!(types.contains(": std::option::Option<"), kind == "Option", "{types}");
        let run = workspace.run_in("demo", &["generate", "--no-crds"]);
        assert_eq!(run.code, 0, "{kind}: {}", run.stderr);
    }
    for kind in ["ObjectMeta", "JsonSchema", "GenClient"] {
        let run = init(&Workspace::empty(), &["--kind", kind]);
        assert_eq!(run.code, 2);
        assert!(run.stderr.contains("cannot be called"), "{}", run.stderr);
    }
}
