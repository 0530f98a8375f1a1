//! Kubernetes' own kinds, read from the k8s-openapi that this workspace uses.

#![allow(clippy::unwrap_used, reason = "what is missing ends the test, with its line")]

use std::{collections::BTreeSet, path::PathBuf, process::Command, sync::LazyLock, time::Instant};

use genclient::{
    GeneratedFile,
    config::Config,
    generate,
    layout::Layout,
    model,
    model::Model,
    source::{Error, Folder, Packages, Sources},
};

/// The dependency graph of this workspace.
static PACKAGES: LazyLock<Packages> = LazyLock::new(|| {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Packages::parse(&String::from_utf8(output.stdout).unwrap()).unwrap()
});

fn config(source: &str) -> Config {
    Config::parse(&format!(
        "[[client]]\noutput = \"out\"\nsources = [{source}]\nfeatures = true\ncrds = false\n"
    ))
    .unwrap()
}

fn sources(config: &Config) -> Sources {
    let here = Folder(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests"));
    Sources::load(&here, &config.clients[0].sources, &PACKAGES)
}

fn model_of(source: &str) -> Result<Model, Vec<Error>> {
    model(&sources(&config(source)))
}

fn files(source: &str) -> Vec<GeneratedFile> {
    let config = config(source);
    let here = Folder(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests"));
    let layout = Layout::find(&here, &config.clients[0]).unwrap();
    generate(&sources(&config), &layout, &config, &config.clients[0]).unwrap()
}

/// How many kinds of a version have a list, in how many groups and versions, and how many have none.
fn numbers(version: &str) -> (usize, usize, usize) {
    let model = model_of(&format!("{{ kubernetes = {version:?} }}")).unwrap();
    let (listed, created): (Vec<_>, Vec<_>) =
        model.resources().partition(|(.., resource)| resource.has_lister());
    let groups: BTreeSet<_> = listed.iter().map(|(group, version, _)| group.api_version(version)).collect();
    (listed.len(), groups.len(), created.len())
}

#[test]
fn every_version_gives_its_own_kinds() {
    assert_eq!(numbers("1.36"), (88, 34, 7));
    assert_eq!(numbers("1.37"), (93, 34, 7));
}

#[test]
fn the_same_sources_give_the_same_bytes() {
    assert_eq!(files("{ kubernetes = \"1.37\" }"), files("{ kubernetes = \"1.37\" }"));
}

#[test]
fn everything_is_generated_within_a_second() {
    LazyLock::force(&PACKAGES);
    let start = Instant::now();
    let count = files("{ kubernetes = \"1.37\" }").len();
    let taken = start.elapsed();
    println!("{count} files in {taken:?}");
    // Without optimisation it takes some times as long, which says nothing.
    assert!(cfg!(debug_assertions) || taken.as_secs_f64() < 1.0, "{taken:?}");
}

#[test]
fn groups_are_called_as_client_go_calls_them() {
    let model = model_of("{ kubernetes = \"1.37\" }").unwrap();
    let accessors: Vec<_> = model
        .groups
        .iter()
        .flat_map(|group| group.versions.iter().map(|version| group.accessor(version)))
        .collect();
    for expected in ["apps_v1", "core_v1", "rbac_v1", "flowcontrol_v1", "internal_v1alpha1", "networking_v1"]
    {
        assert!(accessors.iter().any(|accessor| accessor == expected), "{expected}: {accessors:?}");
    }
}

#[test]
fn the_table_gives_verbs_and_methods() {
    let model = model_of("{ kubernetes = \"1.37\", groups = [\"core\"] }").unwrap();
    let said = |kind: &str| {
        let (.., resource) = model.resources().find(|(.., resource)| resource.kind == kind).unwrap();
        let verbs = resource.verbs.iter().map(|verb| verb.name());
        let methods = resource.methods.iter().map(|method| method.name.as_str());
        verbs.chain(methods).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(said("ComponentStatus"), "get list");
    assert_eq!(said("Binding"), "create");
    assert_eq!(
        said("ServiceAccount"),
        "create update delete delete_collection get list watch patch apply create_token"
    );
    assert_eq!(
        said("Namespace"),
        "create update update_status delete get list watch patch apply apply_status finalize"
    );
    assert!(said("Pod").ends_with(
        "apply_status bind update_ephemeral_containers patch_ephemeral_containers evict update_resize patch_resize"
    ));
}

#[test]
fn a_feature_enables_the_groups_whose_types_its_clients_take() {
    let model = model_of("{ kubernetes = \"1.37\" }").unwrap().with_features();
    let needs = |name: &str| {
        let features = model.groups.iter().filter_map(|group| group.feature.as_ref());
        features.clone().find(|feature| feature.name == name).unwrap().needs.clone()
    };
    assert_eq!(needs("apps"), ["autoscaling"]);
    assert_eq!(needs("core"), ["authentication", "autoscaling", "policy"]);
    assert!(needs("batch").is_empty());
}

#[test]
fn a_version_or_group_that_is_not_there_is_refused() {
    let refused = |source: &str| {
        let errors = model_of(source).unwrap_err();
        let texts = errors.into_iter().map(|error| format!("{}; {}", error.message, error.help.unwrap()));
        texts.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(
        refused("{ kubernetes = \"1.12\" }"),
        "`k8s-openapi-0.29.0` has no Kubernetes 1.12; it has 1.33, 1.34, 1.35, 1.36, 1.37; \
         other versions are in other releases of k8s-openapi"
    );
    assert_eq!(
        refused("{ kubernetes = \"1.37\", groups = [\"rbac\", \"app\", \"x\"] }").lines().collect::<Vec<_>>()
            [..2],
        [
            "Kubernetes 1.37 has no group `rbac`; did you mean `rbac.authorization.k8s.io`?",
            "Kubernetes 1.37 has no group `app`; did you mean `apps`?",
        ]
    );
}
