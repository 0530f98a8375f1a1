//! Creation: names, dry runs, unknown fields, and what the server fills in.

use serde_json::json;

use crate::{
    Scenario,
    kinds::{CONFIG_MAPS, GADGETS, WIDGETS, ZONES, config_map, gadget, widget, with_metadata, zone},
    scenario::*,
};

pub(super) fn scenarios() -> Vec<Scenario> {
    let one = |name: &str| format!("{CONFIG_MAPS}/{name}");
    let cm = |name: &str| create(CONFIG_MAPS, config_map(name, json!({"k": "v"})));
    let meta = |metadata| {
        create(CONFIG_MAPS, json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}))
    };
    let long = "a".repeat(254);
    vec![
        scenario("a created object has a uid, a version and a time", [cm("a")]),
        scenario("a created custom object has generation 1", [
            create(WIDGETS, widget("a", json!({"size": 3}))),
            create(GADGETS, gadget("a", json!({"any": "thing"}))),
            create(ZONES, zone("{id}-z", json!({"domain": "d"}))),
        ]),
        scenario("a name is taken only once", [cm("a"), cm("a"), create(WIDGETS, widget("a", json!({}))), create(WIDGETS, widget("a", json!({})))]),
        scenario("a name is free again after the deletion", [cm("a"), delete(one("a")), cm("a")]),
        scenario("a name is generated from its prefix", [
            meta(json!({"generateName": "gen-"})).saved("g"),
            get(format!("{CONFIG_MAPS}/{{g.metadata.name}}")),
            create(WIDGETS, json!({"apiVersion": "parity.example.com/v1", "kind": "Widget", "metadata": {"generateName": "gen-"}})),
        ]),
        scenario("a name wins over a prefix", [meta(json!({"name": "a", "generateName": "gen-"}))]),
        scenario("a generated name respects a long prefix", [meta(json!({"generateName": "g".repeat(70)})).saved("g")]),
        scenario("a prefix that makes no name is refused", [meta(json!({"generateName": "Gen_"}))]),
        scenario("an object without a name is refused", [
            meta(json!({})),
            create(CONFIG_MAPS, json!({"apiVersion": "v1", "kind": "ConfigMap"})),
            create(WIDGETS, json!({"apiVersion": "parity.example.com/v1", "kind": "Widget"})),
        ]),
        scenario("a name that is no DNS name is refused", [
            cm("A"),
            cm("a_b"),
            cm("-a"),
            cm("a."),
            cm(""),
            cm("a/b"),
            cm("a%b"),
            cm(".."),
            cm("."),
            cm(&long),
            create(WIDGETS, widget("A", json!({}))),
            create(WIDGETS, widget("a/b", json!({}))),
        ]),
        scenario("a service's name is a DNS label", [
            create("/api/v1/namespaces/{ns}/services", json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a.b"}, "spec": {"ports": [{"port": 1}]}})),
            create("/api/v1/namespaces/{ns}/services", json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "1a"}, "spec": {"ports": [{"port": 1}]}})),
        ]),
        scenario("a role's name may contain colons", [
            create("/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles", json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "system:a"}, "rules": []})),
            create("/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles", json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "a/b"}, "rules": []})),
        ]),
        scenario("labels that are invalid are refused", [
            meta(json!({"name": "a", "labels": {"-a": "b"}})),
            meta(json!({"name": "a", "labels": {"a": "-b"}})),
            meta(json!({"name": "a", "labels": {"a": "b".repeat(64)}})),
            meta(json!({"name": "a", "labels": {"x/y/z": "b"}})),
            meta(json!({"name": "a", "labels": {"": "b"}})),
            meta(json!({"name": "a", "labels": {"Example.com/a": "b"}})),
            create(WIDGETS, with_metadata(widget("a", json!({})), json!({"labels": {"a b": "c"}}))),
        ]),
        scenario("annotations that are invalid are refused", [
            meta(json!({"name": "a", "annotations": {"-a": "b"}})),
            meta(json!({"name": "a", "annotations": {"a": "any text, even ümlauts / and more"}})),
            meta(json!({"name": "b", "annotations": {"a": "x".repeat(262_144)}})),
        ]),
        scenario("labels of a wrong type are refused", [
            meta(json!({"name": "a", "labels": {"a": 1}})),
            meta(json!({"name": "a", "labels": ["a"]})),
            create(WIDGETS, with_metadata(widget("a", json!({})), json!({"labels": {"a": 1}}))),
        ]),
        scenario("finalizers that are invalid are refused", [
            meta(json!({"name": "a", "finalizers": ["plain"]})),
            meta(json!({"name": "a", "finalizers": ["a b/c"]})),
            meta(json!({"name": "ok", "finalizers": ["example.com/f"]})),
            create(WIDGETS, with_metadata(widget("a", json!({})), json!({"finalizers": ["plain"]}))),
        ]),
        scenario("owner references that are invalid are refused", [
            meta(json!({"name": "a", "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "o"}]})),
            meta(json!({"name": "a", "ownerReferences": [{"apiVersion": "v1", "kind": "", "name": "o", "uid": "u"}]})),
            meta(json!({"name": "a", "ownerReferences": [{"apiVersion": "", "kind": "X", "name": "", "uid": ""}]})),
            meta(json!({"name": "a", "ownerReferences": [
                {"apiVersion": "v1", "kind": "X", "name": "o", "uid": "u", "controller": true},
                {"apiVersion": "v1", "kind": "Y", "name": "p", "uid": "v", "controller": true},
            ]})),
        ]),
        scenario("what only the server sets is ignored on creation", [
            meta(json!({
                "name": "a", "uid": "11111111-1111-4111-8111-111111111111", "creationTimestamp": "2020-01-01T00:00:00Z",
                "generation": 7, "selfLink": "/x", "deletionTimestamp": "2020-01-01T00:00:00Z", "deletionGracePeriodSeconds": 3,
            })),
            create(WIDGETS, with_metadata(widget("a", json!({})), json!({
                "uid": "11111111-1111-4111-8111-111111111111", "creationTimestamp": "2020-01-01T00:00:00Z",
                "generation": 7, "deletionTimestamp": "2020-01-01T00:00:00Z",
            }))),
        ]),
        scenario("an object with a version is not created", [
            meta(json!({"name": "a", "resourceVersion": "1"})),
            create(WIDGETS, with_metadata(widget("a", json!({})), json!({"resourceVersion": "5"}))),
            meta(json!({"name": "a", "resourceVersion": "x"})),
        ]),
        scenario("a dry run answers as a creation and stores nothing", [
            cm("a").query("dryRun=All"),
            get(one("a")),
            create(WIDGETS, widget("a", json!({"size": 2}))).query("dryRun=All"),
            get(format!("{WIDGETS}/a")),
            create(WIDGETS, widget("a", json!({"size": 200}))).query("dryRun=All"),
        ]),
        scenario("a dry run finds a name that is taken", [cm("a"), cm("a").query("dryRun=All")]),
        scenario("a dry run of another kind is refused", [cm("a").query("dryRun=Some"), cm("a").query("dryRun="), get(one("a"))]),
        scenario("a strict creation refuses unknown and duplicate fields", [
            create(CONFIG_MAPS, json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "dta": {}})).query("fieldValidation=Strict"),
            create(CONFIG_MAPS, json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "lables": {}}})).query("fieldValidation=Strict"),
            create(WIDGETS, widget("a", json!({"sise": 1, "nested": {"key": "a", "kee": 1}}))).query("fieldValidation=Strict"),
            send_text("POST", CONFIG_MAPS, r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"1"},"data":{"a":"2"}}"#).query("fieldValidation=Strict"),
            send_text("POST", WIDGETS, r#"{"apiVersion":"parity.example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"size":1,"size":2}}"#).query("fieldValidation=Strict"),
        ]),
        scenario("a creation warns of unknown and duplicate fields", [
            create(CONFIG_MAPS, json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "dta": {}, "x": 1})),
            create(CONFIG_MAPS, json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}, "dta": {}})).query("fieldValidation=Warn"),
            create(WIDGETS, widget("a", json!({"sise": 1}))).query("fieldValidation=Warn"),
            send_text("POST", WIDGETS, r#"{"apiVersion":"parity.example.com/v1","kind":"Widget","metadata":{"name":"b"},"spec":{"size":1,"size":2}}"#).query("fieldValidation=Warn"),
        ]),
        scenario("a creation may ignore unknown and duplicate fields", [
            create(CONFIG_MAPS, json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "dta": {}})).query("fieldValidation=Ignore"),
            create(WIDGETS, widget("a", json!({"sise": 1}))).query("fieldValidation=Ignore"),
            create(WIDGETS, widget("b", json!({"sise": 1}))).query("fieldValidation=Sometimes"),
        ]),
        scenario("a status given on creation is dropped where status is a subresource", [
            create(WIDGETS, { let mut w = widget("a", json!({})); w["status"] = json!({"phase": "Ready"}); w }),
            create(GADGETS, { let mut w = gadget("a", json!({})); w["status"] = json!({"phase": "Ready"}); w }),
        ]),
        scenario("the namespace in the body must be that of the path", [
            meta(json!({"name": "a", "namespace": "{ns}"})),
            meta(json!({"name": "b", "namespace": "other"})),
            create(WIDGETS, with_metadata(widget("b", json!({})), json!({"namespace": "other"}))),
            create(ZONES, with_metadata(zone("{id}-z", json!({})), json!({"namespace": "other"}))),
        ]),
        scenario("nothing is created in a namespace that does not exist", [
            create("/api/v1/namespaces/{id}-absent/configmaps", config_map("a", json!({}))),
            create("/apis/parity.example.com/v1/namespaces/{id}-absent/widgets", widget("a", json!({}))),
        ]),
        scenario("a body of another kind is refused", [
            create(CONFIG_MAPS, json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}})),
            create(CONFIG_MAPS, json!({"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "a"}})),
            create(WIDGETS, gadget("a", json!({}))),
            create(WIDGETS, json!({"apiVersion": "parity.example.com/v2", "kind": "Widget", "metadata": {"name": "a"}})),
            create(WIDGETS, json!({"apiVersion": "other.example.com/v1", "kind": "Widget", "metadata": {"name": "a"}})),
        ]),
        scenario("a body without a kind takes that of the path, where the kind is built in", [
            create(CONFIG_MAPS, json!({"metadata": {"name": "a"}, "data": {"k": "v"}})),
            create(CONFIG_MAPS, json!({"kind": "ConfigMap", "metadata": {"name": "b"}})),
            create(CONFIG_MAPS, json!({"apiVersion": "v1", "metadata": {"name": "c"}})),
            create(WIDGETS, json!({"metadata": {"name": "a"}})),
            create(WIDGETS, json!({"apiVersion": "parity.example.com/v1", "metadata": {"name": "a"}})),
            create(WIDGETS, json!({"kind": "Widget", "metadata": {"name": "a"}})),
        ]),
        scenario("an object is created from YAML", [
            send_text("POST", CONFIG_MAPS, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: v\n").header("content-type", "application/yaml"),
            send_text("POST", WIDGETS, "apiVersion: parity.example.com/v1\nkind: Widget\nmetadata:\n  name: a\nspec:\n  size: 4\n").header("content-type", "application/yaml"),
            send_text("POST", CONFIG_MAPS, "a: [").header("content-type", "application/yaml"),
        ]),
        scenario("the manager of fields is named by the query or else by the user agent", [
            cm("a").query("fieldManager=mine"),
            cm("b").header("user-agent", "thing/v1 (linux) more"),
            cm("c").query(&format!("fieldManager={}", "m".repeat(129))),
            cm("d").query("fieldManager=a%09b"),
        ]),
        scenario("a creation at a name's path is not allowed", [
            create(one("a"), config_map("a", json!({}))),
            create(format!("{WIDGETS}/a"), widget("a", json!({}))),
        ]),
        scenario("managed fields given on creation are kept if they are valid", [
            meta(json!({"name": "a", "managedFields": [{"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {}}, "time": "2020-01-01T00:00:00Z"}]})),
            meta(json!({"name": "b", "managedFields": [{"manager": "x", "operation": "Nothing", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {}}]})),
            meta(json!({"name": "c", "managedFields": [{"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV2", "fieldsV1": {}}]})),
        ]),
    ]
}
