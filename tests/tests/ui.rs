//! What the compiler says of wrong input, and that the command line says the same.
//!
//! `tests/ui/compiler` holds what only the compiler can find. In every other folder each message is
//! also what `genclient` says of the same file. `TRYBUILD=overwrite` writes the expected texts anew.

#![allow(clippy::unwrap_used, reason = "what is missing ends the test, with its line")]

use std::{collections::BTreeMap, fs, path::PathBuf};

use genclient::source::{Packages, Sources};

#[test]
fn the_macros_say_what_is_wrong_where_it_is() {
    trybuild::TestCases::new().compile_fail("ui/*/*.rs");
}

/// The errors, notes and helps of a compiler's output that come from the derives: those without a code,
/// and what a derive has asked the compiler to evaluate.
fn messages(stderr: &str) -> Vec<String> {
    let mut messages = Vec::new();
    for line in stderr.lines() {
        let line = line.trim_start();
        let starts = ["error: ", "error[E0080]: evaluation panicked: ", "note: ", "help: "];
        let message = starts.iter().find_map(|start| line.strip_prefix(start));
        messages.extend(message.map(str::to_owned));
    }
    messages.sort();
    messages
}

#[test]
fn the_command_line_says_the_same_of_the_same_file() {
    let ui = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("ui");
    let mut compared = 0;
    for topic in ["attributes", "crd", "group_version", "list", "methods", "names", "serde", "shape", "verbs"]
    {
        for entry in fs::read_dir(ui.join(topic)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|end| end != "rs") {
                continue;
            }
            let files = BTreeMap::from([
                (PathBuf::from("ui/Cargo.toml"), "[package]\nname = \"ui\"\n".to_owned()),
                (PathBuf::from("ui/src/lib.rs"), fs::read_to_string(&path).unwrap()),
            ]);
            let errors =
                genclient::model(&Sources::load(&files, &["ui".into()], &Packages::default())).unwrap_err();
            let mut said: Vec<String> = Vec::new();
            for error in errors {
                said.push(error.message);
                said.extend(error.help);
                said.extend(
                    error
                        .related
                        .into_iter()
                        .map(|(at, label)| format!("{label}, in line {}", at.unwrap().line)),
                );
            }
            said.sort();
            let stderr = fs::read_to_string(path.with_extension("stderr")).unwrap();
            assert_eq!(said, messages(&stderr), "{}", path.display());
            compared += said.len();
        }
    }
    assert!(compared > 100, "only {compared} messages were compared");
}
