//! Server-side apply.

use serde_json::{Value, json};

use crate::{
    Scenario,
    kinds::{CONFIG_MAPS, GADGETS, WIDGETS, ZONES, config_map, gadget, widget, with_metadata, zone},
    scenario::*,
};

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/{ns}/deployments";

pub(super) fn scenarios() -> Vec<Scenario> {
    let one = |name: &str| format!("{CONFIG_MAPS}/{name}");
    let a = || format!("{WIDGETS}/a");
    let wd = |manager: &str, spec: Value| apply(format!("{WIDGETS}/a"), manager, widget("a", spec));
    let cm = |manager: &str, data: Value| apply(format!("{CONFIG_MAPS}/a"), manager, config_map("a", data));
    let deployment = |manager: &str, containers: Value| {
        apply(
            format!("{DEPLOYMENTS}/d"),
            manager,
            json!({
                "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
                "spec": {
                    "selector": {"matchLabels": {"app": "d"}},
                    "template": {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": containers}},
                },
            }),
        )
    };
    vec![
        scenario("an apply creates what is absent", [wd("one", json!({"size": 1})), get(a()), cm("one", json!({"k": "v"})), get(one("a"))]),
        scenario("an apply that changes nothing keeps the version", [
            wd("one", json!({"size": 1})),
            wd("one", json!({"size": 1})),
            cm("one", json!({"k": "v"})),
            cm("one", json!({"k": "v"})),
        ]),
        scenario("an apply changes its own fields", [wd("one", json!({"size": 1})), wd("one", json!({"size": 2})), cm("one", json!({"k": "v"})), cm("one", json!({"k": "w"}))]),
        scenario("an apply of another manager's field is a conflict", [
            wd("one", json!({"size": 1, "color": "red"})),
            wd("two", json!({"size": 2})),
            wd("two", json!({"size": 2, "color": "blue"})),
            cm("one", json!({"k": "v"})),
            cm("two", json!({"k": "w"})),
            get(a()),
        ]),
        scenario("a forced apply takes the field over", [
            wd("one", json!({"size": 1, "color": "red"})),
            wd("two", json!({"size": 2})).query("force=true"),
            wd("one", json!({"color": "red"})),
            wd("one", json!({"size": 1})),
        ]),
        scenario("two managers that apply the same value share the field", [
            wd("one", json!({"size": 1})),
            wd("two", json!({"size": 1})),
            wd("one", json!({})),
            wd("two", json!({})),
        ]),
        scenario("a field that is no longer applied is removed", [
            wd("one", json!({"size": 1, "color": "red", "nested": {"key": "k"}})),
            wd("one", json!({"size": 1})),
            cm("one", json!({"k": "v", "l": "w"})),
            cm("one", json!({"l": "w"})),
        ]),
        scenario("a default comes back when its field is no longer applied", [
            wd("one", json!({"shape": "square", "size": 1})),
            wd("one", json!({"size": 1})),
        ]),
        scenario("two managers own different fields", [
            wd("one", json!({"size": 1})),
            wd("two", json!({"color": "red"})),
            wd("one", json!({"size": 3})),
            wd("two", json!({})),
        ]),
        scenario("a list by key is merged by key", [
            wd("one", json!({"ports": [{"name": "a", "number": 1}]})),
            wd("two", json!({"ports": [{"name": "b", "number": 2}]})),
            wd("one", json!({"ports": [{"name": "a", "number": 5}]})),
            wd("two", json!({"ports": [{"name": "a", "number": 6}]})),
            wd("one", json!({})),
        ]),
        scenario("a set is merged by value", [
            wd("one", json!({"tags": ["a", "b"]})),
            wd("two", json!({"tags": ["b", "c"]})),
            wd("one", json!({"tags": ["a"]})),
            wd("two", json!({"tags": []})),
        ]),
        scenario("an atomic list is owned as a whole", [
            wd("one", json!({"args": ["a"]})),
            wd("two", json!({"args": ["a", "b"]})),
            wd("two", json!({"args": ["a"]})),
            wd("two", json!({"args": ["a", "b"]})).query("force=true"),
        ]),
        scenario("an atomic map is owned as a whole", [
            wd("one", json!({"atomic": {"a": "1"}})),
            wd("two", json!({"atomic": {"b": "2"}})),
            wd("two", json!({"atomic": {"b": "2"}})).query("force=true"),
        ]),
        scenario("a map with free keys is merged by key", [
            wd("one", json!({"options": {"a": "1"}})),
            wd("two", json!({"options": {"b": "2"}})),
            wd("one", json!({"options": {}})),
            wd("one", json!({})),
        ]),
        scenario("a free object is merged by key", [
            wd("one", json!({"free": {"a": {"b": 1}}})),
            wd("two", json!({"free": {"a": {"c": 2}}})),
            apply(format!("{GADGETS}/a"), "one", gadget("a", json!({"x": {"y": 1}, "list": [1, 2]}))),
            apply(format!("{GADGETS}/a"), "two", gadget("a", json!({"x": {"z": 2}}))),
            apply(format!("{GADGETS}/a"), "two", gadget("a", json!({"list": [3]}))),
        ]),
        scenario("an apply with duplicate keys in a list is refused", [
            wd("one", json!({"ports": [{"name": "a", "number": 1}, {"name": "a", "number": 2}]})),
            wd("one", json!({"tags": ["a", "a"]})),
            wd("one", json!({"ports": [{"number": 1}]})),
            get(a()),
        ]),
        scenario("an apply is validated", [
            wd("one", json!({"size": 500})),
            wd("one", json!({"size": "x"})),
            wd("one", json!({"low": 5, "high": 2})),
            wd("one", json!({"args": {"a": "b"}})),
            cm("one", json!({"k": 1})),
            cm("one", json!({"a b": "v"})),
        ]),
        scenario("an apply with unknown fields is refused or warned about", [
            wd("one", json!({"sise": 1})),
            wd("one", json!({"sise": 1})).query("fieldValidation=Strict"),
            wd("one", json!({"sise": 1, "size": 2})).query("fieldValidation=Ignore"),
            apply(one("a"), "one", json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "dta": {"k": "v"}})),
        ]),
        scenario("an apply without a manager is refused", [
            apply(a(), "", widget("a", json!({}))),
            merge_patch(a(), widget("a", json!({}))).header("content-type", "application/apply-patch+yaml"),
            merge_patch(one("a"), config_map("a", json!({}))).header("content-type", "application/apply-patch+yaml"),
            apply(a(), &"m".repeat(129), widget("a", json!({}))),
            apply(a(), "a%0Ab", widget("a", json!({}))),
        ]),
        scenario("an apply without kind, version or name is refused", [
            apply(a(), "one", json!({"metadata": {"name": "a"}})),
            apply(a(), "one", json!({"kind": "Widget", "metadata": {"name": "a"}})),
            apply(a(), "one", json!({"apiVersion": "parity.example.com/v1", "metadata": {"name": "a"}})),
            apply(a(), "one", json!({"apiVersion": "parity.example.com/v1", "kind": "Widget"})),
            apply(one("a"), "one", json!({"metadata": {"name": "a"}})),
            apply(one("a"), "one", json!({"apiVersion": "v1", "kind": "ConfigMap"})),
        ]),
        scenario("an apply of another kind or name is refused", [
            apply(a(), "one", gadget("a", json!({}))),
            apply(a(), "one", widget("b", json!({}))),
            apply(one("a"), "one", widget("a", json!({}))),
            apply(one("a"), "one", config_map("b", json!({}))),
            apply(one("a"), "one", with_metadata(config_map("a", json!({})), json!({"namespace": "other"}))),
            apply(a(), "one", json!({"apiVersion": "parity.example.com/v9", "kind": "Widget", "metadata": {"name": "a"}})),
        ]),
        scenario("an apply with managed fields is refused", [
            apply(a(), "one", with_metadata(widget("a", json!({})), json!({"managedFields": [{"manager": "x", "operation": "Apply"}]}))),
            apply(one("a"), "one", with_metadata(config_map("a", json!({})), json!({"managedFields": []}))),
        ]),
        scenario("an apply with the right version succeeds, with a wrong one it conflicts", [
            wd("one", json!({"size": 1})).saved("w"),
            apply(a(), "one", with_metadata(widget("a", json!({"size": 2})), json!({"resourceVersion": "{w.metadata.resourceVersion}"}))),
            apply(a(), "one", with_metadata(widget("a", json!({"size": 3})), json!({"resourceVersion": "{w.metadata.resourceVersion}"}))),
            apply(format!("{WIDGETS}/new"), "one", with_metadata(widget("new", json!({"size": 3})), json!({"resourceVersion": "5"}))),
        ]),
        scenario("an apply with a uid does not create", [
            apply(a(), "one", with_metadata(widget("a", json!({})), json!({"uid": "11111111-1111-4111-8111-111111111111"}))),
            wd("one", json!({"size": 1})),
            apply(a(), "one", with_metadata(widget("a", json!({})), json!({"uid": "11111111-1111-4111-8111-111111111111"}))),
        ]),
        scenario("an apply in YAML", [
            send_text("PATCH", one("a"), "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  # a comment\n  k: |\n    two\n    lines\n")
                .header("content-type", "application/apply-patch+yaml").query("fieldManager=one"),
            send_text("PATCH", a(), "apiVersion: parity.example.com/v1\nkind: Widget\nmetadata:\n  name: a\nspec:\n  size: 4\n  tags: [x, y]\n")
                .header("content-type", "application/apply-patch+yaml").query("fieldManager=one"),
        ]),
        scenario("an apply that is no YAML is refused", [
            send_text("PATCH", a(), "a: [").header("content-type", "application/apply-patch+yaml").query("fieldManager=one"),
            send_text("PATCH", a(), "text").header("content-type", "application/apply-patch+yaml").query("fieldManager=one"),
            send_text("PATCH", a(), "- a").header("content-type", "application/apply-patch+yaml").query("fieldManager=one"),
            send_text("PATCH", one("a"), "a: [").header("content-type", "application/apply-patch+yaml").query("fieldManager=one"),
            send_text("PATCH", one("a"), "").header("content-type", "application/apply-patch+yaml").query("fieldManager=one"),
        ]),
        scenario("a dry run of an apply stores nothing", [
            wd("one", json!({"size": 1})).query("dryRun=All"),
            get(a()),
            wd("one", json!({"size": 1})),
            wd("one", json!({"size": 2})).query("dryRun=All"),
            wd("two", json!({"size": 2})).query("dryRun=All"),
            get(a()),
        ]),
        scenario("a status is applied apart from the spec", [
            wd("one", json!({"size": 1})),
            apply(format!("{WIDGETS}/a/status"), "two", json!({"apiVersion": "parity.example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "status": {"phase": "Ready", "conditions": [{"type": "A", "status": "True"}]}})),
            apply(format!("{WIDGETS}/a/status"), "three", json!({"apiVersion": "parity.example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "status": {"conditions": [{"type": "B", "status": "True"}]}})),
            apply(format!("{WIDGETS}/a/status"), "three", json!({"apiVersion": "parity.example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "status": {"phase": "Mine"}})),
            apply(format!("{WIDGETS}/a/status"), "two", json!({"apiVersion": "parity.example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "status": {}})),
            get(a()),
        ]),
        scenario("an apply of the status of an absent object is not found", [
            apply(format!("{WIDGETS}/a/status"), "one", json!({"apiVersion": "parity.example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "status": {}})),
            apply(format!("{WIDGETS}/a/status"), "one", config_map("a", json!({}))),
            apply(format!("{WIDGETS}/a/status"), "one", json!(["no", "object"])),
        ]),
        scenario("an applied status in the main resource is ignored", [
            apply(a(), "one", { let mut w = widget("a", json!({"size": 1})); w["status"] = json!({"phase": "x"}); w }),
        ]),
        scenario("an apply over an update conflicts", [
            create(WIDGETS, widget("a", json!({"size": 1}))),
            wd("one", json!({"size": 2})),
            wd("one", json!({"size": 1})),
            wd("one", json!({"size": 3})).query("force=true"),
        ]),
        scenario("the same manager may update and apply", [
            create(WIDGETS, widget("a", json!({"size": 1}))).query("fieldManager=one"),
            wd("one", json!({"size": 2})),
            wd("one", json!({"size": 2})).query("force=true"),
            merge_patch(a(), json!({"spec": {"size": 5}})).query("fieldManager=one"),
        ]),
        scenario("an update of an applied field takes it over", [
            wd("one", json!({"size": 1, "color": "red"})).saved("w"),
            put_edited(a(), "w", json!({"spec": {"size": 2}})).query("fieldManager=two"),
            wd("one", json!({"size": 1, "color": "red"})),
            merge_patch(a(), json!({"spec": {"color": null}})).query("fieldManager=two"),
        ]),
        scenario("labels and annotations are merged by key", [
            apply(a(), "one", with_metadata(widget("a", json!({})), json!({"labels": {"a": "1"}, "annotations": {"x": "y"}}))),
            apply(a(), "two", with_metadata(widget("a", json!({})), json!({"labels": {"b": "2"}}))),
            apply(a(), "two", with_metadata(widget("a", json!({})), json!({"labels": {"a": "2"}}))),
            apply(a(), "one", widget("a", json!({}))),
        ]),
        scenario("finalizers and owners are merged as sets", [
            apply(a(), "one", with_metadata(widget("a", json!({})), json!({"finalizers": ["example.com/a"]}))).saved("w"),
            apply(a(), "two", with_metadata(widget("a", json!({})), json!({"finalizers": ["example.com/b"], "ownerReferences": [{"apiVersion": "unknown.example.com/v1", "kind": "Unknown", "name": "o", "uid": "u"}]}))),
            apply(a(), "one", widget("a", json!({}))),
        ]),
        scenario("an applied null removes or is ignored", [
            wd("one", json!({"size": 1, "color": "red"})),
            wd("one", json!({"size": null, "color": "red"})),
            wd("one", json!({"note": null})),
            cm("one", json!({"k": null})),
            apply(format!("{WIDGETS}/b"), "one", widget("b", json!({"size": null}))),
            apply(format!("{WIDGETS}/b"), "one", widget("b", json!({"shape": null, "note": null, "free": {"x": null}, "options": {"k": null}, "nested": null}))),
        ]),
        scenario("containers are merged by name and ports by port", [
            deployment("one", json!([{"name": "a", "image": "i:1", "ports": [{"containerPort": 80}]}])),
            deployment("two", json!([{"name": "a", "ports": [{"containerPort": 81}]}, {"name": "b", "image": "j:1"}])),
            deployment("two", json!([{"name": "a", "image": "i:2"}])),
            deployment("one", json!([{"name": "a", "image": "i:1"}])),
        ]),
        scenario("environment variables are merged by name and keep their order", [
            deployment("one", json!([{"name": "a", "image": "i:1", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}])),
            deployment("two", json!([{"name": "a", "env": [{"name": "C", "value": "3"}, {"name": "A", "value": "1"}]}])),
            deployment("one", json!([{"name": "a", "image": "i:1", "env": [{"name": "B", "value": "2"}]}])),
        ]),
        scenario("a cluster-scoped object is applied", [
            apply(format!("{ZONES}/{{id}}-z"), "one", zone("{id}-z", json!({"domain": "d"}))),
            apply(format!("{ZONES}/{{id}}-z"), "two", zone("{id}-z", json!({"domain": "e"}))),
        ]),
        scenario("a scale is applied", [
            wd("one", json!({"replicas": 1, "size": 1})),
            apply(format!("{WIDGETS}/a/scale"), "two", json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 2}})),
            apply(format!("{WIDGETS}/a/scale"), "two", json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 2}})).query("force=true"),
            get(a()),
        ]),
        scenario("a service's ports are merged by port and protocol", [
            apply("/api/v1/namespaces/{ns}/services/s", "one", json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"clusterIP": "None", "ports": [{"name": "a", "port": 80}]}})),
            apply("/api/v1/namespaces/{ns}/services/s", "two", json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"name": "b", "port": 81}]}})),
        ]),
        scenario("an object that an apply empties keeps what others own", [
            wd("one", json!({"options": {"a": "1"}, "size": 1})),
            wd("two", json!({"options": {"b": "2"}})),
            apply(a(), "one", json!({"apiVersion": "parity.example.com/v1", "kind": "Widget", "metadata": {"name": "a"}})),
        ]),
        scenario("managed fields are cleared by a patch", [
            wd("one", json!({"size": 1})),
            json_patch(a(), json!([{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}])),
            merge_patch(a(), json!({"spec": {"size": 2}})),
            wd("one", json!({"size": 3})),
        ]),
        scenario("an apply to an object without managed fields conflicts with what was there before", [
            create(WIDGETS, widget("a", json!({"size": 1, "color": "red"}))),
            json_patch(a(), json!([{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}])),
            wd("one", json!({"size": 2})),
            wd("one", json!({"color": "red"})),
        ]),
        scenario("an apply to an object under deletion does not bring it back", [
            apply(a(), "one", with_metadata(widget("a", json!({"size": 1})), json!({"finalizers": ["example.com/f"]}))),
            delete(a()),
            apply(a(), "one", with_metadata(widget("a", json!({"size": 2})), json!({"finalizers": ["example.com/f"]}))),
            apply(a(), "one", widget("a", json!({"size": 2}))),
            get(a()),
        ]),
        scenario("labels of which an apply leaves nothing are null until the next write", [
            create(format!("{WIDGETS}?fieldManager=zero"), with_metadata(widget("a", json!({})), json!({"labels": {"x": "0"}}))),
            apply(a(), "one", with_metadata(widget("a", json!({})), json!({"labels": {"x": "1"}, "finalizers": ["example.com/f"]}))).query("force=true"),
            apply(a(), "one", with_metadata(widget("a", json!({})), json!({"finalizers": ["example.com/f"]}))),
            get(a()),
            apply(a(), "one", with_metadata(widget("a", json!({})), json!({"finalizers": ["example.com/f"]}))),
            apply(a(), "one", with_metadata(widget("a", json!({})), json!({"finalizers": ["example.com/f"]}))),
            get(a()),
        ]),
        scenario("the answer of an apply that ends a deletion has labels of which nothing is left", [
            create(format!("{WIDGETS}?fieldManager=zero"), with_metadata(widget("a", json!({})), json!({"labels": {"x": "0"}, "annotations": {"x": "0"}}))),
            apply(a(), "one", with_metadata(widget("a", json!({})), json!({"labels": {"x": "1"}, "annotations": {"x": "1"}, "finalizers": ["example.com/f"]}))).query("force=true"),
            delete(a()),
            apply(a(), "one", widget("a", json!({}))),
            get(a()),
        ]),
        scenario("an empty list that is applied is a change each time", {
            // A read of this version waits until the server's cache has the object.
            let cached = || get(a()).query("resourceVersion={a.metadata.resourceVersion}");
            let empty = || apply(a(), "one", with_metadata(widget("a", json!({})), json!({"finalizers": []}))).saved("a");
            [empty(), cached(), empty(), cached(), empty(), cached(), wd("one", json!({})).saved("a"), cached(), wd("one", json!({}))]
        }),
        scenario("an apply in CBOR's place is an unsupported media type", [
            merge_patch(a(), json!({})).header("content-type", "application/apply-patch+cbor").query("fieldManager=one"),
            merge_patch(a(), json!({})).header("content-type", "application/apply-patch+json").query("fieldManager=one"),
        ]),
        scenario("an apply answers with 201 or 200", [cm("one", json!({})), cm("one", json!({"k": "v"})), cm("two", json!({}))]),
        scenario("secrets are applied", [
            apply("/api/v1/namespaces/{ns}/secrets/s", "one", json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "YQ=="}})),
            apply("/api/v1/namespaces/{ns}/secrets/s", "one", json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"b": "b"}})),
        ]),
    ]
}
