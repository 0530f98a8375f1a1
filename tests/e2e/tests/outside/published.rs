//! `tests/published`: a client of other people's kinds, built from a copy and run on a real API server.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use genclient_testenv::{TestEnv, require_servers};
use serde_json::Value;

use super::{alone, cargo, checkout, command, copy, folder, genclient, is_long, run, target, write};

/// The published crates.
const CRATES: [&str; 3] = ["gateway-api", "k8s-crds-cert-manager", "kcr_cilium_io"];

/// The kinds of cert-manager with a field of any type: its crate has no schema for it that a server accepts.
const UNTYPED: [&str; 3] = ["challenges", "clusterissuers", "issuers"];

/// A line of `genclient list`.
struct Kind {
    group: String,
    version: String,
    kind: String,
    plural: String,
    scope: String,
    informer: bool,
    source: String,
}

impl Kind {
    fn parse(line: &str) -> Self {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [group, version, kind, plural, scope, _, generated, source] = words[..] else {
            panic!("not a line of `genclient list`: {line}");
        };
        let [group, version, kind, plural, scope, source] =
            [group, version, kind, plural, scope, source].map(str::to_owned);
        Self { group, version, kind, plural, scope, informer: generated.contains("informer"), source }
    }

    fn group(&self) -> &str {
        if self.group == "core" { "" } else { &self.group }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kinds_of_published_crates_are_generated_built_and_watched_on_a_real_server() {
    if !is_long("kinds_of_published_crates_are_generated_built_and_watched_on_a_real_server") {
        return;
    }
    require_servers!(ControlPlane);
    let env = TestEnv::shared().await.unwrap();
    let (folder, kinds) = tokio::task::block_in_place(build);
    for name in CRATES {
        let count = kinds.iter().filter(|kind| kind.source.starts_with(name)).count();
        println!("{count} kinds of {name}");
        assert!(count >= 6, "{count} kinds of {name}");
    }

    // Some definitions are written by genclient, some printed by the program; the others have no schema.
    let without_schema = |kind: &&Kind| kind.group == "cilium.io" || UNTYPED.contains(&kind.plural.as_str());
    let mut manifests = definitions_without_schema(kinds.iter().filter(without_schema));
    let mut program = command(target().join("debug/published-kinds"), &folder);
    let gateway: Value = serde_json::from_str(&run(program.arg("--definitions"))).unwrap();
    manifests.extend(gateway["items"].as_array().unwrap().iter().map(yaml));
    for file in fs::read_dir(folder.join("crds")).unwrap() {
        let manifest = "---\n".to_owned() + &fs::read_to_string(file.unwrap().path()).unwrap();
        if !UNTYPED.iter().any(|plural| name_of(&manifest).starts_with(&format!("{plural}."))) {
            manifests.push(manifest);
        }
    }
    let definitions = folder.join("definitions.yaml");
    let names: Vec<String> = manifests.iter().map(|manifest| name_of(manifest)).collect();
    fs::write(&definitions, manifests.concat()).unwrap();
    let apply = |file: &Path| {
        let file = file.to_str().unwrap().to_owned();
        async move { env.kubectl(&["apply", "--server-side", "-f", &file]).await.unwrap() }
    };
    apply(&definitions).await;
    for name in &names {
        let crd = format!("crd/{name}");
        env.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", &crd]).await.unwrap();
    }
    apply(&folder.join("objects.yaml")).await;

    let watched: Vec<&Kind> = kinds.iter().filter(|kind| kind.informer).collect();
    let resources = watched.iter().map(|kind| format!("{}/{}/{}", kind.group(), kind.version, kind.plural));
    let mut probe = command(target().join("debug/published-kinds"), &folder);
    probe.args(resources).env("KUBECONFIG", env.kubeconfig());
    let said = tokio::task::block_in_place(|| run(&mut probe));
    for expected in [
        &format!("{} informers have synced", watched.len()),
        "gatewayclasses.v1.gateway.networking.k8s.io example",
        "httproutes.v1.gateway.networking.k8s.io default/example",
        "issuers.v1.cert-manager.io default/example",
        "a gateway of the class example",
        "a certificate in the secret example-tls",
        "a group of Some([\"10.0.0.0/8\"])",
        "a parcel to Example Street",
        "an order of 3 pieces",
    ] {
        assert!(said.lines().any(|line| line == expected), "no line `{expected}` in\n{said}");
    }
    for name in &names {
        env.kubectl(&["delete", "--wait=false", &format!("crd/{name}")]).await.unwrap();
    }
}

/// Generates and builds the copy; gives its folder and its kinds.
fn build() -> (PathBuf, Vec<Kind>) {
    let _alone = alone();
    let sources = checkout().join("tests/published");
    let manifest = fs::read_to_string(sources.join("Cargo.toml")).unwrap();
    let manifest = manifest.replace("../../runtime", checkout().join("runtime").to_str().unwrap());
    let config = fs::read_to_string(sources.join("genclient.toml")).unwrap();

    // As published, none of them fits: they stand on earlier versions of kube, which is said.
    let refused = folder("published-refused");
    copy(&sources, &refused);
    write(&refused.join("Cargo.toml"), &manifest);
    write(&refused.join("Cargo.lock"), &fs::read_to_string(checkout().join("Cargo.lock")).unwrap());
    refuses(&refused, &["kube 3", "kube 4", "kube 5"]);

    let mut manifest = manifest + "\n[patch.crates-io]\n";
    for (name, published) in published(&refused) {
        let copied = kept(&format!("published-{name}"));
        copy_all(&published, &copied);
        manifest += &format!("{name} = {{ path = {copied:?} }}\n");
    }
    write(&refused.join("Cargo.toml"), &manifest);
    for (from, to, expected) in [
        ("1.37", "1.99", "has no Kubernetes 1.99"),
        ("\"gateway-api\"", "\"gateway-apis\"", "`gateway-apis` is not a dependency of"),
        ("    # Without", "    { package = \"gateway-api\" },\n    # Without", "gateway-api"),
    ] {
        assert!(config.contains(from));
        write(&refused.join("genclient.toml"), &config.replace(from, to));
        refuses(&refused, &[expected]);
    }

    let built = kept("published");
    copy(&sources, &built);
    write(&built.join("Cargo.toml"), &manifest);
    write(&built.join("Cargo.lock"), &fs::read_to_string(refused.join("Cargo.lock")).unwrap());
    run(command(genclient(), &built).arg("generate"));
    run(command(genclient(), &built).args(["generate", "--check"]));
    let list = run(command(genclient(), &built).arg("list"));
    cargo(&built, &["build", "--quiet"]);
    (built, list.lines().skip(1).map(Kind::parse).collect())
}

/// A folder that is left as it is, because compiling what is in it takes minutes.
fn kept(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Generating fails, says all this, and writes nothing.
fn refuses(folder: &Path, expected: &[&str]) {
    let refused = command(genclient(), folder).arg("generate").output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    for expected in expected {
        assert!(said.contains(expected), "no `{expected}` in\n{said}");
    }
    assert!(!folder.join("src/generated").exists() && !folder.join("crds").exists());
}

/// Where cargo keeps the sources of the crates; it fetches them first where it has to.
fn published(folder: &Path) -> Vec<(String, std::path::PathBuf)> {
    let metadata = command(env!("CARGO"), folder).args(["metadata", "--format-version=1"]).output().unwrap();
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    let found: Vec<_> = packages
        .filter_map(|package| {
            let name = package["name"].as_str().unwrap();
            let manifest = Path::new(package["manifest_path"].as_str().unwrap());
            CRATES.contains(&name).then(|| (name.to_owned(), manifest.parent().unwrap().to_path_buf()))
        })
        .collect();
    assert_eq!(found.len(), CRATES.len(), "{found:?}");
    found
}

/// The manifest with the versions of kube and k8s-openapi that the runtime has.
fn with_our_versions(manifest: &str) -> String {
    let mut section = "";
    let mut changed = String::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        }
        changed += match section {
            "[dependencies.kube]" | "[dependencies.kube-derive]" if line.starts_with("version") => {
                "version = \"5\""
            }
            "[dependencies.k8s-openapi]" if line.starts_with("version") => "version = \"0.29\"",
            _ => line,
        };
        changed.push('\n');
    }
    assert_ne!(changed, manifest);
    changed
}

/// Copies a published crate, with other versions in its manifest.
fn copy_all(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir_all(&to).unwrap();
            copy_all(&entry.path(), &to);
        } else if entry.file_name() == "Cargo.toml" {
            let manifest = fs::read_to_string(entry.path()).unwrap();
            write(&to, &(with_our_versions(&manifest) + "\n[workspace]\n"));
        } else {
            write(&to, &fs::read_to_string(entry.path()).unwrap());
        }
    }
}

