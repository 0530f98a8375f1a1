//! How long generation takes, without reading and writing: the sample types, and 1 to 1,000 kinds.
//! `hack/bench/genclient.sh` measures the command itself.

use std::{collections::BTreeMap, hint::black_box, path::PathBuf};

use divan::{Bencher, counter::ItemsCount};
use genclient::{
    config::Config,
    generate,
    layout::Layout,
    source::{Folder, Packages, ReadFile, Sources},
};

/// A crate of so many kinds, ten to a group and version.
fn synthetic(kinds: usize) -> BTreeMap<PathBuf, String> {
    let mut files =
        BTreeMap::from([(PathBuf::from("apis/Cargo.toml"), "[package]\nname = \"apis\"\n".to_owned())]);
    let mut root = String::new();
    for module in 0..kinds.div_ceil(10) {
        root += &format!("pub mod g{module};\n");
        let mut text = format!("genclient_runtime::group_version!(\"g{module}.example.com/v1\");\n");
        for kind in 0..(kinds - module * 10).min(10) {
            text += &format!(
                "/// Kind{kind} is one of many.\n\
                 #[derive(Clone, Debug, GenClient)]\n\
                 #[genclient(shortname = \"k{kind}\", printcolumn(name = \"Size\", type_ = \"integer\", json_path = \".spec.size\"))]\n\
                 pub struct Kind{kind} {{ pub metadata: ObjectMeta, pub spec: Spec, pub status: Option<Status> }}\n\
                 #[derive(Clone, Debug, GenClientList)]\n\
                 pub struct Kind{kind}List {{ pub metadata: ListMeta, pub items: Vec<Kind{kind}> }}\n"
            );
        }
        files.insert(PathBuf::from(format!("apis/src/g{module}.rs")), text);
    }
    files.insert(PathBuf::from("apis/src/lib.rs"), root);
    files
}

fn run(reader: &dyn ReadFile, config: &Config) -> usize {
    let client = &config.clients[0];
    let sources = Sources::load(reader, &client.sources, &Packages::default());
    let layout = Layout::find(reader, client).unwrap_or_else(|error| panic!("{error:?}"));
    generate(&sources, &layout, config, client).unwrap_or_else(|errors| panic!("{errors:?}")).len()
}

fn config() -> Config {
    Config::parse("[[client]]\noutput = \"out\"\nsources = [\"apis\"]\n").expect("the text above is one")
}

#[divan::bench]
fn samplecrd(bencher: Bencher<'_, '_>) {
    let workspace = Folder(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(".."));
    let config = config();
    bencher.bench(|| run(black_box(&workspace), &config));
}

#[divan::bench(args = [1, 10, 100, 1000], sample_count = 10)]
fn kinds(bencher: Bencher<'_, '_>, kinds: usize) {
    let (files, config) = (synthetic(kinds), config());
    bencher.counter(ItemsCount::new(kinds)).bench(|| run(black_box(&files), &config));
}

fn main() {
    divan::main();
}
