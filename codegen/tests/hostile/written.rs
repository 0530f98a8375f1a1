//! Crates written by hand: each shape of source that is easy to read wrongly.

use crate::{
    kind::{Kind, VERBS},
    krate::{Crate, HEAD, kind, module},
};

/// Every crate.
pub fn crates() -> Vec<Crate> {
    let mut crates = Vec::new();
    crates.extend(shadowing());
    crates.extend(ways_out());
    crates.extend(conditions());
    crates.extend(unseen());
    crates.extend(names());
    crates.extend(files());
    crates.extend(verbs());
    crates
}

fn network() -> Kind {
    Kind::new("a.example.com/v1", "a_v1", "Network", "networks").verbs(&["get", "list"])
}

fn network2() -> Kind {
    Kind { version: "v2".into(), clients: "a_v2".into(), ..network() }
}

fn v1() -> String {
    module("a.example.com/v1", &kind("Network", "#[genclient(only_verbs(get, list))]"))
}

fn v2() -> String {
    v1().replace("/v1", "/v2")
}

/// One name for several things.
fn shadowing() -> Vec<Crate> {
    let (one, two) = (v1(), v2());
    let hidden = |root: &str| Crate::new(&format!("mod v1 {{ {one} }}\n{root}"));
    let both = |root: &str| Crate::new(&format!("mod v1 {{ {one} }}\nmod v2 {{ {two} }}\n{root}"));
    vec![
        // A type of the root and one of the same name from a glob.
        Crate::new(&format!("mod v2 {{ {two} }}\npub use v2::*;\n{one}")),
        Crate::new(&format!("mod v2 {{ {two} }}\npub use v2::*;\npub use v2::Network as Next;\n{one}"))
            .accepted([network(), network2()]),
        Crate::new(&format!("pub mod v2 {{ {two} }}\npub use v2::*;\n{one}"))
            .accepted([network(), network2()]),
        both("pub use v1::*; pub use v2::*;"),
        both("pub use v1::*; use v2::*;"),
        both("pub use v1::*; pub mod two { pub use crate::v2::*; }").accepted([network(), network2()]),
        both("pub use v1::*; pub use v2::*; pub use v1::Network; pub use v2::Network as Two;")
            .accepted([network(), network2()]),
        both("pub use v1::Network; pub use v2::*;"),
        hidden("pub use v1::*; pub struct Network;"),
        hidden("pub use v1::*; struct Network;"),
        hidden("pub use v1::*; pub trait Network {}"),
        hidden("pub use v1::*; pub type Network = u8;"),
        hidden("pub use v1::*; pub mod Network {}"),
        hidden("pub use v1::*; pub use std::vec::Vec as Network;"),
        hidden("pub use v1::*; mod a { pub enum E { Network } } pub use a::E::*;"),
        hidden("pub use v1::*; mod a { pub struct Network; } pub use a::*;"),
        hidden("pub use v1::*; macro_rules! make { ($name:ident) => { pub struct $name; } } make!(Network);"),
        hidden("pub use v1::*; #[cfg(unix)] pub struct Network;"),
        hidden("pub use v1::*; #[cfg(test)] pub struct Network;").accepted([network()]),
        hidden("pub use v1::*; pub fn Network() {}").accepted([network()]),
        hidden("pub use v1::*; mod a { struct Network; } pub use a::*;").accepted([network()]),
        hidden("pub use v1::*; pub use v1::*;").accepted([network()]),
        hidden("pub use v1::*; pub use std::collections::*;").accepted([network()]),
    ]
}

