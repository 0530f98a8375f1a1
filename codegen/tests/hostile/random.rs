//! Random crates, the same for the same seed: modules in all layouts, kinds of all names in them, ways
//! out of the crate, and things in the way.
//!
//! Each compiles by itself. Whether a kind can be reached is the compiler's to say, and not known here.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    kind::{Kind, VERBS},
    krate::{Crate, HEAD, Verdict},
};

/// Groups, and what the clientset calls them.
const GROUPS: &[(&str, &str)] = &[
    ("net.example.com", "net"),
    ("type.example.com", "type"),
    ("gen.example.com", "gen"),
    ("3d.example.com", "group_3d"),
    ("a-b.example.com", "a_b"),
    ("std.example.com", "std"),
    ("self.example.com", "self"),
    ("new.example.com", "new"),
    ("client.example.com", "client"),
    ("", "core"),
];

/// Versions, and what the clientset calls them.
const VERSIONS: &[(&str, &str)] = &[
    ("v1", "v1"),
    ("v1", "v1"),
    ("v2beta1", "v2beta1"),
    ("new", "new_"),
    ("std", "std_"),
    ("self", "self_"),
    ("crate", "crate_"),
    ("gen", "gen_"),
    ("a-b", "a_b"),
    ("try", "try_"),
];

/// Kinds, their plurals and their accessors.
const KINDS: &[(&str, &str, &str)] = &[
    ("Network", "networks", "networks"),
    ("Type", "types", "types"),
    ("Gen", "gens", "gens"),
    ("Std", "stds", "stds"),
    ("Box", "boxes", "boxes"),
    ("Policy", "policies", "policies"),
    ("HTTPRoute", "httproutes", "http_routes"),
    ("NetworkPolicy", "networkpolicies", "network_policies"),
    ("Client", "clients", "clients"),
    ("Api", "apis", "apis"),
    ("V1", "v1s", "v1s"),
    (
        "A0123456789012345678901234567890123456789012345678",
        "a0123456789012345678901234567890123456789012345678s",
        "a0123456789012345678901234567890123456789012345678s",
    ),
];

const MODULES: &[&str] = &["v1", "v2", "api", "r#type", "r#mod", "r#gen", "inner", "client", "new"];

/// A generator of numbers (splitmix64).
struct Random(u64);

impl Random {
    fn number(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % below as u64).unwrap()
    }

    fn one_in(&mut self, cases: usize) -> bool {
        self.number(cases) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.number(from.len())]
    }
}

/// How a module is written.
#[derive(Clone, Copy)]
enum Layout {
    Inline,
    File,
    ModRs,
    Path,
    InlinePath,
}

struct Module {
    name: String,
    visibility: &'static str,
    layout: Layout,
    attributes: String,
    items: String,
    children: Vec<Module>,
}

/// A module with kinds.
struct Home {
    /// The names from the root to the module.
    path: Vec<String>,
    /// Whether the last of them is declared `pub`.
    public: bool,
    kinds: Vec<&'static str>,
}

