//! Where the files of modules are, and where errors are in them.

use crate::support::{kind_with, network, read, version};

fn found(path: &str) -> Vec<String> {
    vec![format!("v1 Network networks namespaced my_apis::{path}::Network")]
}

#[test]
fn the_files_of_modules_are_where_the_compiler_looks_for_them() {
    for (files, file, path) in [
        (&[("lib.rs", "pub mod a;")][..], "a.rs", "a"),
        (&[("lib.rs", "pub mod a;")], "a/mod.rs", "a"),
        (&[("lib.rs", "pub mod a;"), ("a.rs", "pub mod b;")], "a/b.rs", "a::b"),
        (&[("lib.rs", "pub mod a;"), ("a/mod.rs", "pub mod b;")], "a/b.rs", "a::b"),
        (&[("lib.rs", "pub mod a;"), ("a.rs", "pub mod b { pub mod c; }")], "a/b/c.rs", "a::b::c"),
        (&[("lib.rs", "pub mod a { pub mod b; }")], "a/b.rs", "a::b"),
        (&[("lib.rs", "#[path = \"x/y.rs\"] pub mod a;")], "x/y.rs", "a"),
        (&[("lib.rs", "#[path = \"x/y.rs\"] pub mod a;"), ("x/y.rs", "pub mod b;")], "x/b.rs", "a::b"),
        (&[("lib.rs", "pub mod a;"), ("a.rs", "#[path = \"x.rs\"] pub mod b;")], "x.rs", "a::b"),
        (&[("lib.rs", "pub mod a;"), ("a/mod.rs", "#[path = \"x.rs\"] pub mod b;")], "a/x.rs", "a::b"),
        (&[("lib.rs", "pub mod a { #[path = \"x.rs\"] pub mod b; }")], "a/x.rs", "a::b"),
        (
            &[("lib.rs", "pub mod a;"), ("a.rs", "pub mod b { #[path = \"x.rs\"] pub mod c; }")],
            "a/b/x.rs",
            "a::b::c",
        ),
        (
            &[("lib.rs", "pub mod a;"), ("a/mod.rs", "pub mod b { #[path = \"x.rs\"] pub mod c; }")],
            "a/b/x.rs",
            "a::b::c",
        ),
        (&[("lib.rs", "pub mod r#mod;"), ("mod.rs", "pub mod b;")], "mod/b.rs", "r#mod::b"),
        // A path on an inline module is a folder, and starts at the file's own.
        (&[("lib.rs", "#[path = \"dir\"] pub mod a { pub mod b; }")], "dir/b.rs", "a::b"),
        (
            &[("lib.rs", "pub mod a;"), ("a.rs", "#[path = \"dir\"] pub mod b { pub mod c; }")],
            "dir/c.rs",
            "a::b::c",
        ),
        (&[("lib.rs", "pub mod lib { #[path = \"x.rs\"] pub mod b; }")], "lib/x.rs", "lib::b"),
        (&[("lib.rs", "pub mod lib { pub mod b; }")], "lib/b.rs", "lib::b"),
    ] {
        let text = network("v1");
        let files: Vec<_> = files.iter().copied().chain([(file, text.as_str())]).collect();
        assert_eq!(read(&files), Ok(found(path)), "{files:?}");
    }
}