/// Re-exports, visibilities and circles.
fn ways_out() -> Vec<Crate> {
    let one = v1();
    let hidden = |root: &str| Crate::new(&format!("mod v1 {{ {one} }}\n{root}"));
    let mut crates = vec![
        hidden(""),
        hidden("#[allow(unused)] pub(crate) use v1::Network;"),
        hidden("pub mod a { #[allow(unused)] pub(super) use super::v1::Network; }"),
        hidden("pub(crate) mod a { pub use super::v1::Network; }"),
        hidden("#[cfg(test)] pub use v1::Network;"),
        hidden("#[cfg(unix)] pub use v1::Network;"),
        hidden("pub use v1::Network as _;"),
    ];
    for way in [
        "pub use v1::Network;",
        "pub use v1::Network as Renamed;",
        "pub use v1::Network as r#type;",
        "pub use self::v1::{Network as B, Network as A};",
        "#[cfg(not(test))] pub use crate::v1::Network;",
        "pub mod a { pub use super::v1::*; }",
        "pub mod a { pub mod b { pub use super::super::v1::Network; } }",
        "pub mod a { use super::v1; pub use v1::Network; }",
        "pub use a::*; mod a { pub use super::b::*; } mod b { pub use super::v1::*; }",
        "pub use a::*; mod a { pub use super::b::*; } mod b { pub use super::{a::*, v1::*}; }",
        "pub use crate::a::c as d; mod a { use super::v1 as b; pub mod c { pub use super::b::*; } }",
    ] {
        crates.push(hidden(way).accepted([network()]));
    }
    for way in [
        "extern crate self as me; pub use me::v1::Network;",
        "extern crate self as me; pub mod a { pub use ::me::v1::Network; }",
        "extern crate self as me; pub mod a { pub use me::v1::*; }",
        "mod a { pub use crate as root; } pub mod b { pub use crate::a::root::v1::Network; }",
    ] {
        crates.push(hidden(way).alone("2024").accepted([network()]));
    }
    let decoy = "pub mod a { pub use v1::Network; pub mod v1 { pub struct Network; } }";
    crates.push(hidden(decoy));
    // The derive needs the paths of later editions; its types may be used from the first.
    crates
}

/// Conditions, of which those that the generator knows are also evaluated by the compiler.
fn conditions() -> Vec<Crate> {
    let known = [
        ("test", false),
        ("not(test)", true),
        ("all()", true),
        ("any()", false),
        ("true", true),
        ("false", false),
        ("any(test, not(test))", true),
        ("all(not(test), any())", false),
        ("not(all(test, unix))", true),
        ("any(all(), feature = \"x\")", true),
        ("all(test, feature = \"x\")", false),
        ("not(any(test, all()))", false),
    ];
    let mut crates = Vec::new();
    let (mut items, mut kinds) = (String::new(), Vec::new());
    for (number, (cfg, holds)) in known.into_iter().enumerate() {
        let verbs = "#[genclient(only_verbs(get))]\n";
        // An attribute, in each of the ways to put it under a condition.
        for (form, attributes) in [
            format!("#[cfg_attr({cfg}, genclient(cluster_scoped, plural = \"nets{number}-0\"))]"),
            format!("#[cfg_attr({cfg}, allow(unused), genclient(cluster_scoped), genclient(plural = \"nets{number}-1\"))]"),
            format!("#[cfg_attr(not(test), cfg_attr({cfg}, genclient(cluster_scoped, plural = \"nets{number}-2\")))]"),
            format!("#[cfg_attr({cfg}, cfg_attr(all(), genclient(cluster_scoped, plural = \"nets{number}-3\")))]"),
        ]
        .iter()
        .enumerate()
        {
            let name = format!("Attribute{number}x{form}");
            items += &kind(&name, &format!("{verbs}{attributes}"));
            kinds.push(match holds {
                true => Kind::new("a.example.com/v1", "a_v1", &name, &format!("nets{number}-{form}"))
                    .accessor(&format!("nets{number}_{form}"))
                    .cluster()
                    .verbs(&["get"]),
                false => Kind::new("a.example.com/v1", "a_v1", &name, &format!("attribute{number}x{form}s"))
                    .verbs(&["get"]),
            });
        }
        // The kind itself, and its derive.
        let name = format!("Item{number}");
        items += &format!("#[cfg({cfg})]\n{}", kind(&name, verbs));
        let derived = format!(
            "#[cfg_attr({cfg}, derive(Clone, Debug, GenClient), genclient(no_crd, only_verbs(get)))]\n\
             pub struct Derive{number} {{ pub metadata: ObjectMeta }}\n"
        );
        items += &derived;
        if holds {
            for kind in ["Item", "Derive"] {
                let plural = format!("{}{number}s", kind.to_lowercase());
                kinds.push(
                    Kind::new("a.example.com/v1", "a_v1", &format!("{kind}{number}"), &plural)
                        .verbs(&["get"]),
                );
            }
        }
        // A status field.
        let name = format!("Field{number}");
        items += &kind(
            &name,
            "#[genclient(skip_verbs(list, watch, delete_collection, patch, apply, create))]",
        )
        .replace(
            "ObjectMeta }",
            &format!(
                "ObjectMeta, #[cfg({cfg})] pub status: Option<std::collections::BTreeMap<String, String>> }}"
            ),
        );
        let verbs: &[&str] = match holds {
            true => &["update", "update_status", "delete", "get", "apply_status"],
            false => &["update", "delete", "get"],
        };
        kinds.push(
            Kind::new("a.example.com/v1", "a_v1", &name, &format!("{}s", name.to_lowercase())).verbs(verbs),
        );
    }
    crates.push(Crate::new(&module("a.example.com/v1", &items)).accepted(kinds));
    for (cfg, holds) in known {
        let (here, there) = (v1(), v2());
        let kinds = [if holds { network() } else { network2() }];
        // A module's file, a whole module, a `group_version!` and a `use`.
        crates.push(
            Crate::new(&format!("#[cfg_attr({cfg}, path = \"one.rs\")]\npub mod v;"))
                .file("one.rs", &here)
                .file("v.rs", &there)
                .accepted(kinds.clone()),
        );
        crates.push(
            Crate::new(&format!(
                "#[cfg({cfg})] pub mod v {{ {here} }}\n#[cfg(not({cfg}))] pub mod v {{ {there} }}"
            ))
            .accepted(kinds.clone()),
        );
        let group_version = "genclient_runtime::group_version!(\"a.example.com/v1\");\n";
        crates.push(
            Crate::new(&here.replace(
                group_version,
                &format!(
                    "#[cfg({cfg})] {group_version}#[cfg(not({cfg}))] {}",
                    group_version.replace("v1", "v2")
                ),
            ))
            .accepted(kinds.clone()),
        );
        let uses = Crate::new(&format!("mod v1 {{ {here} }}\n#[cfg({cfg})] pub use v1::Network;"));
        crates.push(if holds { uses.accepted(kinds) } else { uses });
    }
    for cfg in ["unix", "feature = \"x\"", "not(feature = \"x\")", "any(test, target_os = \"linux\")"] {
        for item in [
            format!("#[cfg({cfg})]\n{}", kind("Network", "")),
            kind("Network", &format!("#[cfg_attr({cfg}, genclient(cluster_scoped))]")),
            kind("Network", "")
                .replace("pub metadata", &format!("#[cfg({cfg})] pub status: Option<u8>, pub metadata")),
            kind("Network", "")
                .replace("derive(", &format!("cfg_attr({cfg}, derive("))
                .replace("t)]\n", "t))]\n"),
        ] {
            crates.push(Crate::new(&module("a.example.com/v1", &item)));
        }
    }
    crates
}