pub fn krate(seed: u64) -> Crate {
    let mut random = Random(seed);
    let mut kinds = Vec::new();
    let mut homes = Vec::new();
    let mut modules: Vec<Module> = Vec::new();
    // Few names for many kinds, so that they meet.
    let names: Vec<_> = (0..2).map(|_| random.pick(KINDS)).collect();
    let group = random.pick(GROUPS);
    for _ in 0..1 + random.number(3) {
        let name = random.pick(MODULES);
        if modules.iter().any(|module| module.name == name) {
            continue;
        }
        let group = if random.one_in(4) { group } else { random.pick(GROUPS) };
        let version = random.pick(VERSIONS);
        let mut top = module(&mut random, name, &["pub", "pub", "pub", "", "pub(crate)"]);
        let group_version = match group.0 {
            "" => version.0.to_owned(),
            group => format!("{group}/{}", version.0),
        };
        // A version's module is not called like its group's.
        let clients = match group.1 == version.1 {
            true => format!("{}_{}_", group.1, version.1),
            false => format!("{}_{}", group.1, version.1),
        };
        let head = format!("genclient_runtime::group_version!({group_version:?});\n");
        let mut home =
            Home { path: vec![name.to_owned()], public: top.visibility == "pub", kinds: Vec::new() };
        let mut items = String::from(HEAD);
        let deep = random.one_in(2);
        let share = random.one_in(3);
        match (deep, share) {
            (true, true) => {
                top.items = head;
                items += "genclient_runtime::group_version!(super);\n";
            }
            _ => items += &head,
        }
        for (name, plural, accessor) in &names {
            if !home.kinds.is_empty() && random.one_in(2) || home.kinds.contains(name) {
                continue;
            }
            let kind = Kind::new(&group_version, &clients, name, plural);
            items += &write_kind(&mut random, &mut kinds, kind.accessor(accessor));
            home.kinds.push(name);
        }
        match deep {
            true => {
                let mut inner = module(&mut random, "deep", &["pub", "pub", "pub(crate)"]);
                inner.items = items;
                home.path.push("deep".to_owned());
                home.public = inner.visibility == "pub";
                top.children.push(inner);
            }
            false => top.items = items,
        }
        homes.push(home);
        modules.push(top);
    }
    let mut root = exports(&mut random, &homes);
    for (number, home) in homes.iter().enumerate().filter(|_| random.one_in(2)) {
        root += &format!("pub mod way{number} {{ pub use crate::{}::*; }}\n", home.path.join("::"));
    }
    let mut files = BTreeMap::new();
    for module in &modules {
        write(module, "", None, &mut root, &mut files);
    }
    files.insert("lib.rs".to_owned(), root);
    Crate { files, kinds, verdict: Verdict::Either, ..Crate::new("") }
}