#[test]
fn two_modules_may_share_a_file() {
    let sys = "pub fn f() {}";
    let root = |first: &str, second: &str| {
        format!(
            "#[cfg({first})] #[path = \"sys.rs\"] mod a;\n#[cfg({second})] #[path = \"sys.rs\"] mod b;\npub mod v1;"
        )
    };
    for (first, second) in [("unix", "windows"), ("all()", "all()"), ("test", "not(test)")] {
        let root = root(first, second);
        assert_eq!(read(&[("lib.rs", &root), ("sys.rs", sys), ("v1.rs", &network("v1"))]), Ok(found("v1")));
    }
    // Each module has a version of its own for the kinds in the file.
    let shared = format!("group_version!(super);\n{}", kind_with("", "Network"));
    let module = |name: &str| {
        format!(
            "pub mod {name} {{ group_version!(\"{name}.example.com/v1\"); #[path = \"../shared.rs\"] pub mod kinds; }}\n"
        )
    };
    assert_eq!(
        read(&[("lib.rs", &format!("{}{}", module("a"), module("b"))), ("shared.rs", &shared)]),
        Ok([found("a::kinds"), found("b::kinds")].concat())
    );
    // What is wrong with it is told once.
    let wrong = shared.replace("#[derive", "#[genclient(banana)] #[derive");
    assert_eq!(
        read(&[("lib.rs", &format!("{}{}", module("a"), module("b"))), ("shared.rs", &wrong)]),
        Err(vec!["shared.rs:2: unknown attribute `banana`".to_owned()])
    );
}

#[test]
fn a_file_cannot_hold_itself() {
    assert_eq!(
        read(&[("lib.rs", "mod a;"), ("a.rs", "#[path = \"a.rs\"]\nmod b;")]),
        Err(vec!["a.rs:2: the file of the module `b` holds the module itself, `apis/src/a.rs`".to_owned()])
    );
}

#[test]
fn a_file_behind_a_condition_need_not_be_rust() {
    let root = |cfg: &str| format!("#[cfg({cfg})] mod future;\npub mod v1;");
    let read = |cfg: &str, text: &str| {
        read(&[("lib.rs", &root(cfg)), ("future.rs", text), ("v1.rs", &network("v1"))])
    };
    for text in ["pub struct {", "fn f( {", "\u{1f980}"] {
        assert_eq!(read("feature = \"x\"", text), Ok(found("v1")), "{text}");
        assert_eq!(read("test", text), Ok(found("v1")), "{text}");
        assert!(read("not(test)", text).is_err(), "{text}");
    }
    // If it holds a kind, that is refused, whether it parses or not.
    let errors = read("feature = \"x\"", "#[derive(GenClient)] pub struct {").unwrap_err();
    assert_eq!(errors, ["future.rs:1: this file is not valid Rust"]);
}

#[test]
fn errors_are_marked_where_they_are_whatever_stands_first_in_the_file() {
    let wrong = format!("{}{}", version("v1"), kind_with("#[genclient(banana)]", "Network"));
    for (start, line) in [
        ("", 2),
        ("#!/usr/bin/env run-cargo-script\n", 3),
        ("#![allow(dead_code)]\n", 3),
        ("#! [allow(dead_code)]\n", 3),
        ("\u{feff}", 2),
        ("\u{feff}#!/bin/sh\n", 3),
        ("// \u{1f980} é\r\n\r\n", 4),
    ] {
        let text = format!("{start}{wrong}");
        let error = format!("lib.rs:{line}: unknown attribute `banana`");
        assert_eq!(read(&[("lib.rs", &text)]), Err(vec![error.clone()]), "{start:?}");
        let text = text.replace("\r\n", "\n").replace('\n', "\r\n");
        assert_eq!(read(&[("lib.rs", &text)]), Err(vec![error]), "{start:?} with CRLF");
    }
}

#[test]
fn a_file_that_does_not_parse_is_marked_where_it_stops_making_sense() {
    for (text, error) in [
        (
            "pub struct A {\n    pub metadata ObjectMeta,\n}\n",
            "lib.rs:2: this file does not parse: expected `:`",
        ),
        (
            "#!/bin/sh\npub struct A {\n    pub metadata ObjectMeta,\n}\n",
            "lib.rs:3: this file does not parse: expected `:`",
        ),
        ("pub struct A {}\nfn f() {\n", "lib.rs:2: this file is not valid Rust"),
    ] {
        assert_eq!(read(&[("lib.rs", text)]), Err(vec![error.to_owned()]), "{text}");
    }
}