/// Kinds that the generator cannot see, beside one that it can.
fn unseen() -> Vec<Crate> {
    let hidden = "#[derive(Clone, Debug, GenClient)] pub struct Other { pub metadata: ObjectMeta }";
    [
        "include!(\"other.rs\");".to_owned(),
        format!("macro_rules! make {{ () => {{ {hidden} }} }} make!();"),
        format!("genclient_runtime::kube::identity! {{ {hidden} }}"),
        format!("fn f() {{ {hidden} }}"),
        "use genclient_runtime::GenClient as Kind; #[derive(Clone, Debug, Kind)] pub struct Other { pub metadata: ObjectMeta }".to_owned(),
        "#[genclient(no_status)] pub struct Other { pub metadata: ObjectMeta }".to_owned(),
        "#[derive(Clone, Debug, GenClient, GenClientList)] pub struct NetworkList { pub metadata: ListMeta, pub items: Vec<Network> }".to_owned(),
    ]
    .iter()
    .map(|item| Crate::new(&format!("{}{item}", v1())).file("other.rs", hidden))
    .collect()
}

/// Raw identifiers, keywords, and names that Rust or the generated code use themselves.
fn names() -> Vec<Crate> {
    let mut crates = Vec::new();
    let items = v1();
    for root in [
        format!("pub mod r#type {{ {items} }}"),
        format!("mod r#type {{ {items} }} pub use r#type::Network;"),
        format!("mod r#type {{ {items} }} pub mod r#gen {{ pub use super::r#type::*; }}"),
        format!("pub mod std {{ {items} }}"),
        format!("pub mod genclient {{ {items} }}"),
    ] {
        crates.push(Crate::new(&root).accepted([network()]));
    }
    crates.push(Crate::new("pub mod r#match;").file("match.rs", &items).accepted([network()]));
    let given = |path: &str| items.replace("no_crd", &format!("no_crd, path = {path:?}"));
    crates.push(
        Crate::new(&format!("pub mod r#type {{ {} }}", given("{crate}::r#type::Network")))
            .accepted([network()]),
    );
    crates.push(Crate::new(&format!(
        "pub mod a {{ {} }} pub mod b {{ pub struct Network; }}",
        given("{crate}::b::Network")
    )));
    let methods = kind(
        "Network",
        "#[genclient(no_verbs, method(name = \"r#match\", verb = get, subresource = \"match\"), \
         method(name = \"start\", verb = create, subresource = \"start\", input = other::r#type::Opts))]",
    );
    let opts = "pub mod other { pub mod r#type { pub use crate::Network as Opts; } }";
    crates.push(Crate::new(&format!("{}{opts}", module("a.example.com/v1", &methods))).accepted([
        network().verbs(&[]).method("r#match", "get", "match").method("start", "create", "start"),
    ]));
    crates.push(
        Crate::new(&format!(
            "{HEAD}genclient_runtime::group_version!(\"a.example.com/v1\");\n\
             #[derive(Clone, Debug, GenClient)] #[genclient(no_crd, only_verbs(get, update_status))]\n\
             pub struct Network {{ pub metadata: ObjectMeta, pub r#status: Option<std::collections::BTreeMap<String, String>> }}"
        ))
        .accepted([network().verbs(&["update_status", "get"])]),
    );
    for (group_version, clients) in [
        ("gen.example.com/gen", "gen_gen_"),
        ("type.example.com/type", "type_type_"),
        ("try.example.com/async", "try_async_"),
        ("self.example.com/self", "self_self_"),
        ("super.example.com/crate", "super_crate_"),
        ("crate.example.com/super", "crate_super_"),
        ("a.example.com/new", "a_new_"),
        ("new.example.com/new", "new_new_"),
        ("client.example.com/client", "client_client_"),
        ("try-default.example.com/v1", "try_default_v1"),
        ("std.example.com/std", "std_std_"),
        ("a.example.com/core", "a_core_"),
        ("core.example.com/alloc", "core_alloc_"),
        ("genclient-runtime.example.com/genclient-runtime", "genclient_runtime_genclient_runtime_"),
        ("clone.example.com/clone", "clone_clone_"),
        ("typed.example.com/listers", "typed_listers"),
        ("3d.example.com/v1", "group_3d_v1"),
        ("a-b.example.com/v1-c", "a_b_v1_c"),
        ("v1", "core_v1"),
        ("self", "core_self_"),
    ] {
        let items = module(group_version, &kind("Network", "#[genclient(only_verbs(get, list, watch))]"));
        let kind = Kind::new(group_version, clients, "Network", "networks").verbs(&["get", "list", "watch"]);
        crates.push(Crate::new(&items).accepted([kind]));
    }
    for group in ["start", "builder", "shutdown", "factory", "generic", "for-resource"] {
        let group_version = format!("{group}.example.com/v1");
        crates.push(Crate::new(&module(&group_version, &kind("Network", ""))));
    }
    let (mut items, mut kinds) = (String::new(), Vec::new());
    for (name, plural, accessor) in [
        ("Gen", "gens", "gens"),
        ("Type", "types", "types"),
        ("Async", "asyncs", "asyncs"),
        ("Std", "stds", "stds"),
        ("Core", "cores", "cores"),
        ("Crate", "crates", "crates"),
        ("Super", "supers", "supers"),
        ("GenclientRuntime", "genclientruntimes", "genclient_runtimes"),
        ("Client", "clients", "clients"),
        ("Api", "apis", "apis"),
        ("ObjectList", "objectlists", "object_lists"),
        ("TypedClient", "typedclients", "typed_clients"),
        ("V1", "v1s", "v1s"),
        ("A1", "a1s", "a1s"),
        ("HTTPRoute", "httproutes", "http_routes"),
    ] {
        items += &kind(name, "#[genclient(only_verbs(get, list, watch))]");
        kinds.push(
            Kind::new("a.example.com/v1", "a_v1", name, plural)
                .accessor(accessor)
                .verbs(&["get", "list", "watch"]),
        );
    }
    crates.push(Crate::new(&module("a.example.com/v1", &items)).accepted(kinds));
    crates
}