fn module(random: &mut Random, name: &str, visibilities: &[&'static str]) -> Module {
    use Layout::{File, Inline, InlinePath, ModRs, Path};
    Module {
        name: name.to_owned(),
        visibility: random.pick(visibilities),
        layout: random.pick(&[Inline, File, ModRs, Path, InlinePath]),
        attributes: random.pick(&["", "", "#[cfg(not(test))] ", "#[cfg_attr(test, cfg(any()))] "]).to_owned(),
        items: String::new(),
        children: Vec::new(),
    }
}

/// A kind with random attributes, added to those that the crate has.
fn write_kind(random: &mut Random, kinds: &mut Vec<Kind>, mut kind: Kind) -> String {
    let mut words = vec!["no_crd".to_owned()];
    let mut attributes = String::new();
    if random.one_in(3) {
        kind.namespaced = false;
        match random.one_in(2) {
            true => words.push("cluster_scoped".to_owned()),
            false => attributes += "#[cfg_attr(not(test), genclient(cluster_scoped))]\n",
        }
    }
    if random.one_in(6) {
        attributes += "#[cfg_attr(any(test, false), genclient(cluster_scoped, plural = \"decoys\"))]\n";
    }
    if random.one_in(4) {
        kind.plural = format!("x-{}", kind.plural);
        kind.accessor = kind.plural.replace('-', "_");
        words.push(format!("plural = {:?}", kind.plural));
    }
    let (status, field) = random.pick(&[
        (false, ""),
        (false, "#[cfg(test)] pub status: ::core::option::Option<::std::collections::BTreeMap<u8, u8>>,"),
        (true, "pub status: ::core::option::Option<::std::collections::BTreeMap<u8, u8>>,"),
        (true, "#[cfg(all())] pub status: ::core::option::Option<::std::collections::BTreeMap<u8, u8>>,"),
    ]);
    let possible: Vec<_> = VERBS.iter().copied().filter(|verb| status || !verb.ends_with("status")).collect();
    kind.verbs = match random.number(5) {
        0 => possible.clone(),
        1 => {
            words.push("readonly".to_owned());
            vec!["get", "list", "watch"]
        }
        2 => {
            let skipped = random.pick(&possible);
            words.push(format!("skip_verbs({skipped})"));
            possible.iter().copied().filter(|verb| *verb != skipped).collect()
        }
        _ => {
            let mut only: BTreeSet<_> = (0..3).map(|_| random.number(possible.len())).collect();
            only.insert(random.number(possible.len()));
            let only: Vec<_> = only.into_iter().map(|verb| possible[verb]).collect();
            words.push(format!("only_verbs({})", only.join(", ")));
            only
        }
    };
    if random.one_in(4) {
        words.push("method(name = \"r#in\", verb = get, subresource = \"in\")".to_owned());
        kind = kind.method("r#in", "get", "in");
    }
    let text = format!(
        "#[derive(Clone, Debug, GenClient)]\n#[genclient({})]\n{attributes}pub struct {} {{ pub metadata: ObjectMeta, {field} }}\n",
        words.join(", "),
        kind.kind
    );
    kinds.push(kind);
    text
}

/// Ways out of the crate, and things that stand in them, as items of the root.
fn exports(random: &mut Random, homes: &[Home]) -> String {
    let mut root = String::new();
    let mut taken = BTreeSet::new();
    for number in 0..1 + random.number(5) {
        let home = &homes[random.number(homes.len())];
        let name = random.pick(&home.kinds);
        let path = home.path.join("::");
        let path = format!("{}{path}", random.pick(&["", "self::", "crate::"]));
        let absolute = format!("crate::{}", home.path.join("::"));
        let mut explicit = |text: String| if taken.insert(name) { text } else { String::new() };
        root += &match random.number(17) {
            0..=3 => format!("pub use {path}::*;"),
            4 => explicit(format!("pub use {path}::{name};")),
            5 => format!("pub use {path}::{name} as Renamed{number};"),
            6 => format!("use {path}::*;"),
            7 if home.public => format!("pub use {path} as alias{number};"),
            7 | 8 => format!("pub mod prelude{number} {{ pub use {absolute}::*; }}"),
            9 => format!("#[cfg(test)] pub use {path}::*;"),
            10 => format!("#[cfg(unix)] pub use {path}::{name} as Unix{number};"),
            11 => format!("mod chain{number} {{ pub use {absolute}::*; }} pub use chain{number}::*;"),
            12 => explicit(format!("{} struct {name} {{}}", random.pick(&["pub", "", "#[cfg(unix)] pub"]))),
            13 => format!("#[allow(non_snake_case)] pub fn {name}() {{}}").repeat(usize::from(number == 0)),
            14 => format!("mod decoy{number} {{ pub struct {name}; }} pub use decoy{number}::*;"),
            15 => format!("mod decoy{number} {{ pub enum E {{ {name} }} }} pub use decoy{number}::E::*;"),
            _ => explicit(format!(
                "macro_rules! make{number} {{ ($name:ident) => {{ pub struct $name {{}} }} }} make{number}!({name});"
            )),
        };
        root.push('\n');
    }
    root
}

/// Writes a module into the text of its parent, and its files. `folder` is where a `#[path]` starts, and
/// `relative` the folder in it where the files are.
fn write(
    module: &Module,
    folder: &str,
    relative: Option<&str>,
    parent: &mut String,
    files: &mut BTreeMap<String, String>,
) {
    let Module { name, visibility, attributes, items, children, .. } = module;
    let bare = name.trim_start_matches("r#");
    let here = relative.map_or(folder.to_owned(), |relative| format!("{folder}{relative}/"));
    let mut text = items.clone();
    let mut inside = |folder: &str, relative: Option<&str>, files: &mut BTreeMap<String, String>| {
        for child in children {
            write(child, folder, relative, &mut text, files);
        }
        text.clone()
    };
    let declaration = format!("{attributes}{visibility} mod {name}");
    match module.layout {
        Layout::Inline => {
            let text = inside(&format!("{here}{bare}/"), None, files);
            *parent += &format!("{declaration} {{\n{text}}}\n");
        }
        Layout::InlinePath => {
            let text = inside(&format!("{folder}dir_{bare}/"), None, files);
            *parent += &format!("#[path = \"dir_{bare}\"] {declaration} {{\n{text}}}\n");
        }
        Layout::File => {
            let text = inside(&here, Some(bare), files);
            files.insert(format!("{here}{bare}.rs"), text);
            *parent += &format!("{declaration};\n");
        }
        Layout::ModRs => {
            let text = inside(&format!("{here}{bare}/"), None, files);
            files.insert(format!("{here}{bare}/mod.rs"), text);
            *parent += &format!("{declaration};\n");
        }
        Layout::Path => {
            let text = inside(&format!("{folder}at/{bare}/"), None, files);
            files.insert(format!("{folder}at/{bare}/x.rs"), text);
            *parent += &format!("#[path = \"at/{bare}/x.rs\"] {declaration};\n");
        }
    }
}
