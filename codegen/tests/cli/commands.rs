//! What the commands print when all is well.

use std::process::Stdio;

use super::support::{Workspace, kind, kind_with, module, snapshot};

#[test]
fn list_shows_every_kind_in_a_table() {
    let workspace = Workspace::new("pub mod v1;\npub mod core;\n");
    let method = "readonly, method(name = \"get_scale\", verb = get, subresource = \"scale\")";
    workspace.write(
        "apis/src/v1.rs",
        &module(
            "a.example.com/v1",
            &format!("{}{}", kind_with("Network", "cluster_scoped"), kind_with("Pool", method)),
        ),
    );
    workspace.write("apis/src/core.rs", &module("v1", &kind_with("Parcel", "no_verbs, no_crd")));
    workspace.write("genclient.toml", "[[client]]\noutput = \"client\"\nsources = [\"apis\"]\n");
    let run = workspace.run(&["list"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    snapshot("list", &run.stdout);
}

#[test]
fn list_says_what_is_wrong_with_the_sources() {
    let run = Workspace::new("").run(&["list"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("no annotated type was found in `apis`"), "{}", run.stderr);
}

#[test]
fn explain_lists_the_attributes_and_shows_each() {
    let workspace = Workspace::new("");
    for (name, arguments) in [
        ("explain", &["explain"][..]),
        ("explain_plural", &["explain", "plural"]),
        ("explain_method", &["explain", "method"]),
    ] {
        let run = workspace.run(arguments);
        assert_eq!(run.code, 0, "{}", run.stderr);
        snapshot(name, &run.stdout);
    }
}

#[test]
fn explain_does_not_know_every_word() {
    let run = Workspace::new("").run(&["explain", "plurals"]);
    assert_eq!(run.code, 2);
    snapshot("explain_unknown", &run.stderr);
}

#[test]
fn help_names_the_commands_and_the_exit_codes() {
    let workspace = Workspace::new("");
    for (name, arguments) in [("help", &["--help"][..]), ("help_generate", &["generate", "--help"])] {
        let run = workspace.run_with(arguments, &[("COLUMNS", "100")]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        snapshot(name, &run.stdout);
    }
}

#[test]
fn a_wrong_word_on_the_command_line_is_an_error() {
    let workspace = Workspace::new("");
    assert_eq!(workspace.run(&["generrate"]).code, 2);
    assert_eq!(workspace.run(&["generate", "--check", "--dry-run"]).code, 2);
}

#[test]
fn the_configuration_is_found_from_any_folder_below_it() {
    let workspace = Workspace::new(&module("a.example.com/v1", &kind("Network")));
    let run = workspace.run_in("apis/src", &["generate"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(workspace.path("generated/client/src/lib.rs").exists());
    let run = workspace.run_in("apis", &["generate", "--check"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn a_runtime_of_another_version_is_refused() {
    let workspace = Workspace::new(&module("a.example.com/v1", &kind("Network")));
    let lock =
        |version: &str| format!("[[package]]\nname = \"genclient-runtime\"\nversion = \"{version}\"\n");
    workspace.write("Cargo.lock", &lock("9.0.1"));
    let run = workspace.run(&["generate"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("uses genclient-runtime 9.0.1"), "{}", run.stderr);
    assert!(!workspace.path("generated").exists());
    workspace.write("Cargo.lock", &lock(env!("CARGO_PKG_VERSION")));
    assert_eq!(workspace.run(&["generate"]).code, 0);
}

#[test]
fn a_reader_that_goes_away_is_not_an_error() {
    let kinds: String = (0..200).map(|number| kind(&format!("Kind{number}"))).collect();
    let workspace = Workspace::new(&module("a.example.com/v1", &kinds));
    for (arguments, code) in
        [(&["list"][..], 0), (&["generate", "--check"], 1), (&["generate", "--dry-run"], 0)]
    {
        let mut child =
            workspace.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
    }
}