/// Where the files of modules are.
fn files() -> Vec<Crate> {
    let items = v1();
    let mut crates: Vec<_> = [
        (&[("lib.rs", "pub mod a;")][..], "a/mod.rs"),
        (&[("lib.rs", "pub mod a;"), ("a.rs", "pub mod b { pub mod c; }")], "a/b/c.rs"),
        (&[("lib.rs", "#[path = \"x/y.rs\"] pub mod a;"), ("x/y.rs", "pub mod b;")], "x/b.rs"),
        (&[("lib.rs", "pub mod a;"), ("a.rs", "#[path = \"x.rs\"] pub mod b;")], "x.rs"),
        (&[("lib.rs", "pub mod a;"), ("a.rs", "pub mod b { #[path = \"x.rs\"] pub mod c; }")], "a/b/x.rs"),
        (&[("lib.rs", "pub mod a;"), ("a.rs", "#[path = \"dir\"] pub mod b { pub mod c; }")], "dir/c.rs"),
        (&[("lib.rs", "pub mod lib { #[path = \"x.rs\"] pub mod b; }")], "lib/x.rs"),
    ]
    .iter()
    .map(|(files, file)| {
        let (_, root) = files[0];
        let krate = files[1..].iter().fold(Crate::new(root), |krate, (path, text)| krate.file(path, text));
        krate.file(file, &items).accepted([network()])
    })
    .collect();
    crates.push(
        Crate::new("#[cfg(unix)] #[path = \"sys.rs\"] mod a;\n#[cfg(windows)] #[path = \"sys.rs\"] mod b;\npub mod v1;")
            .file("sys.rs", "")
            .file("v1.rs", &items)
            .accepted([network()]),
    );
    let shared = items.replace("(\"a.example.com/v1\")", "(super)");
    crates.push(
        Crate::new(&format!(
            "{0} {1}",
            "pub mod one { genclient_runtime::group_version!(\"a.example.com/v1\"); #[path = \"../shared.rs\"] pub mod kinds; }",
            "pub mod two { genclient_runtime::group_version!(\"a.example.com/v2\"); #[path = \"../shared.rs\"] pub mod kinds; }"
        ))
        .file("shared.rs", &shared)
        .file("one/keep.rs", "")
        .file("two/keep.rs", "")
        .accepted([network(), network2()]),
    );
    crates.push(
        Crate::new("#[cfg(feature = \"future\")] mod future;\npub mod v1;")
            .file("future.rs", "pub struct {")
            .file("v1.rs", &items)
            .accepted([network()]),
    );
    crates.push(Crate::new("mod a;").file("a.rs", "#[path = \"a.rs\"] mod b;"));
    crates.push(Crate::new(&format!("\u{feff}{}", items.replace('\n', "\r\n"))).accepted([network()]));
    crates.push(Crate::new(&format!("#!/usr/bin/env run\n{items}")).alone("2024").accepted([network()]));
    crates
}

