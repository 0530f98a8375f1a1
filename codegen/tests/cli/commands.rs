//! What the commands print when all is well.

use super::support::{Workspace, kind_with, module, snapshot};

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
