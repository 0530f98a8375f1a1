//! What is annotated and cannot be seen is an error, also beside kinds that can.

use crate::support::{kind, network, read, version};

fn errors(items: &str) -> Vec<String> {
    read(&[("lib.rs", &format!("{}\n{items}", network("v1").replace('\n', " ")))]).err().unwrap_or_default()
}

const MACRO: &str = "lib.rs:2: annotated types that a macro defines would be missed";
const INCLUDE: &str = "lib.rs:2: annotated types behind `include!` would be missed";

#[test]
fn types_that_a_macro_defines_are_not_missed_in_silence() {
    for (items, expected) in [
        ("include!(\"types.rs\");", Some(INCLUDE)),
        ("std::include!(concat!(env!(\"OUT_DIR\"), \"/types.rs\"));", Some(INCLUDE)),
        ("#[cfg(test)] include!(\"types.rs\");", None),
        ("const TEXT: &str = include_str!(\"types.rs\");", None),
        ("fn f() { include!(\"body.rs\") }", None),
        ("kinds! { #[derive(Clone, GenClient)] pub struct A { pub metadata: ObjectMeta } }", Some(MACRO)),
        ("kinds! { #[derive(genclient_runtime::GenClient)] struct A; }", Some(MACRO)),
        ("kinds! { #[cfg_attr(all(), derive(GenClientList))] struct A; }", Some(MACRO)),
        ("kinds! { #[genclient(no_status)] struct A; }", Some(MACRO)),
        ("kinds!(GenClient, A, B);", Some(MACRO)),
        ("kinds! { A, B }", None),
        ("kinds! { \"#[derive(GenClient)]\" }", None),
        ("macro_rules! kinds { ($name:ident) => { #[derive(GenClient)] pub struct $name; } }", Some(MACRO)),
        ("macro_rules! other { ($name:ident) => { pub struct $name; } }", None),
        ("#[cfg(test)] macro_rules! kinds { () => { #[derive(GenClient)] struct A; } }", None),
        ("lazy_static! { static ref GENCLIENT: u8 = genclient; }", None),
        ("mod a { kinds! { #[derive(GenClient)] struct A; } }", Some(MACRO)),
    ] {
        assert_eq!(errors(items), Vec::from_iter(expected), "{items}");
    }
}

#[test]
fn a_derive_is_known_by_the_last_name_of_its_path() {
    let derive = |derive: &str| {
        let item = format!("#[derive({derive})] pub struct Other {{ pub metadata: ObjectMeta }}");
        read(&[("lib.rs", &format!("{}{item}", network("v1")))]).unwrap().len()
    };
    assert_eq!(derive("GenClient"), 2);
    assert_eq!(derive("Clone, ::genclient_runtime::GenClient,"), 2);
    assert_eq!(derive("rt::GenClient"), 2);
    assert_eq!(derive("other::GenClient::Foo"), 1);
    assert_eq!(derive("GenClients, OtherGenClient"), 1);
}

#[test]
fn a_derive_keeps_its_name() {
    let error =
        |name: &str| vec![format!("lib.rs:2: types that derive `{name}` under another name would be missed")];
    assert_eq!(errors("use genclient_runtime::GenClient as Kind;"), error("GenClient"));
    assert_eq!(
        errors("pub use genclient_runtime::{ObjectMeta, GenClientList as List};"),
        error("GenClientList")
    );
    for harmless in [
        "use genclient_runtime::GenClient as GenClient;",
        "use genclient_runtime::GenClient as _;",
        "use genclient_runtime as rt;",
        "#[cfg(test)] use genclient_runtime::GenClient as Kind;",
    ] {
        assert_eq!(errors(harmless), Vec::<String>::new(), "{harmless}");
    }
}

#[test]
fn an_attribute_without_its_derive_is_an_error() {
    let error = vec!["lib.rs:2: `#[genclient(…)]` needs `#[derive(GenClient)]` on the same item".to_owned()];
    for item in [
        "#[genclient(no_status)] pub struct A { pub metadata: ObjectMeta }",
        "#[derive(Clone)] #[genclient(no_status)] pub struct A { pub metadata: ObjectMeta }",
        "#[genclient] pub enum A { B }",
        "#[cfg_attr(all(), genclient(no_status))] pub struct A;",
    ] {
        assert_eq!(errors(item), error, "{item}");
    }
    for harmless in [
        "#[cfg(test)] #[genclient(no_status)] struct A;",
        "#[cfg_attr(test, genclient(no_status))] struct A;",
    ] {
        assert_eq!(errors(harmless), Vec::<String>::new(), "{harmless}");
    }
}

#[test]
fn a_type_is_either_an_object_or_a_list() {
    let error = vec!["lib.rs:2: `AList` derives both `GenClient` and `GenClientList`".to_owned()];
    for derives in [
        "#[derive(GenClient, GenClientList)]",
        "#[derive(GenClientList)] #[derive(GenClient)]",
        "#[derive(GenClientList)] #[cfg_attr(unix, derive(GenClient))]",
    ] {
        let item =
            format!("{derives} pub struct AList {{ pub metadata: ListMeta, pub items: Vec<Network> }}");
        assert_eq!(errors(&item), error, "{item}");
    }
}

#[test]
fn a_kind_in_a_function_is_not_missed_in_silence() {
    let body = "#[derive(GenClient)] pub struct A { pub metadata: ObjectMeta }";
    let error = vec!["lib.rs:2: `A` cannot be reached from other crates".to_owned()];
    for item in [
        format!("fn f() {{ {body} }}"),
        format!("const _: () = {{ {body} }};"),
        format!("impl Network {{ fn f() {{ if true {{ {body} }} }} }}"),
        format!("fn f() {{ mod m {{ {body} }} }}"),
    ] {
        assert_eq!(errors(&item), error, "{item}");
    }
    for harmless in [
        format!("#[test] fn f() {{ {body} }}"),
        format!("#[tokio::test] async fn f() {{ {body} }}"),
        format!("#[cfg(test)] fn f() {{ {body} }}"),
    ] {
        assert_eq!(errors(&harmless), Vec::<String>::new(), "{harmless}");
    }
}

#[test]
fn a_list_beside_no_kind_says_so_in_words() {
    let root = format!(
        "{}{}\n#[derive(GenClientList)] pub struct AList {{ pub metadata: ListMeta, pub items: Vec<A> }}",
        version("v1"),
        kind("Network")
    );
    assert_eq!(
        read(&[("lib.rs", &root)]).unwrap_err(),
        ["lib.rs:4: the items of `AList` are not of an annotated type in this module"]
    );
}
