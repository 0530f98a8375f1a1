//! How the server says that its kinds merge, compared with what `genclient-merge` knows of them.
//!
//! With `GENCLIENT_UPDATE_SCHEMAS=1` the test writes the file of `genclient-merge` anew.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    fmt::Write as _,
    fs,
};

use genclient_merge::Schema;
use genclient_runtime::Client;
use genclient_testenv::require_servers;
use serde_json::{Map, Value, json};

use super::{Kind, cluster, discovery, table};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../merge/src/schema/kubernetes.txt");
const UPDATE: &str = "GENCLIENT_UPDATE_SCHEMAS";

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// What a schema says of merging, apart from the schemas within it and its references.
const RULES: [&str; 9] = [
    "default",
    "nullable",
    "type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-patch-strategy",
    "x-kubernetes-preserve-unknown-fields",
];

/// The OpenAPI document of each `apiVersion` that the server serves, apart from aggregated servers and CRDs.
async fn documents(client: &Client, api_versions: &BTreeSet<String>) -> BTreeMap<String, Value> {
    let read = async |path: &str| -> Value {
        let request = http::Request::get(path).body(Vec::new()).expect("the path is valid");
        client.request(request).await.unwrap_or_else(|error| panic!("{path}: {error}"))
    };
    let index = read("/openapi/v3").await;
    let mut documents = BTreeMap::new();
    for api_version in api_versions {
        let prefix = if api_version.contains('/') { "apis" } else { "api" };
        let entry = &index["paths"][format!("{prefix}/{api_version}")];
        let path = entry["serverRelativeURL"].as_str();
        let path = path.unwrap_or_else(|| panic!("{api_version} has no document: {entry}"));
        documents.insert(api_version.clone(), read(path).await);
    }
    documents
}

/// The definitions of a document.
fn definitions(document: &Value) -> &Map<String, Value> {
    document["components"]["schemas"].as_object().expect("a document has definitions")
}

