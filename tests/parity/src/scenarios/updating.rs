//! Updates: versions, immutable metadata, generation, and spec and status apart.

use serde_json::json;

use crate::{
    Scenario,
    kinds::{CONFIG_MAPS, GADGETS, WIDGETS, ZONES, config_map, gadget, widget, with_metadata, zone},
    scenario::*,
};

pub(super) fn scenarios() -> Vec<Scenario> {
    let one = |name: &str| format!("{CONFIG_MAPS}/{name}");
    let w = |name: &str| format!("{WIDGETS}/{name}");
    let cm = |name: &str| create(CONFIG_MAPS, config_map(name, json!({"k": "v"}))).saved("made");
    let wd = || create(WIDGETS, widget("a", json!({"size": 1}))).saved("made");
    vec![
        scenario("an update replaces the object", [
            cm("a"),
            put_edited(one("a"), "made", json!({"data": {"k": null, "other": "x"}})),
            get(one("a")),
        ]),
        scenario("an update with a stale version is a conflict", [
            cm("a"),
            put_edited(one("a"), "made", json!({"data": {"k": "1"}})),
            put_edited(one("a"), "made", json!({"data": {"k": "2"}})),
            wd(),
            put_edited(w("a"), "made", json!({"spec": {"size": 2}})),
            put_edited(w("a"), "made", json!({"spec": {"size": 3}})),
        ]),
        scenario("an update without a version overwrites a built-in object", [
            cm("a"),
            put(one("a"), config_map("a", json!({"k": "new"}))),
        ]),
        scenario("an update without a version is refused for a custom object", [
            wd(),
            put(w("a"), widget("a", json!({"size": 2}))),
        ]),
        scenario("an update with an impossible version is refused", [
            cm("a"),
            put(one("a"), with_metadata(config_map("a", json!({})), json!({"resourceVersion": "999999999"}))),
            put(one("a"), with_metadata(config_map("a", json!({})), json!({"resourceVersion": "x"}))),
            put(one("a"), with_metadata(config_map("a", json!({})), json!({"resourceVersion": "0"}))),
        ]),
        scenario("an update of an absent object is not found", [
            put(one("a"), config_map("a", json!({}))),
            put(w("a"), widget("a", json!({}))),
            put(w("a"), with_metadata(widget("a", json!({})), json!({"resourceVersion": "5"}))),
            put(one("a"), with_metadata(config_map("a", json!({})), json!({"resourceVersion": "5"}))),
        ]),
        scenario("a lease is created by an update", [
            put("/apis/coordination.k8s.io/v1/namespaces/{ns}/leases/a", json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a"}, "spec": {}})),
            get("/apis/coordination.k8s.io/v1/namespaces/{ns}/leases/a"),
        ]),
        scenario("an update that changes nothing keeps the version", [
            cm("a"),
            put_edited(one("a"), "made", json!({})),
            wd(),
            put_edited(w("a"), "made", json!({})),
        ]),
        scenario("the uid in an update must be the object's", [
            cm("a"),
            put_edited(one("a"), "made", json!({"metadata": {"uid": "11111111-1111-4111-8111-111111111111"}})),
            put_edited(one("a"), "made", json!({"metadata": {"uid": null}, "data": {"k": "no uid"}})),
            wd(),
            put_edited(w("a"), "made", json!({"metadata": {"uid": "11111111-1111-4111-8111-111111111111"}})),
        ]),
        scenario("the name in an update must be that of the path", [
            cm("a"),
            put_edited(one("a"), "made", json!({"metadata": {"name": "b"}})),
            put_edited(one("a"), "made", json!({"metadata": {"name": null}})),
            put_edited(one("a"), "made", json!({"metadata": {"namespace": "other"}})),
            wd(),
            put_edited(w("a"), "made", json!({"metadata": {"name": "b"}})),
            put_edited(w("a"), "made", json!({"metadata": {"name": null}})),
        ]),
        scenario("metadata that only the server sets stays as it is", [
            cm("a"),
            put_edited(one("a"), "made", json!({"metadata": {
                "creationTimestamp": "2020-01-01T00:00:00Z", "generation": 9, "selfLink": "/x",
            }})),
            put_edited(one("a"), "made", json!({"metadata": {"creationTimestamp": null}, "data": {"k": "x"}})),
            wd(),
            put_edited(w("a"), "made", json!({"metadata": {"creationTimestamp": "2020-01-01T00:00:00Z", "generation": 9}})),
        ]),
        scenario("an update cannot delete", [
            cm("a"),
            put_edited(one("a"), "made", json!({"metadata": {"deletionTimestamp": "2020-01-01T00:00:00Z"}})),
            put_edited(one("a"), "made", json!({"metadata": {"deletionGracePeriodSeconds": 5}})),
            get(one("a")),
        ]),
        scenario("the generation grows with the spec and not with metadata or status", [
            wd(),
            put_edited(w("a"), "made", json!({"spec": {"size": 2}})).saved("two"),
            put_edited(w("a"), "two", json!({"metadata": {"labels": {"a": "b"}}})).saved("three"),
            put_edited(w("a/status"), "three", json!({"status": {"phase": "x"}})).saved("four"),
            put_edited(w("a"), "four", json!({"spec": {"size": 3}})),
        ]),
        scenario("without a status subresource the generation grows with everything but metadata", [
            create(GADGETS, gadget("a", json!({"x": 1}))).saved("one"),
            put_edited(format!("{GADGETS}/a"), "one", json!({"status": {"y": 1}})).saved("two"),
            put_edited(format!("{GADGETS}/a"), "two", json!({"metadata": {"labels": {"a": "b"}}})).saved("three"),
            put_edited(format!("{GADGETS}/a"), "three", json!({"spec": {"x": 2}})),
        ]),
        scenario("an update of the main resource does not change the status", [
            wd(),
            put_edited(w("a/status"), "made", json!({"status": {"phase": "Ready"}})).saved("two"),
            put_edited(w("a"), "two", json!({"spec": {"size": 2}, "status": {"phase": "Changed"}})).saved("three"),
            put_edited(w("a"), "three", json!({"status": null})),
        ]),
        scenario("an update of the status changes nothing else", [
            wd(),
            put_edited(w("a/status"), "made", json!({"spec": {"size": 9}, "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}, "status": {"phase": "Ready"}})),
            get(w("a")),
        ]),
        scenario("an update of the status with a stale version is a conflict", [
            wd(),
            put_edited(w("a"), "made", json!({"spec": {"size": 2}})),
            put_edited(w("a/status"), "made", json!({"status": {"phase": "x"}})),
        ]),
        scenario("a dry run of an update stores nothing", [
            cm("a"),
            put_edited(one("a"), "made", json!({"data": {"k": "dry"}})).query("dryRun=All"),
            get(one("a")),
            wd(),
            put_edited(w("a"), "made", json!({"spec": {"size": 5}})).query("dryRun=All"),
            get(w("a")),
        ]),
        scenario("an update may change labels, annotations, finalizers and owners", [
            cm("a"),
            put_edited(one("a"), "made", json!({"metadata": {
                "labels": {"a": "b"}, "annotations": {"c": "d"}, "finalizers": ["example.com/f"],
                "ownerReferences": [{"apiVersion": "unknown.example.com/v1", "kind": "Unknown", "name": "o", "uid": "u"}],
            }})).saved("two"),
            put_edited(one("a"), "two", json!({"metadata": {"labels": null, "finalizers": null, "ownerReferences": null}})),
        ]),
        scenario("an update with invalid labels is refused", [
            cm("a"),
            put_edited(one("a"), "made", json!({"metadata": {"labels": {"a b": "c"}}})),
            wd(),
            put_edited(w("a"), "made", json!({"metadata": {"labels": {"a b": "c"}}})),
        ]),
        scenario("an update of another kind is refused", [
            cm("a"),
            put(one("a"), json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}})),
            wd(),
            put_edited(w("a"), "made", json!({"kind": "Gadget"})),
        ]),
        scenario("a strict update refuses unknown fields", [
            cm("a"),
            put_edited(one("a"), "made", json!({"dta": {}})).query("fieldValidation=Strict"),
            put_edited(one("a"), "made", json!({"dta": {}})),
            wd(),
            put_edited(w("a"), "made", json!({"spec": {"sise": 1}})).query("fieldValidation=Strict"),
            put_edited(w("a"), "made", json!({"spec": {"sise": 1}})),
        ]),
        scenario("an immutable config map keeps its data", [
            create(CONFIG_MAPS, json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}, "immutable": true})).saved("made"),
            put_edited(one("a"), "made", json!({"data": {"k": "x"}})),
            put_edited(one("a"), "made", json!({"immutable": false})),
            put_edited(one("a"), "made", json!({"metadata": {"labels": {"a": "b"}}})),
        ]),
        scenario("the manager of an update owns what it changed", [
            cm("a"),
            put_edited(one("a"), "made", json!({"data": {"other": "x"}})).query("fieldManager=second").saved("two"),
            put_edited(one("a"), "two", json!({"data": {"k": "mine"}})).query("fieldManager=second").saved("three"),
            put_edited(one("a"), "three", json!({"data": {"k": null}})).query("fieldManager=third"),
        ]),
        scenario("an update with empty managed fields removes them", [
            cm("a"),
            put_edited(one("a"), "made", json!({"metadata": {"managedFields": [{}]}})),
            put_edited(one("a"), "made", json!({"metadata": {"managedFields": [], "resourceVersion": null}})),
            put_edited(one("a"), "made", json!({"metadata": {"managedFields": null, "resourceVersion": null}, "data": {"k": "z"}})),
        ]),
        scenario("an update of an object that is being deleted may not add finalizers", [
            create(CONFIG_MAPS, with_metadata(config_map("a", json!({})), json!({"finalizers": ["example.com/f"]}))),
            delete(one("a")),
            get(one("a")).saved("made"),
            put_edited(one("a"), "made", json!({"metadata": {"finalizers": ["example.com/f", "example.com/g"]}})),
            put_edited(one("a"), "made", json!({"data": {"k": "v"}})).saved("changed"),
            put_edited(one("a"), "changed", json!({"metadata": {"deletionTimestamp": null}})).saved("still"),
            put_edited(one("a"), "still", json!({"metadata": {"finalizers": null}})),
            get(one("a")),
        ]),
        scenario("an update of a cluster-scoped object", [
            create(ZONES, zone("{id}-z", json!({"domain": "d"}))).saved("made"),
            put_edited(format!("{ZONES}/{{id}}-z"), "made", json!({"spec": {"domain": "e"}})),
            put_edited(format!("{ZONES}/{{id}}-z/status"), "made", json!({"status": {"ready": true}})),
        ]),
        scenario("a put to a collection is not allowed", [
            put(CONFIG_MAPS, config_map("a", json!({}))),
            put(WIDGETS, widget("a", json!({}))),
        ]),
    ]
}