/// What the attributes leave of a client.
fn verbs() -> Vec<Crate> {
    let status = |attributes: &str| {
        kind("Network", attributes).replace(
            "ObjectMeta }",
            "ObjectMeta, pub status: Option<std::collections::BTreeMap<String, String>> }",
        )
    };
    let krate = |items: String, kind: Kind| Crate::new(&module("a.example.com/v1", &items)).accepted([kind]);
    let plain = Kind::new("a.example.com/v1", "a_v1", "Network", "networks");
    let old = "#[deprecated(note = \"old\")] #[genclient(only_verbs(get, list))]";
    let mut crates = vec![
        krate(kind("Network", ""), plain.clone()),
        krate(kind("Network", old), plain.clone().verbs(&["get", "list"])),
        krate(kind("Network", "#[genclient(cluster_scoped)]"), plain.clone().cluster()),
        krate(status(""), plain.clone().verbs(VERBS)),
        krate(status("#[genclient(cluster_scoped)]"), plain.clone().cluster().verbs(VERBS)),
        krate(status("#[genclient(no_status)]"), plain.clone()),
        krate(status("#[genclient(readonly)]"), plain.clone().verbs(&["get", "list", "watch"])),
        krate(kind("Network", "#[genclient(no_verbs)]"), plain.clone().verbs(&[])),
        krate(
            kind("Network", "#[genclient(plural = \"net-works\")]"),
            Kind { plural: "net-works".into(), ..plain.clone().accessor("net_works") },
        ),
        krate(
            kind(
                "Network",
                "#[genclient(no_verbs, method(name = \"scale\", verb = get, subresource = \"scale\"), \
                 method(name = \"rescale\", verb = update, subresource = \"scale\"))]",
            ),
            plain.clone().verbs(&[]).method("scale", "get", "scale").method("rescale", "update", "scale"),
        ),
    ];
    for verb in VERBS.iter().filter(|verb| !verb.ends_with("status")) {
        let items = kind("Network", &format!("#[genclient(only_verbs({verb}))]"));
        crates.push(krate(items, plain.clone().verbs(&[verb])));
    }
    crates
}
