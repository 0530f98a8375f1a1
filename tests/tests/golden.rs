//! The committed client of the fixtures is what the generator makes of them, always the same bytes.

#![allow(clippy::unwrap_used, reason = "what is missing ends the test, with its line")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use genclient::{
    GeneratedFile, HEADER,
    config::{ClientConfig, Config},
    generate,
    layout::Layout,
    plan::Plan,
    source::{Folder, Packages, ReadFile, Sources},
};
use genclient_runtime::crd::CustomResourceDefinition;

fn here() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A configuration of all fixtures.
fn config() -> Config {
    let sources = "[\"fixtures/apis\", \"fixtures/extra\"]";
    Config::parse(&format!("[[client]]\noutput = \"out\"\nsources = {sources}\n")).unwrap()
}

fn layout(client: &ClientConfig) -> Layout {
    Layout::find(&Folder(here()), client).unwrap()
}

/// Generates the fixtures' client from sources that this reader holds.
fn generated(reader: &dyn ReadFile) -> Vec<GeneratedFile> {
    let config = config();
    let client = &config.clients[0];
    let sources = Sources::load(reader, &client.sources, &Packages::default());
    generate(&sources, &layout(client), &config, client).unwrap_or_else(|errors| panic!("{errors:#?}"))
}

/// Every file below a folder with this ending, by its path from there.
fn files(folder: &Path, ending: &str) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                let text = fs::read_to_string(&path).unwrap();
                found.insert(path.strip_prefix(folder).unwrap().to_path_buf(), text);
            }
        }
    }
    found
}

/// What differs between the committed files of a configuration and what its sources say.
fn stale(folder: &Path, crds: &[CustomResourceDefinition]) -> String {
    let config = Config::parse(&fs::read_to_string(folder.join("genclient.toml")).unwrap()).unwrap();
    let (client, reader) = (&config.clients[0], Folder(folder.to_path_buf()));
    let layout = Layout::find(&reader, client).unwrap();
    let package = folder.join(&layout.package);
    let sources = Sources::load(&reader, &client.sources, &Packages::default());
    let files = generate(&sources, &layout, &config, client).unwrap_or_else(|errors| panic!("{errors:#?}"));
    let manifests = crds.iter().map(|crd| {
        let text = genclient_runtime::crd::manifest(crd).unwrap();
        genclient::crd_file(&config.command, crd.metadata.name.as_ref().unwrap(), &text)
    });
    let mut plan = Plan::default();
    plan.compare(&package, "a", &layout.folders(), files).unwrap();
    plan.compare(&package, "a", &["crds".to_owned()], manifests.collect()).unwrap();
    plan.diff()
}

#[test]
fn the_committed_clients_and_crds_are_what_the_sources_say() {
    for (folder, crds) in [
        (here(), golden_client::crds::all().unwrap()),
        (here().join(".."), samplecrd_client::crds::all().unwrap()),
    ] {
        let stale = stale(&folder, &crds);
        assert!(stale.is_empty(), "{stale}\nrun `hack/update-codegen.sh`");
    }
}

#[test]
fn what_a_person_wrote_beside_the_generated_files_is_there() {
    let expansions = fs::read_to_string(here().join("golden/src/expansions.rs")).unwrap();
    assert!(!expansions.contains(HEADER));
    assert!(fs::read_to_string(here().join("golden/src/lib.rs")).unwrap().contains("pub mod expansions;"));
}

#[test]
fn two_runs_give_the_same_bytes() {
    assert_eq!(generated(&Folder(here())), generated(&Folder(here())));
}

#[test]
fn another_folder_gives_the_same_bytes() {
    let elsewhere = tempfile::tempdir().unwrap();
    for (path, text) in files(&here().join("fixtures"), "") {
        let copy = elsewhere.path().join("fixtures").join(path);
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::write(copy, text).unwrap();
    }
    assert_eq!(generated(&Folder(elsewhere.path().to_path_buf())), generated(&Folder(here())));
}

#[test]
fn the_order_of_modules_types_and_crates_changes_nothing() {
    let mut texts: BTreeMap<PathBuf, String> = files(&here().join("fixtures"), "")
        .into_iter()
        .map(|(path, text)| (Path::new("fixtures").join(path), text))
        .collect();
    let expected = generated(&texts);
    for (path, text) in texts.iter_mut().filter(|(path, _)| path.extension().is_some_and(|end| end == "rs")) {
        let mut file = syn::parse_file(text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        // A macro has to stand before its use; nothing else of a module depends on its place.
        file.items.sort_by_key(|item| !matches!(item, syn::Item::Macro(_)));
        let macros = file.items.iter().filter(|item| matches!(item, syn::Item::Macro(_))).count();
        file.items[macros..].reverse();
        *text = quote::ToTokens::to_token_stream(&file).to_string();
    }
    assert_eq!(generated(&texts), expected);

    let mut config = config();
    config.clients[0].sources.reverse();
    let sources = Sources::load(&texts, &config.clients[0].sources, &Packages::default());
    let client = &config.clients[0];
    assert_eq!(generate(&sources, &layout(client), &config, client).unwrap(), expected);
}

#[test]
fn every_generated_file_is_small_and_starts_with_the_header_and_a_sentence() {
    for file in generated(&Folder(here())) {
        let lines: Vec<&str> = file.text.lines().collect();
        assert_eq!(lines[0], format!("// {HEADER}"), "{}", file.path);
        assert_eq!(lines[1], "// Regenerate with `genclient generate`.", "{}", file.path);
        assert!(lines[3].starts_with("//! "), "{}", file.path);
        // The fixtures of extra methods have more of them than a kind ever will.
        let resource = file.path.contains("/typed/")
            && !file.path.contains("/methods/")
            && !file.path.ends_with("mod.rs");
        assert!(!resource || lines.len() < 160, "{} has {} lines", file.path, lines.len());
        assert!(!file.text.contains(env!("CARGO_MANIFEST_DIR")), "{}", file.path);
        assert!(!file.text.contains("#![allow") && !file.text.contains("#[allow"), "{}", file.path);
        assert!(file.text.ends_with('\n') && !file.text.ends_with("\n\n"), "{}", file.path);
        assert!(lines.iter().all(|line| !line.ends_with(' ')), "{}", file.path);
    }
}
