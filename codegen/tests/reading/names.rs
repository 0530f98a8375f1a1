//! Raw identifiers, keywords and names that Rust uses itself.

use crate::support::{kind_with, network, paths, read, version};

#[test]
fn a_raw_identifier_is_the_same_name() {
    let hidden = format!("mod r#type {{ {} }}", network("v1"));
    for (root, path) in [
        ("pub use r#type::Network;", "my_apis::Network"),
        ("pub use r#type::r#Network;", "my_apis::Network"),
        ("pub use r#type::*;", "my_apis::Network"),
        ("pub mod r#v1 { pub use crate::r#type::*; }", "my_apis::v1::Network"),
        ("pub mod r#mod { pub use crate::r#type::Network as r#fn; }", "my_apis::r#mod::r#fn"),
    ] {
        assert_eq!(paths(&format!("{hidden} {root}")), [path], "{root}");
    }
    assert_eq!(paths(&format!("pub {hidden}")), ["my_apis::r#type::Network"]);
    assert_eq!(
        read(&[("lib.rs", "pub mod r#match;"), ("match.rs", &network("v1"))]).unwrap(),
        ["v1 Network networks namespaced my_apis::r#match::Network"]
    );
    let given = kind_with("#[genclient(path = \"my_apis::r#type::Network\")]", "Network");
    assert_eq!(
        read(&[("lib.rs", &format!("mod r#type {{ {}{given} }}", version("v1")))]).unwrap(),
        ["v1 Network networks namespaced my_apis::r#type::Network"]
    );
}

#[test]
fn raw_fields_are_the_fields_of_that_name() {
    let root = format!(
        "{}#[derive(GenClient)] #[genclient(only_verbs(get, update_status))]\n\
         pub struct Network {{ pub r#metadata: ObjectMeta, pub r#status: Option<u8> }}\n\
         #[derive(GenClient)] pub struct Wrong {{ pub metadata: ObjectMeta, pub r#kind: String }}\n",
        version("v1")
    );
    assert_eq!(
        read(&[("lib.rs", &root)]).unwrap_err(),
        ["lib.rs:4: `kind` cannot be a field of the object itself"]
    );
}

#[test]
fn a_raw_derive_is_the_derive() {
    let root =
        format!("{}#[derive(r#GenClient)] pub struct Network {{ pub metadata: ObjectMeta }}", version("v1"));
    assert_eq!(read(&[("lib.rs", &root)]).unwrap().len(), 1);
}

#[test]
fn a_field_that_the_api_server_knows_has_no_alias() {
    let root = format!(
        "{}#[derive(GenClient)] pub struct Network {{ #[serde(alias = \"meta\")] pub metadata: ObjectMeta }}\n",
        version("v1")
    );
    assert_eq!(
        read(&[("lib.rs", &root)]).unwrap_err(),
        ["lib.rs:2: serde's `alias` cannot be used on `metadata`"]
    );
}
