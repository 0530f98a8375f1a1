//! Arbitrary text gives errors, never a crash: the parser, the attribute grammar, the checks and the
//! renderers over mutated fixtures and over soups of the grammar's own words.
//!
//! This runs on the stable toolchain with every test run, some hundred cases of each kind.
//! `GENCLIENT_LONG=1` runs it for minutes. A coverage-guided fuzzer (`cargo fuzz`) needs a nightly
//! compiler and is no part of the ordinary checks.

#![allow(clippy::unwrap_used, reason = "what is missing ends the test, with its line")]

use std::{collections::BTreeMap, fs, path::PathBuf, sync::OnceLock};

use genclient::{
    attr::ATTRIBUTES,
    config::Config,
    generate,
    layout::Layout,
    source::{Packages, Sources},
    verb::Verb,
};
use genclient_tally::Tally;
use proptest::{
    prelude::*,
    sample::select,
    test_runner::{Config as Runs, TestRunner},
};

fn cases(short: u32) -> Runs {
    let cases = genclient_tally::usual_or_long(short, short * 100);
    Runs { cases, failure_persistence: None, ..Runs::default() }
}

/// Runs the whole pipeline over one crate of one file, and counts what it answers.
fn digest(root: &str, tally: &Tally) {
    let config = Config::parse("[[client]]\noutput = \"out\"\nsources = [\"apis\"]\n").unwrap();
    let files = BTreeMap::from([
        (PathBuf::from("apis/Cargo.toml"), "[package]\nname = \"apis\"\n".to_owned()),
        (PathBuf::from("apis/src/lib.rs"), root.to_owned()),
    ]);
    let sources = Sources::load(&files, &config.clients[0].sources, &Packages::default());
    let layout = Layout::find(&files, &config.clients[0]).unwrap();
    match generate(&sources, &layout, &config, &config.clients[0]) {
        Ok(files) => {
            assert!(!files.is_empty());
            // A client without kinds shows nothing of the renderers.
            let has_kind = files.iter().any(|file| file.text.contains("TypedClient<"));
            tally.count(if has_kind { "generated" } else { "generated without kinds" });
        }
        Err(errors) => {
            tally.count("refused");
            assert!(!errors.is_empty());
            for error in &errors {
                assert!(!error.message.is_empty());
                let places = error.at.iter().chain(error.related.iter().filter_map(|(at, _)| at.as_ref()));
                for at in places {
                    // The report marks these bytes.
                    assert!(sources.files[at.file].text.get(at.range.clone()).is_some(), "{error:?}");
                }
            }
        }
    }
}

/// The fixtures, each file by itself.
fn fixtures() -> &'static [String] {
    static FIXTURES: OnceLock<Vec<String>> = OnceLock::new();
    FIXTURES.get_or_init(|| {
        let mut texts = Vec::new();
        for folder in ["../tests/fixtures/apis/src", "../apis/src/samplecrd", "../apis/src/appcontroller"] {
            let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder);
            let mut paths: Vec<_> =
                fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
            paths.sort();
            texts.extend(paths.iter().filter_map(|path| fs::read_to_string(path).ok()));
        }
        assert!(texts.len() > 10);
        texts
    })
}

/// The pieces of which soups are made.
fn words() -> Vec<String> {
    let mut words: Vec<String> =
        ATTRIBUTES.iter().flat_map(|a| [a.name.to_owned(), a.example.to_owned()]).collect();
    words.extend(Verb::ALL.iter().map(|verb| verb.name().to_owned()));
    let more = [
        ",",
        "=",
        "(",
        ")",
        "\"\"",
        "\"a\"",
        "\"self\"",
        "\"crate::A\"",
        "\"é\"",
        "\"3d\"",
        "-1",
        "0",
        "true",
        "name",
        "verb",
        "subresource",
        "input",
        "result",
        "json_path",
        "type_",
        "Self",
        "self",
        "crate::A",
        "r#type",
        "A<B>",
        "::a::B",
        "\"/v1\"",
        "\"a/b/c\"",
        "\"type.io/v1\"",
        "ident",
        "'a",
        "b\"x\"",
        "1e9",
        "99999999999",
        "#",
        "[",
        "]",
        "{",
        "}",
    ];
    words.extend(more.map(str::to_owned));
    words
}

fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec(select(words()), 0..12).prop_map(|words| words.join(" "))
}

/// A soup, or valid attributes that may contradict each other.
fn attributes() -> impl Strategy<Value = String> {
    let examples = ATTRIBUTES.iter().map(|attribute| attribute.example).collect::<Vec<_>>();
    let valid = prop::collection::vec(select(examples), 0..4).prop_map(|examples| examples.join(", "));
    prop_oneof![soup(), valid]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        select(vec![
            "A",
            "Type",
            "List",
            "AList",
            "V1",
            "Client",
            "Option",
            "Self",
            "a",
            "A_b",
            "É",
            "Clientset"
        ])
        .prop_map(str::to_owned),
        "[A-Z][A-Za-z0-9]{0,70}",
    ]
}

fn group_version() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => select(vec![
            "v1",
            "a.io/v1",
            "3d.io/v1",
            "type.io/type",
            "v1.io/v1",
            "typed.io/v1",
            "a-1.io/v1",
            "self.io/self",
            "new.io/v1"
        ])
        .prop_map(str::to_owned),
        1 => "[a-z0-9.-]{0,70}/[a-z0-9-]{0,10}",
        1 => any::<String>(),
    ]
}

/// A path of an import, with names that meet and lead in circles.
fn import() -> impl Strategy<Value = String> {
    let names = ["m0", "m1", "m2", "m3", "A", "B", "self", "super", "crate", "r#type", "r#m1"];
    let ends =
        ["*", "A", "A as B", "B", "B as A", "self", "{self, A}", "{*, m0::*}", "m0", "m1 as m2", "A as _"];
    (prop::collection::vec(select(names.to_vec()), 0..4), select(ends.to_vec()), any::<bool>()).prop_map(
        |(path, end, colon)| {
            let path: String = path.iter().map(|name| format!("{name}::")).collect();
            format!("{}{path}{end}", if colon { "::" } else { "" })
        },
    )
}

/// A predicate, well formed or not.
fn condition() -> impl Strategy<Value = String> {
    let leaf =
        select(vec!["test", "true", "false", "all()", "any()", "unix", "feature = \"x\"", "", "not()", "1"]);
    leaf.prop_map(str::to_owned).prop_recursive(3, 8, 3, |inner| {
        (select(vec!["not", "all", "any", "target"]), prop::collection::vec(inner, 0..3))
            .prop_map(|(word, inner)| format!("{word}({})", inner.join(", ")))
    })
}

/// Digests random values, each of which `write` turns into texts.
fn digest_all<S: Strategy>(usual: u32, strategy: S, write: impl Fn(S::Value) -> Vec<String>) -> Tally {
    let tally = Tally::new();
    let tried = TestRunner::new(cases(usual)).run(&strategy, |value| {
        for text in write(value) {
            digest(&text, &tally);
        }
        Ok(())
    });
    tried.unwrap_or_else(|error| panic!("{error}"));
    tally
}

#[test]
fn any_text_is_digested() {
    let tally = digest_all(256, any::<String>(), |text| vec![text]);
    tally.require(&[("refused", 85)]);
}

#[test]
fn any_words_in_an_attribute_are_digested() {
    let words_of_group = prop_oneof![soup(), Just(String::new())];
    let parts = (attributes(), name(), group_version(), words_of_group);
    let tally = digest_all(256, parts, |(words, kind, group_version, words_of_group)| {
        vec![format!(
            "group_version!({group_version:?}, {words_of_group});\n\
             #[derive(GenClient)] #[genclient({words})] pub struct {kind} {{ pub metadata: ObjectMeta, pub status: Option<A> }}\n\
             #[derive(GenClientList)] pub struct {kind}List {{ pub metadata: ListMeta, pub items: Vec<{kind}> }}"
        )]
    });
    tally.require(&[("generated", 6), ("refused", 60)]);
}

