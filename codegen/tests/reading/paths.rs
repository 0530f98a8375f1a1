//! The path of a kind is one under which the compiler finds that very kind.

use crate::support::{network, paths, paths_edition, read, version};

/// `v1` and `v2` with a kind `Network` each, and what stands around them.
fn two(visibility: &str, root: &str) -> String {
    format!(
        "{visibility} mod v1 {{ {} }}\n{visibility} mod v2 {{ {} }}\n{root}",
        network("v1"),
        network("v2").replace("(storage)", "(storage = false)")
    )
}

/// A private `v1` with a kind, and what stands around it.
fn one(root: &str) -> String {
    format!("mod v1 {{ {} }}\n{root}", network("v1"))
}

#[test]
fn a_name_of_the_module_itself_hides_that_of_a_glob() {
    let own = network("v1");
    let other = network("v2").replace("(storage)", "(storage = false)");
    assert_eq!(
        read(&[("lib.rs", &format!("mod v2 {{ {other} }}\npub use v2::*;\n{own}"))]),
        Err(vec!["lib.rs:2: `Network` cannot be reached from other crates".to_owned()])
    );
    // Where the hidden one has another way out, that is taken.
    assert_eq!(
        paths(&format!("mod v2 {{ {other} }}\npub use v2::*;\npub use v2::Network as Network2;\n{own}")),
        ["my_apis::Network", "my_apis::Network2"]
    );
    // A function is no type, and hides none; whatever else has the name does.
    for (item, path) in [
        ("pub fn Network() {}", "my_apis::Network"),
        ("pub const Network: u8 = 0;", "my_apis::Network"),
        ("macro_rules! Network { () => {} }", "my_apis::Network"),
        ("pub trait Network {}", "-"),
        ("struct Network;", "-"),
        ("enum Network {}", "-"),
        ("type Network = u8;", "-"),
        ("mod Network {}", "-"),
        ("extern crate std as Network;", "-"),
        ("use std::vec::Vec as Network;", "-"),
        ("pub use other::Network;", "-"),
        ("pub use other::Net as Network;", "-"),
        ("use other::Network as _;", "my_apis::Network"),
        ("#[cfg(test)] struct Network;", "my_apis::Network"),
        ("#[cfg(not(test))] struct Network;", "-"),
        ("#[cfg(unix)] struct Network;", "-"),
        ("#[cfg(unix)] use other::Network;", "-"),
        ("make! { struct Network }", "-"),
        ("make! { struct Other }", "my_apis::Network"),
        ("macro_rules! make { () => { struct Network; } } make!();", "-"),
        ("use v1::Network;", "-"),
        ("pub(crate) use v1::Network;", "-"),
        ("pub use v1::Network;", "my_apis::Network"),
    ] {
        assert_eq!(paths(&one(&format!("pub use v1::*;\n{item}"))), [path], "{item}");
    }
}

#[test]
fn a_name_from_two_globs_is_ambiguous_unless_it_is_one_thing() {
    assert_eq!(paths(&two("", "pub use v1::*; pub use v2::*;")), ["-"]);
    assert_eq!(paths(&two("", "pub use v1::*; use v2::*; pub mod a { pub use crate::v2::*; }")), ["-"]);
    assert_eq!(
        paths(&two("pub", "pub use v1::*; pub use v2::*;")),
        ["my_apis::v1::Network", "my_apis::v2::Network"]
    );
    assert_eq!(
        paths(&two("", "pub use v1::*; pub use v2::*; pub use v1::Network; pub use v2::Network as Next;")),
        ["my_apis::Network", "my_apis::Next"]
    );
    for (root, path) in [
        ("pub use v1::*; pub use crate::v1::*;", "my_apis::Network"),
        ("use v1::*; pub use v1::*;", "my_apis::Network"),
        ("pub use v1::*; mod a { pub enum E { Network } } pub use a::E::*;", "-"),
        ("pub use v1::*; mod a { struct Network; } pub use a::*;", "my_apis::Network"),
        ("pub use v1::*; mod a { pub(super) struct Network; } pub use a::*;", "-"),
        ("pub use v1::*; #[cfg(unix)] mod a { pub struct Network; } #[cfg(unix)] pub use a::*;", "-"),
        (
            "pub use v1::*; #[cfg(test)] mod a { pub struct Network; } #[cfg(test)] pub use a::*;",
            "my_apis::Network",
        ),
        ("pub use v1::*; pub use other::*;", "my_apis::Network"),
    ] {
        assert_eq!(paths(&one(root)), [path], "{root}");
    }
}

