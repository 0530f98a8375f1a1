//! `fake = true`: the clientset on an API server in memory.

use super::support::{Workspace, kind, module, snapshot};

/// A configuration with a fake.
fn configure(workspace: &Workspace, more: &str) {
    workspace.write(
        "genclient.toml",
        &format!(
            "[[client]]\noutput = \"generated/client\"\nsources = [\"apis\"]\ncrds = false\nfake = true\n{more}"
        ),
    );
}

fn workspace() -> Workspace {
    let workspace = Workspace::new(&module("a.example.com/v1", &kind("Network")));
    configure(&workspace, "");
    workspace
}

#[test]
fn a_new_package_gets_the_module_the_feature_and_the_dependency() {
    for (runtime, fake) in [
        ("\"0.1.0\"", "{ version = \"0.1.0\", optional = true }"),
        ("{ path = \"../../g/runtime\" }", "{ path = \"../../../g/fake\", optional = true }"),
        (
            "{ git = \"https://example.com/g\", tag = \"v1\", features = [\"cli\"] }",
            "{ git = \"https://example.com/g\", tag = \"v1\", optional = true }",
        ),
    ] {
        let workspace = workspace();
        let manifest =
            format!("[package]\nname = \"sample-apis\"\n[dependencies]\ngenclient-runtime = {runtime}\n");
        workspace.write("apis/Cargo.toml", &manifest);
        workspace.generate();
        let manifest = workspace.read("generated/client/Cargo.toml");
        assert!(manifest.contains(&format!("\ngenclient-fake = {fake}\n")), "{manifest}");
        let feature =
            "\n[features]\n# An API server in memory, for tests.\nfake = [\"dep:genclient-fake\"]\n";
        assert!(manifest.ends_with(feature), "{manifest}");
        assert!(workspace.read("generated/client/src/lib.rs").contains("#[cfg(feature = \"fake\")]"));
        assert!(workspace.read("generated/client/src/fake.rs").contains("pub type Clientset"));
        assert_eq!(workspace.run(&["generate", "--check"]).code, 0, "the package is as it should be");
    }
}

#[test]
fn without_the_key_there_is_no_fake_and_the_file_of_an_earlier_run_goes() {
    let workspace = workspace();
    workspace.generate();
    let config = workspace.read("genclient.toml").replace("fake = true\n", "");
    workspace.write("genclient.toml", &config);
    assert!(workspace.generate().stderr.contains(" 1 removed"));
    assert!(!workspace.path("generated/client/src/fake.rs").exists());
    assert!(!workspace.read("generated/client/src/lib.rs").contains("fake"));
}

#[test]
fn a_package_that_lacks_the_feature_or_the_dependency_is_told_the_lines_to_add() {
    let workspace = workspace();
    workspace.write("generated/client/Cargo.toml", "[package]\nname = \"sample-client\"\n");
    let run = workspace.run(&["generate"]);
    assert_eq!(run.code, 2);
    snapshot("no_fake", &run.stderr);
    let feature = "[features]\nfake = [\"dep:genclient-fake\"]\n";
    let dependency = "[dependencies]\ngenclient-fake = { version = \"0.1.0\", optional = true }\n";
    let manifest = format!("[package]\nname = \"sample-client\"\n{feature}{dependency}");
    workspace.write("generated/client/Cargo.toml", &manifest);
    workspace.generate();
}

#[test]
fn a_group_whose_feature_is_called_fake_is_refused() {
    let workspace = Workspace::new(&module("fake.example.com/v1", &kind("Network")));
    configure(&workspace, "features = true\n");
    let run = workspace.run(&["generate"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("the group `fake.example.com` and that of the fake are both `fake`"),
        "{}",
        run.stderr
    );
}
