//! Conditions: what is for tests is skipped, what holds is read, and what is not known is refused.

use crate::support::{kind, kind_with, network, read, version};

const UNKNOWN: &str = "depends on a condition that only the compiler can evaluate";

/// Conditions with what is known of them.
const CONDITIONS: &[(&str, Option<bool>)] = &[
    ("test", Some(false)),
    ("not(test)", Some(true)),
    ("all()", Some(true)),
    ("any()", Some(false)),
    ("true", Some(true)),
    ("false", Some(false)),
    ("any(test, not(test))", Some(true)),
    ("all(not(test), any())", Some(false)),
    ("not(all(test, unix))", Some(true)),
    ("all(test, feature = \"x\")", Some(false)),
    ("unix", None),
    ("feature = \"x\"", None),
    ("not(feature = \"x\")", None),
    ("any(test, target_os = \"linux\")", None),
];

/// One kind that is always there, so that finding no other is not an error.
fn around(items: &str) -> String {
    format!("{}{}{items}", version("v1"), kind("Always"))
}

const ALWAYS: &str = "v1 Always always namespaced my_apis::Always";

/// A source for a condition, and what is read of it if the condition holds.
type Form = (fn(&str) -> String, &'static str);

#[test]
fn an_item_a_module_and_a_derive_are_there_if_their_condition_holds() {
    let present = "v1 Network networks namespaced my_apis::Network";
    let forms: [Form; 5] = [
        (|cfg| kind_with(&format!("#[cfg({cfg})]"), "Network"), present),
        (|cfg| kind_with(&format!("#[cfg_attr(all(), cfg({cfg}))]"), "Network"), present),
        (
            |cfg| {
                format!(
                    "#[cfg_attr({cfg}, derive(GenClient))] pub struct Network {{ pub metadata: ObjectMeta }}"
                )
            },
            present,
        ),
        (
            |cfg| format!("#[cfg({cfg})] pub mod a {{ group_version!(super); {} }}", kind("Network")),
            "v1 Network networks namespaced my_apis::a::Network",
        ),
        (
            |cfg| format!("pub mod a {{ #![cfg({cfg})] group_version!(super); {} }}", kind("Network")),
            "v1 Network networks namespaced my_apis::a::Network",
        ),
    ];
    for (form, present) in forms {
        for (cfg, known) in CONDITIONS {
            let root = around(&form(cfg));
            match (known, read(&[("lib.rs", &root)])) {
                (Some(true), kinds) => assert_eq!(kinds.unwrap(), [ALWAYS, present], "{root}"),
                (Some(false), kinds) => assert_eq!(kinds.unwrap(), [ALWAYS], "{root}"),
                (None, kinds) => {
                    assert_eq!(kinds.unwrap_err(), [format!("lib.rs:3: `Network` {UNKNOWN}")], "{root}");
                }
            }
        }
    }
}

#[test]
fn an_attribute_counts_if_its_condition_holds() {
    for (cfg, known) in CONDITIONS {
        for attribute in [
            format!("#[cfg_attr({cfg}, genclient(cluster_scoped, plural = \"nets\"))]"),
            format!(
                "#[cfg_attr({cfg}, doc = \"A\", genclient(cluster_scoped), genclient(plural = \"nets\"))]"
            ),
            format!("#[cfg_attr(not(test), cfg_attr({cfg}, genclient(cluster_scoped, plural = \"nets\")))]"),
            format!("#[cfg_attr({cfg}, cfg_attr(all(), genclient(cluster_scoped, plural = \"nets\")))]"),
        ] {
            let root = around(&kind_with(&attribute, "Network"));
            match (known, read(&[("lib.rs", &root)])) {
                (Some(true), kinds) => {
                    assert_eq!(kinds.unwrap()[1], "v1 Network nets cluster my_apis::Network", "{root}");
                }
                (Some(false), kinds) => {
                    assert_eq!(
                        kinds.unwrap()[1],
                        "v1 Network networks namespaced my_apis::Network",
                        "{root}"
                    );
                }
                (None, kinds) => {
                    assert_eq!(kinds.unwrap_err(), [format!("lib.rs:3: `Network` {UNKNOWN}")], "{root}");
                }
            }
        }
    }
}

#[test]
fn a_field_counts_if_its_condition_holds() {
    for (cfg, known) in CONDITIONS {
        let kind = |field: &str, verbs: &str| {
            around(&format!(
                "#[derive(GenClient)] #[genclient({verbs})] pub struct Network {{ pub metadata: ObjectMeta, #[cfg({cfg})] pub {field} }}"
            ))
        };
        let status = kind("status: Option<u8>", "only_verbs(get, update_status)");
        match (known, read(&[("lib.rs", &status)])) {
            (Some(true), kinds) => assert_eq!(kinds.unwrap().len(), 2, "{status}"),
            (Some(false), kinds) => assert_eq!(
                kinds.unwrap_err(),
                ["lib.rs:3: `update_status` needs a status, and the struct has no `status` field"],
                "{status}"
            ),
            (None, kinds) => {
                assert_eq!(kinds.unwrap_err(), [format!("lib.rs:3: `Network` {UNKNOWN}")], "{status}");
            }
        }
        // Nothing that is generated depends on any other field.
        let spec = kind("spec: u8", "");
        assert_eq!(read(&[("lib.rs", &spec)]).unwrap().len(), 2, "{spec}");
    }
}

#[test]
fn a_group_version_counts_if_its_condition_holds() {
    let root = |first: &str, second: &str| {
        format!(
            "#[cfg({first})] group_version!(\"example.com/v1\");\n#[cfg({second})] group_version!(\"example.com/v2\");\n{}",
            kind("Network")
        )
    };
    let read = |first: &str, second: &str| read(&[("lib.rs", &root(first, second))]);
    assert_eq!(read("test", "not(test)").unwrap(), ["v2 Network networks namespaced my_apis::Network"]);
    assert_eq!(read("not(test)", "test").unwrap(), ["v1 Network networks namespaced my_apis::Network"]);
    assert_eq!(read("test", "test").unwrap_err(), ["lib.rs:3: this module has no `group_version!`"]);
    assert_eq!(read("all()", "all()").unwrap_err(), ["lib.rs:2: this module has a `group_version!` already"]);
    assert_eq!(read("unix", "test").unwrap_err(), [format!("lib.rs:1: `group_version!` {UNKNOWN}")]);
}

#[test]
fn a_path_counts_if_its_condition_holds() {
    for (cfg, known) in CONDITIONS {
        let root = format!("#[cfg_attr({cfg}, path = \"a.rs\")]\npub mod v;\n");
        let found = read(&[("lib.rs", &root), ("a.rs", &network("v1")), ("v.rs", &network("v2"))]);
        match known {
            Some(true) => assert_eq!(found.unwrap(), ["v1 Network networks namespaced my_apis::v::Network"]),
            Some(false) => assert_eq!(found.unwrap(), ["v2 Network networks namespaced my_apis::v::Network"]),
            None => assert_eq!(
                found.unwrap_err(),
                [format!("lib.rs:1: `Network` {UNKNOWN}")],
                "both files are looked at, and told of once"
            ),
        }
    }
    // A module for one platform or another that holds no kind is nobody's business.
    let root = format!(
        "{}#[cfg_attr(unix, path = \"unix.rs\")]\n#[cfg_attr(windows, path = \"windows.rs\")]\nmod sys;\n",
        network("v1")
    );
    assert!(
        read(&[("lib.rs", &root), ("unix.rs", "pub fn f() {}"), ("windows.rs", "pub fn f() {}")]).is_ok()
    );
}