/// Definitions that accept any object, one for each resource with all its versions.
fn definitions_without_schema<'a>(kinds: impl Iterator<Item = &'a Kind>) -> Vec<String> {
    let mut resources: BTreeMap<&str, Vec<&Kind>> = BTreeMap::new();
    for kind in kinds {
        resources.entry(&kind.plural).or_default().push(kind);
    }
    let definition = |(plural, kinds): (&&str, &Vec<&Kind>)| {
        let first = kinds[0];
        let versions: Vec<Value> = (kinds.iter().enumerate())
            .map(|(number, kind)| {
                serde_json::json!({
                    "name": kind.version,
                    "served": true,
                    "storage": number == 0,
                    "schema": {
                        "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
                    },
                })
            })
            .collect();
        yaml(&serde_json::json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{plural}.{}", first.group) },
            "spec": {
                "group": first.group,
                "names": { "plural": plural, "kind": first.kind },
                "scope": first.scope,
                "versions": versions,
            },
        }))
    };
    resources.iter().map(definition).collect()
}

fn yaml(definition: &Value) -> String {
    format!("---\n{}", serde_saphyr::to_string(definition).unwrap())
}

/// The name of a definition: that of its metadata, which is the first that is not indented deeper.
fn name_of(manifest: &str) -> String {
    let name = manifest.lines().find_map(|line| line.strip_prefix("  name: "));
    name.unwrap_or_else(|| panic!("no name in\n{manifest}")).trim().to_owned()
}