#[test]
fn only_what_is_public_all_the_way_leads_out_of_the_crate() {
    for (root, path) in [
        ("", "-"),
        ("pub use v1::Network;", "my_apis::Network"),
        ("pub use self::v1::Network;", "my_apis::Network"),
        ("pub use crate::v1::Network;", "my_apis::Network"),
        ("pub use v1::{self as api};", "my_apis::Network"),
        ("pub use v1::Network as Renamed;", "my_apis::Renamed"),
        ("pub use v1::{Network as A, Network as B};", "my_apis::A"),
        ("pub use v1::Network as _;", "-"),
        ("pub(crate) use v1::Network;", "-"),
        ("pub(self) use v1::Network;", "-"),
        ("pub(in crate) use v1::Network;", "-"),
        ("#[cfg(test)] pub use v1::Network;", "-"),
        ("#[cfg(feature = \"x\")] pub use v1::Network;", "-"),
        ("#[cfg(not(test))] pub use v1::Network;", "my_apis::Network"),
        ("pub mod a { pub use super::v1::Network; }", "my_apis::a::Network"),
        ("pub mod a { pub mod b { pub use super::super::v1::Network; } }", "my_apis::a::b::Network"),
        ("pub mod a { pub mod b { pub use self::super::super::v1::Network; } }", "my_apis::a::b::Network"),
        ("mod a { pub use super::v1::Network; }", "-"),
        ("pub(crate) mod a { pub use super::v1::Network; }", "-"),
        ("pub mod a { pub(super) use super::v1::Network; }", "-"),
        ("pub mod a { use super::v1; pub use v1::Network; }", "my_apis::a::Network"),
        ("extern crate self as me; pub use me::v1::Network;", "my_apis::Network"),
        ("extern crate self as me; pub mod a { pub use ::me::v1::Network; }", "my_apis::a::Network"),
        ("extern crate self as me; pub mod a { pub use me::v1::*; }", "my_apis::a::Network"),
        ("pub mod a { pub extern crate self as me; } pub use v1::Network;", "my_apis::Network"),
        ("pub use a::*; mod a { pub use crate::b::*; } mod b { pub use crate::v1::*; }", "my_apis::Network"),
        (
            "pub use a::*; mod a { pub use crate::b::*; } mod b { pub use crate::{a::*, v1::*}; }",
            "my_apis::Network",
        ),
        ("pub use a::*; mod a { pub use crate::b::*; } mod b { use crate::v1::*; }", "-"),
        ("pub use a::*; mod a { pub use crate::b::*; } mod b { pub(crate) use crate::v1::*; }", "-"),
        ("mod a { pub use crate::b::X; } mod b { pub use crate::a::X; } pub use a::X as Network;", "-"),
        ("pub use x as y; pub use y as x;", "-"),
    ] {
        let root = match root.contains("as api") {
            // A module under another name is a way as well.
            true => one(root).replace("mod v1", "pub(crate) mod v1"),
            false => one(root),
        };
        let path = if root.contains("as api") { "-" } else { path };
        assert_eq!(paths(&root), [path], "{root}");
    }
    assert_eq!(paths(&one("").replace("mod v1", "pub(in crate) mod v1")), ["-"]);
    assert_eq!(paths(&one("").replace("mod v1", "pub mod v1")), ["my_apis::v1::Network"]);
    assert_eq!(paths(&one("pub use v1 as api;").replace("mod v1", "pub mod v1")), ["my_apis::v1::Network"]);
}

#[test]
fn the_place_of_the_definition_wins_then_the_shortest_path_then_the_alphabet() {
    let inner = format!("pub mod a {{ pub mod b {{ {} }} }}", network("v1"));
    assert_eq!(paths(&format!("{inner} pub use a::b as c;")), ["my_apis::a::b::Network"]);
    assert_eq!(paths(&format!("{inner} pub use a::b::Network;")), ["my_apis::a::b::Network"]);
    let hidden = inner.replace("pub mod a", "mod a");
    for (root, path) in [
        ("pub mod y { pub use crate::a::b::Network; } pub use a::b::Network as Z;", "my_apis::Z"),
        ("pub use a::b as y; pub use a::b as x;", "my_apis::x::Network"),
        ("pub use a::b::Network as Y; pub use a::b::Network as X;", "my_apis::X"),
    ] {
        assert_eq!(paths(&format!("{hidden}{root}")), [path], "{root}");
    }
}