#[test]
fn any_kinds_and_plurals_together_are_digested() {
    let kinds = || prop::collection::vec((name(), "[a-z][a-z0-9-]{0,6}"), 1..4);
    let tally = digest_all(256, prop::collection::vec((group_version(), kinds()), 1..4), |group_versions| {
        let mut text = String::new();
        for (number, (group_version, kinds)) in group_versions.iter().enumerate() {
            text += &format!("pub mod m{number} {{ group_version!({group_version:?});\n");
            for (kind, plural) in kinds {
                text += &format!(
                    "#[derive(GenClient)] #[genclient(plural = {plural:?})] pub struct {kind} {{ pub metadata: ObjectMeta }}\n"
                );
            }
            text += "}\n";
        }
        vec![text]
    });
    tally.require(&[("generated", 3), ("refused", 60)]);
}

#[test]
fn any_imports_and_conditions_are_digested() {
    let imports = || prop::collection::vec((import(), condition()), 0..6);
    let tally = digest_all(256, prop::collection::vec((imports(), condition()), 1..5), |modules| {
        let mut text = String::new();
        for (number, (imports, cfg)) in modules.iter().enumerate() {
            text += &format!("#[cfg({cfg})] pub mod m{number} {{ group_version!(\"a.io/v{number}\");\n");
            text += "#[derive(GenClient)] #[genclient(no_crd)] pub struct A { pub metadata: ObjectMeta }\n";
            for (import, cfg) in imports {
                text += &format!("#[cfg_attr({cfg}, cfg({cfg}))] pub use {import};\n");
            }
            text += "}\n";
        }
        vec![text]
    });
    tally.require(&[("generated", 7), ("refused", 60)]);
}

#[test]
fn any_one_attribute_with_any_value_is_digested() {
    let attribute = select(ATTRIBUTES.iter().map(|a| a.name).collect::<Vec<_>>());
    let tally = digest_all(256, (attribute, any::<String>(), name()), |(attribute, value, kind)| {
        let forms = [
            format!("{attribute} = {value:?}"),
            format!("{attribute}({value:?}, {value:?})"),
            format!("{attribute}(name = {value:?}, verb = get)"),
        ];
        forms.map(|form| format!("group_version!(\"a.io/v1\");\n#[derive(GenClient)] #[genclient({form})] pub struct {kind} {{ pub metadata: ObjectMeta }}")).to_vec()
    });
    tally.require(&[("generated", 1), ("refused", 200)]);
}

#[test]
fn a_fixture_with_bytes_changed_is_digested() {
    let edit = (any::<prop::sample::Index>(), 0..8usize, select(words()));
    let changes = (any::<prop::sample::Index>(), prop::collection::vec(edit, 1..4));
    let tally = digest_all(128, changes, |(number, edits)| {
        let mut text: Vec<char> = number.get(fixtures()).chars().collect();
        for (place, length, word) in edits {
            let start = place.index(text.len());
            let end = (start + length).min(text.len());
            text.splice(start..end, word.chars());
        }
        vec![text.into_iter().collect()]
    });
    tally.require(&[("generated", 7), ("refused", 30)]);
}

#[test]
fn a_fixture_with_lines_moved_is_digested() {
    let line = any::<prop::sample::Index>;
    let moves = (line(), prop::collection::vec((line(), line()), 1..6));
    let tally = digest_all(128, moves, |(number, moves)| {
        let mut lines: Vec<&str> = number.get(fixtures()).lines().collect();
        for (from, to) in moves {
            let line = lines.remove(from.index(lines.len()));
            let to = to.index(lines.len() + 1);
            lines.insert(to, line);
        }
        vec![lines.join("\n")]
    });
    tally.require(&[("generated", 5), ("refused", 30)]);
}
