//! Structs with kube's `#[derive(CustomResource)]` are read as kube reads them.

use crate::support::{kind, network, read, version};

/// A spec with these keys in its `#[kube(…)]`.
fn spec(keys: &str) -> String {
    format!("#[derive(CustomResource)] #[kube({keys})] pub struct FooSpec {{}}\n")
}

const FOO: &str = "group = \"example.com\", version = \"v1\", kind = \"Foo\"";

#[test]
fn every_key_of_kube_has_its_meaning() {
    for (keys, expected) in [
        ("", "v1 Foo foos cluster my_apis::Foo"),
        ("namespaced", "v1 Foo foos namespaced my_apis::Foo"),
        ("namespaced = false", "v1 Foo foos cluster my_apis::Foo"),
        ("plural = \"fooz\"", "v1 Foo fooz cluster my_apis::Foo"),
        ("singular = \"fox\"", "v1 Foo foxes cluster my_apis::Foo"),
        ("root = \"FooCrd\"", "v1 Foo foos cluster my_apis::FooCrd"),
        ("struct = \"FooCrd\"", "v1 Foo foos cluster my_apis::FooCrd"),
        (
            "status = \"FooStatus\", shortname = \"f\", category = \"all\", scale = r#\"{}\"#, derive = \"Default\", \
             crates(kube_core = \"kube::core\"), printcolumn(name = \"A\", type_ = \"string\", json_path = \".a\"), \
             selectable = \".spec.a\", annotation(\"a\", \"b\"), label(\"c\", \"d\"), validation = \"true\", \
             storage = false, served = false, deprecated, attr = \"allow(x)\", schema = \"manual\", no_spec, cel, \
             doc = \"text\"",
            "v1 Foo foos cluster my_apis::Foo",
        ),
    ] {
        let root = spec(&format!("{FOO}, {keys}"));
        assert_eq!(read(&[("lib.rs", &root)]), Ok(vec![expected.to_owned()]), "{keys}");
    }
}

#[test]
fn the_struct_that_kube_writes_is_found_where_it_is_exported() {
    let module = format!("mod v1 {{ {} }}\n", spec(FOO));
    for (exports, expected) in [
        ("pub use v1::Foo;", "my_apis::Foo"),
        ("pub use v1::*;", "my_apis::Foo"),
        ("pub use v1::Foo as Bar;", "my_apis::Bar"),
        ("pub mod a { pub use super::v1::{Foo, FooSpec}; }", "my_apis::a::Foo"),
    ] {
        let root = format!("{module}{exports}");
        assert_eq!(
            read(&[("lib.rs", &root)]),
            Ok(vec![format!("v1 Foo foos cluster {expected}")]),
            "{exports}"
        );
    }
    // It is as visible as the spec, which alone is not enough.
    assert_eq!(
        read(&[("lib.rs", &format!("{module}pub use v1::FooSpec;"))]),
        Err(vec!["lib.rs:1: `Foo` cannot be reached from other crates".to_owned()])
    );
}

#[test]
fn attributes_may_be_many_and_conditional() {
    let root = "#[derive(Clone, kube::CustomResource)]\n#[kube(group = \"example.com\", version = \"v1\")]\n\
                #[cfg_attr(not(test), kube(kind = \"Foo\"))]\n#[kube(namespaced)]\npub struct FooSpec {\n\
                #[cfg(unix)] pub status: u8 }";
    assert_eq!(read(&[("lib.rs", root)]), Ok(vec!["v1 Foo foos namespaced my_apis::Foo".to_owned()]));
    let root = root.replace("not(test)", "unix");
    assert_eq!(
        read(&[("lib.rs", &root)]),
        Err(vec![
            "lib.rs:3: `FooSpec` depends on a condition that only the compiler can evaluate".to_owned()
        ])
    );
}

#[test]
fn what_is_missing_or_misspelt_is_told_once() {
    for (keys, expected) in [
        ("version = \"v1\", kind = \"Foo\"", "lib.rs:1: `#[kube(…)]` on `FooSpec` needs `group`"),
        ("grop = \"example.com\", version = \"v1\", kind = \"Foo\"", "lib.rs:1: `#[kube(…)]` has no `grop`"),
        (
            "group = \"a_b\", version = \"v1\", kind = \"Foo\"",
            "lib.rs:1: `a_b` is not a valid API group: in `a_b`, `_` is not a lower-case letter, a digit or `-`",
        ),
        (
            "group = \"a.b\", version = \"1\", kind = \"Foo\"",
            "lib.rs:1: `1` is not a valid API version: it must start with a letter",
        ),
        ("group = \"a.b\", version = \"v1\", kind = \"foo\"", "lib.rs:1: `foo` is not a valid kind"),
    ] {
        assert_eq!(read(&[("lib.rs", &spec(keys))]), Err(vec![expected.to_owned()]), "{keys}");
    }
    let root = "#[derive(CustomResource)] pub struct FooSpec {}";
    assert_eq!(read(&[("lib.rs", root)]).unwrap_err().len(), 3);
}

#[test]
fn genclient_adds_what_kube_cannot_say() {
    let root = |attribute: &str| {
        format!(
            "#[derive(CustomResource, GenClientOptions)]\n#[kube({FOO}, status = \"S\")]\n#[genclient({attribute})]\n\
             pub struct FooSpec {{}}\n"
        )
    };
    assert!(read(&[("lib.rs", &root("only_verbs(get, update_status)"))]).is_ok());
    assert_eq!(
        read(&[("lib.rs", &root("shortname = \"f\""))]),
        Err(vec!["lib.rs:3: `shortname` has no meaning beside `#[kube(…)]`".to_owned()])
    );
    assert_eq!(
        read(&[("lib.rs", &root("only_verbs(gte)"))]),
        Err(vec!["lib.rs:3: unknown verb `gte`".to_owned()])
    );
}

#[test]
fn both_front_ends_meet_in_one_client() {
    let root = format!("pub mod ours {{ {} }}\npub mod theirs {{ {} }}\n", network("v1"), spec(FOO));
    assert_eq!(
        read(&[("lib.rs", &root)]),
        Ok(vec![
            "v1 Foo foos cluster my_apis::theirs::Foo".to_owned(),
            "v1 Network networks namespaced my_apis::ours::Network".to_owned(),
        ])
    );
    // One kind in both is one too many.
    let root =
        format!("pub mod ours {{ {}{} }}\npub mod theirs {{ {} }}\n", version("v1"), kind("Foo"), spec(FOO));
    assert_eq!(
        read(&[("lib.rs", &root)]).unwrap_err(),
        [
            "lib.rs:4: `Foo` is defined twice in `example.com/v1`",
            "lib.rs:4: the versions of `Foo` differ in their scope: `Namespaced` and `Cluster`"
        ][..1]
    );
    let root = format!("#[derive(GenClient)]{}", spec(FOO));
    assert_eq!(
        read(&[("lib.rs", &root)]),
        Err(vec!["lib.rs:1: `FooSpec` derives both `GenClient` and `CustomResource`".to_owned()])
    );
}