#[test]
fn a_use_starts_at_the_root_in_the_edition_of_2015() {
    let root = format!(
        "mod v1 {{ {} }} pub mod a {{ pub use v1::Network; pub mod v1 {{ pub struct Network; }} }}",
        network("v1")
    );
    assert_eq!(paths_edition("2015", &root), ["my_apis::a::Network"]);
    assert_eq!(paths_edition("2018", &root), ["-"]);
    assert_eq!(paths_edition("2015", &one("pub mod a { pub use ::v1::Network; }")), ["my_apis::a::Network"]);
}

#[test]
fn the_types_of_methods_are_found_in_the_same_way() {
    let method = |input: &str, rest: &str| {
        let kind = format!(
            "#[derive(GenClient)] #[genclient(method(name = \"start\", verb = create, subresource = \"start\", input = {input}))] \
             pub struct Network {{ pub metadata: ObjectMeta }}"
        );
        read(&[("lib.rs", &format!("{}{kind}\n{rest}", version("v1")))])
            .map(drop)
            .map_err(|errors| errors.join("\n"))
    };
    for (input, rest) in [
        ("Opts", "pub struct Opts;"),
        ("a::Opts", "pub mod a { pub struct Opts; }"),
        ("a::r#type::Opts", "pub mod a { pub mod r#type { pub struct Opts; } }"),
        ("crate::a::Opts", "mod a { pub struct Opts; } pub use a::Opts as Options;"),
        ("kube::Opts", ""),
        ("other::r#type::Opts", ""),
        ("Opts", "use other::Opts;"),
        ("\"other::r#type::Opts\"", ""),
    ] {
        assert_eq!(method(input, rest), Ok(()), "{input} {rest}");
    }
    for (input, rest) in [
        ("Opts", ""),
        ("Opts", "struct Opts;"),
        ("Opts", "#[cfg(unix)] pub struct Opts;"),
        ("Opts", "mod a { pub struct Opts; } mod b { pub struct Opts; } pub use {a::*, b::*};"),
    ] {
        let error =
            format!("lib.rs:2: the type `{input}` cannot be found or cannot be reached from other crates");
        assert_eq!(method(input, rest), Err(error), "{input} {rest}");
    }
}

#[test]
fn a_given_path_may_not_lead_to_another_type() {
    let given = |path: &str| {
        let own = network("v1").replace("(storage)", &format!("(storage, path = {path:?})"));
        let other = network("v2").replace("(storage)", "(storage = false)");
        read(&[("lib.rs", &format!("pub mod v2 {{ {other} }}\npub mod v1 {{ {own} }}\npub use v2::*;"))])
    };
    assert_eq!(
        given("my_apis::Network"),
        Err(vec!["lib.rs:5: `my_apis::Network` leads to a different type".to_owned()])
    );
    for path in ["my_apis::v1::Network", "facade::Network", "my_apis::made_by_a_macro::Network"] {
        assert_eq!(given(path).unwrap()[0], format!("v1 Network networks namespaced {path}"));
    }
}

#[test]
fn an_import_that_cannot_be_followed_hides_a_glob() {
    for (root, path) in [
        // The compiler finds what the macro makes; the name of the glob is not what it takes.
        ("mod a { ext::make_kind!(Network); } pub use v1::*; pub use a::Network;", "-"),
        ("mod a { ext::make_kinds!(); } pub use v1::*; pub use a::Network;", "-"),
        ("mod a { ext::make_kinds!(); } pub use v1::*; use a::Other as Network;", "-"),
        (
            "mod a { ext::make_kinds!(); } pub use b::*; mod b { pub use crate::v1::*; use crate::a::Network; }",
            "-",
        ),
        ("mod a { ext::make_kinds!(); } pub use v1::*; pub use a::Other;", "my_apis::Network"),
        ("mod a { ext::make_kinds!(); } pub use v1::*; pub use a::Network as Other;", "my_apis::Network"),
        // Another way out is taken.
        (
            "mod a { ext::make_kinds!(); } pub use v1::*; pub use a::Network; pub use v1::Network as N;",
            "my_apis::N",
        ),
        // A function and a constant have a namespace of their own, and hide no type.
        ("mod a { pub fn Network() {} } pub use v1::*; pub use a::Network;", "my_apis::Network"),
        ("mod a { pub const Network: u8 = 0; } pub use v1::*; pub use a::Network;", "my_apis::Network"),
        ("mod a { pub fn Network() {} ext::make_kind!(Network); } pub use v1::*; pub use a::Network;", "-"),
        // What is resolved in a later round is resolved.
        (
            "pub use a::*; pub use v1::*; pub use a::Network; mod a { pub use crate::b::Network; } \
             mod b { pub use crate::c::Network; } mod c { pub use crate::v1::Network; }",
            "my_apis::Network",
        ),
    ] {
        assert_eq!(paths(&one(root)), [path], "{root}");
    }
}
