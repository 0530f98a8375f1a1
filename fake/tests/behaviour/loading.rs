//! Loading objects: what is kept, what is completed, and what is refused.

use genclient_fake::{Clock, Server};
use k8s_openapi::api::apps::v1::Deployment;
use serde_json::{Value, json};

use crate::support::{CONFIG_MAPS, Events, Requests, config_map};

const WIDGETS: &str = "
# The object comes before its kind and before its namespace.
apiVersion: example.com/v1
kind: Widget
metadata: { name: first, namespace: shop, uid: 11111111-2222-3333-4444-555555555555 }
spec: { size: 3 }
status: { phase: Ready }
---
apiVersion: v1
kind: Namespace
metadata: { name: shop, labels: { team: a } }
--- # nothing but a comment

---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: widgets.example.com }
spec:
  group: example.com
  scope: Namespaced
  names: { plural: widgets, singular: widget, kind: Widget, listKind: WidgetList }
  versions:
    - name: v1
      served: true
      storage: true
      subresources: { status: {} }
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: { type: object, properties: { size: { type: integer }, color: { type: string, default: red } } }
            status: { type: object, properties: { phase: { type: string } } }
";

#[test]
fn documents_are_loaded_crds_and_namespaces_first_and_returned_in_their_order() {
    let server = Server::new();
    let loaded = server.load_yaml(WIDGETS).unwrap();
    let kinds: Vec<_> = loaded.iter().map(|object| object["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["Widget", "Namespace", "CustomResourceDefinition"]);
    let (code, widget) = server.get("/apis/example.com/v1/namespaces/shop/widgets/first");
    assert_eq!(code, 200, "{widget}");
    assert_eq!(widget, loaded[0]);
    assert_eq!(widget["spec"], json!({ "size": 3, "color": "red" }), "defaults are set");
    assert_eq!(server.get("/api/v1/namespaces/shop").1["metadata"]["labels"]["team"], "a");
}

#[test]
fn the_status_and_the_history_of_an_object_are_kept_and_its_version_is_not() {
    let server = Server::new();
    server.load_yaml(WIDGETS).unwrap();
    let deleted = json!({
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {
            "name": "deleted",
            "uid": "99999999-2222-3333-4444-555555555555",
            "resourceVersion": "123456",
            "generation": 7,
            "creationTimestamp": "2020-01-01T00:00:00Z",
            "deletionTimestamp": "2020-01-02T00:00:00Z",
            "finalizers": ["example.com/wait"],
            "managedFields": [{
                "manager": "controller",
                "operation": "Apply",
                "apiVersion": "example.com/v1",
                "fieldsType": "FieldsV1",
                "fieldsV1": { "f:spec": { "f:size": {} } },
            }],
        },
        "spec": { "size": 1 },
        "status": { "phase": "Leaving" },
    });
    let loaded = server.load_objects([deleted.clone()]).unwrap().remove(0);
    assert_eq!(loaded["status"], deleted["status"]);
    let kept = ["uid", "generation", "creationTimestamp", "deletionTimestamp", "finalizers", "managedFields"];
    for field in kept {
        assert_eq!(loaded["metadata"][field], deleted["metadata"][field], "{field}");
    }
    assert_eq!(loaded["metadata"]["namespace"], "default");
    assert_ne!(loaded["metadata"]["resourceVersion"], "123456");
    // It goes with its finalizer, as any deleted object.
    let path = "/apis/example.com/v1/namespaces/default/widgets/deleted";
    assert_eq!(server.merge(path, json!({ "metadata": { "finalizers": null } })).0, 200);
    assert_eq!(server.get(path).0, 404);
}

#[test]
fn a_typed_object_is_loaded_with_its_observed_state() {
    let clock = Clock::at("2026-01-02T03:04:05Z".parse().unwrap());
    let server = Server::builder().clock(clock).build();
    let deployment: Deployment = serde_json::from_value(json!({
        "metadata": { "name": "web", "namespace": "shop" },
        "spec": {
            "selector": { "matchLabels": { "app": "web" } },
            "template": {
                "metadata": { "labels": { "app": "web" } },
                "spec": { "containers": [{ "name": "web", "image": "web:1" }] },
            },
        },
        "status": { "availableReplicas": 2, "observedGeneration": 1 },
    }))
    .unwrap();
    let loaded = server.load(&deployment).unwrap();
    assert_eq!(loaded.spec.replicas, Some(1), "defaults are set");
    assert_eq!(loaded.status.as_ref().unwrap().available_replicas, Some(2));
    assert!(loaded.metadata.uid.is_some());
    let created = loaded.metadata.creation_timestamp.as_ref().unwrap();
    assert_eq!(created.0.to_string(), "2026-01-02T03:04:05Z");
    assert_eq!(server.get("/api/v1/namespaces/shop").0, 200, "the namespace was created");
}

#[test]
fn lists_are_loaded_item_by_item() {
    let server = Server::new();
    let list = json!({
        "apiVersion": "v1",
        "kind": "List",
        "items": [config_map("a"), { "apiVersion": "v1", "kind": "ConfigMapList", "items": [{ "metadata": { "name": "b" } }] }],
    });
    assert_eq!(server.load_objects([list]).unwrap().len(), 2);
    assert_eq!(server.get(CONFIG_MAPS).1["items"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_loaded_object_is_one_event_of_a_watch() {
    let server = Server::new();
    let path = format!("{CONFIG_MAPS}?watch=true");
    let mut events = Events::open(&server, &path);
    let uid = "22222222-2222-3333-4444-555555555555";
    let mut map = config_map("a");
    map["metadata"]["uid"] = uid.into();
    server.load_objects([map, config_map("b")]).unwrap();
    let event = events.next().await.unwrap();
    assert_eq!((&event["type"], &event["object"]["metadata"]["uid"]), (&json!("ADDED"), &json!(uid)));
    assert_eq!(events.name().await, ("ADDED".to_owned(), "b".to_owned()));
}

#[test]
fn loading_crds_and_namespaces_again_replaces_them() {
    let server = Server::new();
    let only_kinds = WIDGETS.split_once("---").unwrap().1;
    server.load_yaml(only_kinds).unwrap();
    let changed = only_kinds.replace("default: red", "default: blue").replace("team: a", "team: b");
    server.load_yaml(&changed).unwrap();
    assert_eq!(server.get("/api/v1/namespaces/shop").1["metadata"]["labels"]["team"], "b");
    let widget =
        json!({ "apiVersion": "example.com/v1", "kind": "Widget", "metadata": { "name": "w" }, "spec": {} });
    assert_eq!(server.load_objects([widget]).unwrap()[0]["spec"]["color"], "blue");
}

#[test]
fn an_error_names_the_document_the_object_and_the_reason() {
    let refused = |text: &str| Server::new().load_yaml(text).unwrap_err().to_string();
    assert_eq!(refused("metadata: { name: a }"), "document 1: an object needs `apiVersion` and `kind`");
    assert_eq!(
        refused("{ apiVersion: example.com/v1, kind: Widget, metadata: { name: a } }"),
        "document 1, Widget \"a\": no kind \"Widget\" is served in version \"example.com/v1\"; is its CRD loaded?"
    );
    let twice = "{ apiVersion: v1, kind: ConfigMap, metadata: { name: a } }\n---\n";
    assert_eq!(
        refused(&twice.repeat(2)),
        "document 2, ConfigMap \"default/a\": configmaps \"a\" already exists"
    );
    let unknown =
        refused(&format!("{twice}{{ apiVersion: v1, kind: Pod, metadata: {{ name: p }}, sepc: {{}} }}"));
    assert!(
        unknown.starts_with("document 2, Pod \"default/p\": ") && unknown.contains("unknown field \"sepc\""),
        "{unknown}"
    );
    let status = WIDGETS.replace("phase: Ready", "phase: 7");
    let status = refused(&status);
    assert!(
        status.starts_with("document 1, Widget \"shop/first\": ") && status.contains("status.phase"),
        "{status}"
    );
    let gone = "{ apiVersion: v1, kind: ConfigMap, metadata: { name: a, deletionTimestamp: \"2026-01-01T00:00:00Z\" } }";
    assert_eq!(
        refused(gone),
        "document 1, ConfigMap \"default/a\": an object with a `deletionTimestamp` and without finalizers would be gone"
    );
    let uid =
        |name: &str| format!("{{ apiVersion: v1, kind: ConfigMap, metadata: {{ name: {name}, uid: u }} }}");
    assert_eq!(
        refused(&format!("{}\n---\n{}", uid("a"), uid("b"))),
        "document 2, ConfigMap \"default/b\": the uid \"u\" is that of configmaps \"default/a\""
    );
}

#[test]
fn a_text_that_is_no_yaml_is_refused_as_a_whole_with_its_line() {
    let server = Server::new();
    let text = format!("{}\n---\n\nkind: [\n", config_map("a"));
    let error = server.load_yaml(&text).unwrap_err();
    assert_eq!(error.document(), 2);
    assert!(error.message().contains("line 4") || error.message().contains("line 5"), "{error}");
    let (_, list): (u16, Value) = server.get(CONFIG_MAPS);
    assert_eq!(list["items"], json!([]));
    assert_eq!(server.load_yaml("# nothing\n---\n").unwrap(), Vec::<Value>::new());
}

#[test]
fn what_is_loaded_again_is_replaced_with_its_status() {
    let server = Server::new();
    let deployment = |replicas: usize, ready: usize| {
        format!(
            "{{ apiVersion: apps/v1, kind: Deployment, metadata: {{ name: d }}, \
             spec: {{ replicas: {replicas}, selector: {{ matchLabels: {{ a: b }} }}, \
             template: {{ metadata: {{ labels: {{ a: b }} }}, spec: {{ containers: [{{ name: c, image: i }}] }} }} }}, \
             status: {{ replicas: {replicas}, readyReplicas: {ready} }} }}"
        )
    };
    let first = server.load_yaml(&deployment(1, 0)).unwrap().remove(0);
    let again = server.load_yaml(&deployment(3, 2)).unwrap().remove(0);
    assert_eq!(again["metadata"]["uid"], first["metadata"]["uid"]);
    assert_eq!((&again["spec"]["replicas"], &again["status"]["readyReplicas"]), (&json!(3), &json!(2)));
}

#[test]
fn files_and_folders_are_loaded_with_the_definitions_of_all_first() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let (objects, kinds) = WIDGETS.split_once("---").unwrap();
    write("1-objects.yaml", objects);
    write("2-kinds.yml", kinds);
    write("notes.txt", "not: [loaded");
    let server = Server::new();
    assert!(server.load_files([folder.path()]).unwrap().len() > 1);

    write("3-bad.json", r#"{ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "UPPER" } }"#);
    let error = Server::new().load_files([folder.path()]).unwrap_err();
    assert_eq!(error.file(), Some(folder.path().join("3-bad.json").as_path()));
    assert!(error.to_string().contains("3-bad.json, document 1, ConfigMap \"default/UPPER\": "), "{error}");
    let absent = Server::new().load_files([folder.path().join("absent.yaml")]).unwrap_err();
    assert!(absent.to_string().contains("absent.yaml: cannot be read: "), "{absent}");
}

#[test]
fn odd_documents_are_refused_and_leave_everything_else_alone() {
    let server = Server::new();
    for (text, wanted) in [
        ("[1, 2]", "needs `apiVersion` and `kind`"),
        ("{apiVersion: v1, kind: ConfigMap}", "name or generateName is required"),
        ("{apiVersion: v2, kind: ConfigMap, metadata: {name: a}}", "no kind \"ConfigMap\" is served"),
        ("{apiVersion: v1, kind: ConfigMap, metadata: {name: ../../secrets/x}}", "metadata.name"),
        ("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: x/y}}", "x/y"),
    ] {
        let error = server.load_yaml(text).unwrap_err().to_string();
        assert!(error.contains(wanted), "{text}: {error}");
    }
    assert_eq!(server.get(CONFIG_MAPS).1["items"], json!([]));
    let many = "{apiVersion: v1, kind: ConfigMap, metadata: {generateName: many-}}\n";
    server.load_yaml(many).unwrap();
    server.load_yaml(many).unwrap();
    assert_eq!(server.get(CONFIG_MAPS).1["items"].as_array().unwrap().len(), 2);
}