/// The `apiVersion` of a definition, if it is a kind of objects. Lists, options and answers are kinds, too, but
/// nothing that is merged.
fn api_version(name: &str, definition: &Value) -> Option<String> {
    let metadata = reference(&definition["properties"]["metadata"]);
    let kinds =
        definition.get("x-kubernetes-group-version-kind").filter(|_| metadata == Some(OBJECT_META))?;
    let [kind] = kinds.as_array()?.as_slice() else { panic!("{name} is not one kind: {kinds}") };
    let text = |key: &str| kind[key].as_str().expect("a kind has a group, a version and a name");
    assert!(name.ends_with(&format!(".{}", text("kind"))), "{name} has the name of its kind: {kind}");
    let (group, version) = (text("group"), text("version"));
    Some(if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") })
}

/// The name of the definition that a schema refers to.
fn reference(schema: &Value) -> Option<&str> {
    let target = schema["$ref"].as_str().or_else(|| schema["allOf"][0]["$ref"].as_str())?;
    target.rsplit('/').next()
}

/// The parts of a schema that say how its values merge.
fn reduced(schema: &Value) -> Value {
    let Value::Object(parts) = schema else { return schema.clone() };
    let mut kept: Map<String, Value> =
        RULES.iter().filter_map(|rule| Some(((*rule).to_owned(), parts.get(*rule)?.clone()))).collect();
    if let Some(name) = reference(schema) {
        kept.insert("$ref".to_owned(), json!(name));
    }
    // Numbers of all formats merge alike, and bytes are strings.
    if schema["type"] == "string" && schema["format"].as_str().is_some_and(|format| format != "byte") {
        kept.insert("format".to_owned(), schema["format"].clone());
    }
    if let Some(Value::Object(properties)) = parts.get("properties") {
        let properties = properties.iter().map(|(name, property)| (name.clone(), reduced(property)));
        kept.insert("properties".to_owned(), properties.collect());
    }
    for part in ["items", "additionalProperties"] {
        if let Some(schema) = parts.get(part) {
            kept.insert(part.to_owned(), reduced(schema));
        }
    }
    Value::Object(kept)
}

/// Adds the names of the definitions that a reduced schema refers to.
fn add_references(schema: &Value, names: &mut Vec<String>) {
    names.extend(reference(schema).map(str::to_owned));
    let properties = schema["properties"].as_object().into_iter().flat_map(Map::values);
    for part in properties.chain([&schema["items"], &schema["additionalProperties"]]) {
        if part.is_object() {
            add_references(part, names);
        }
    }
}

/// What the file has to be: a line for every kind, and for every definition that one refers to.
fn file(version: &str, documents: &BTreeMap<String, Value>) -> String {
    let (mut reduced_definitions, mut api_versions) = (BTreeMap::new(), BTreeMap::new());
    for (name, definition) in documents.values().flat_map(definitions) {
        let mut new = reduced(definition);
        new.sort_all_objects();
        if let Some(api_version) = api_version(name, definition) {
            api_versions.insert(name.clone(), api_version);
        }
        if let Some(old) = reduced_definitions.insert(name.clone(), new.clone()) {
            assert_eq!(old, new, "{name} is the same in all documents");
        }
    }
    let mut wanted: Vec<String> = api_versions.keys().cloned().collect();
    let mut lines = BTreeMap::new();
    while let Some(name) = wanted.pop() {
        let Entry::Vacant(line) = lines.entry(name) else { continue };
        let definition = &reduced_definitions[line.key()];
        add_references(definition, &mut wanted);
        let api_version = api_versions.get(line.key()).map(|api_version| format!("{api_version} "));
        line.insert(format!("{}{definition}", api_version.unwrap_or_default()));
    }
    let mut text = format!("# Kubernetes {version}\n");
    for (name, definition) in lines {
        writeln!(text, "{name} {definition}").expect("a text can be written to");
    }
    text
}

#[tokio::test]
async fn the_schemas_of_the_kinds_are_those_of_the_openapi_documents_and_no_others() {
    require_servers!(ControlPlane);
    let client = cluster().await.client().expect("the administrator has a client");
    let served = discovery::resources(&client).await;
    let api_versions = served.iter().map(|served| served.api_version.clone()).collect();
    let documents = documents(&client, &api_versions).await;
    let version = client.apiserver_version().await.expect("the server has a version");
    let version = format!("{}.{}", version.major, version.minor.trim_end_matches('+'));

    let (found, known) = (file(&version, &documents), fs::read_to_string(FILE).expect("the file is there"));
    if std::env::var_os(UPDATE).is_some_and(|value| !value.is_empty()) {
        fs::write(FILE, &found).expect("the file can be written");
        println!("{FILE}: {} lines, {} bytes", found.lines().count(), found.len());
        return;
    }
    let lines = |text: &str| -> BTreeSet<String> { text.lines().map(str::to_owned).collect() };
    let (served_lines, known_lines) = (lines(&found), lines(&known));
    let missing: Vec<_> = served_lines.difference(&known_lines).collect();
    let unknown: Vec<_> = known_lines.difference(&served_lines).collect();
    let update = format!("{UPDATE}=1 writes the file anew");
    assert!(missing.is_empty(), "the server has what the file does not have: {missing:#?}; {update}");
    assert!(unknown.is_empty(), "the file has what the server does not have: {unknown:#?}; {update}");
    assert_eq!(found, known, "the lines are in order; {update}");

    // What the file leaves out makes no difference.
    let mut kinds = BTreeSet::new();
    for document in documents.values() {
        for (name, definition) in definitions(document) {
            let Some(api_version) = api_version(name, definition) else { continue };
            let kind = name.rsplit('.').next().expect("a name has parts");
            let known = Schema::kubernetes(&api_version, kind);
            let known = known.unwrap_or_else(|| panic!("{api_version} {kind} has a schema"));
            let whole = Schema::from_open_api(document, name).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(format!("{known:?}"), format!("{whole:?}"), "{api_version} {kind}");
            kinds.insert(name);
        }
    }
    println!("{} kinds have the schema of the server", kinds.len());

    let without_schema: Vec<String> = table::kinds()
        .iter()
        .filter(|kind| {
            served.iter().any(|served| served.api_version == kind.api_version && served.name == kind.plural)
        })
        .filter(|kind| Schema::kubernetes(kind.api_version, kind.kind).is_none())
        .map(Kind::name)
        .collect();
    assert!(without_schema.is_empty(), "every kind that the server serves has a schema: {without_schema:?}");
}
