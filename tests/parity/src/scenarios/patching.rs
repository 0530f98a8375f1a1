//! Patches of all kinds but apply.

use serde_json::json;

use crate::{
    Scenario,
    kinds::{CONFIG_MAPS, WIDGETS, config_map, widget, with_metadata},
    scenario::*,
};

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/{ns}/deployments";
const PODS: &str = "/api/v1/namespaces/{ns}/pods";

pub(super) fn scenarios() -> Vec<Scenario> {
    let one = |name: &str| format!("{CONFIG_MAPS}/{name}");
    let w = |name: &str| format!("{WIDGETS}/{name}");
    let cm = || create(CONFIG_MAPS, config_map("a", json!({"k": "v", "l": "w"}))).saved("made");
    let wd = || {
        create(WIDGETS, widget("a", json!({"size": 1, "args": ["x", "y"], "options": {"a": "b"}})))
            .saved("made")
    };
    let deployment = || {
        create(
            DEPLOYMENTS,
            json!({
                "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
                "spec": {
                    "selector": {"matchLabels": {"app": "d"}},
                    "template": {
                        "metadata": {"labels": {"app": "d"}},
                        "spec": {"containers": [
                            {"name": "one", "image": "i:1", "ports": [{"containerPort": 80}], "env": [{"name": "A", "value": "1"}]},
                            {"name": "two", "image": "j:1"},
                        ]},
                    },
                },
            }),
        )
    };
    let d = || format!("{DEPLOYMENTS}/d");
    vec![
        scenario(
            "a merge patch adds, changes and removes",
            [
                cm(),
                merge_patch(
                    one("a"),
                    json!({"data": {"k": null, "l": "x", "m": "y"}, "metadata": {"labels": {"a": "b"}}}),
                ),
                get(one("a")),
            ],
        ),
        scenario(
            "a merge patch replaces lists",
            [wd(), merge_patch(w("a"), json!({"spec": {"args": ["z"], "options": null}}))],
        ),
        scenario(
            "a merge patch that changes nothing keeps the version",
            [
                cm(),
                merge_patch(one("a"), json!({})),
                merge_patch(one("a"), json!({"data": {"k": "v"}})),
                wd(),
                merge_patch(w("a"), json!({})),
                merge_patch(w("a"), json!({"spec": {"size": 1}})),
            ],
        ),
        scenario(
            "a patch of an absent object is not found",
            [
                merge_patch(one("a"), json!({"data": {}})),
                json_patch(one("a"), json!([])),
                strategic_patch(one("a"), json!({})),
                merge_patch(w("a"), json!({"spec": {}})),
            ],
        ),
        scenario(
            "a JSON patch adds, removes, replaces, moves, copies and tests",
            [
                cm(),
                json_patch(
                    one("a"),
                    json!([
                        {"op": "test", "path": "/data/k", "value": "v"},
                        {"op": "add", "path": "/data/n", "value": "new"},
                        {"op": "replace", "path": "/data/l", "value": "x"},
                        {"op": "copy", "from": "/data/k", "path": "/data/copied"},
                        {"op": "move", "from": "/data/l", "path": "/data/moved"},
                        {"op": "remove", "path": "/data/k"},
                    ]),
                ),
                wd(),
                json_patch(
                    w("a"),
                    json!([
                        {"op": "add", "path": "/spec/args/-", "value": "last"},
                        {"op": "add", "path": "/spec/args/0", "value": "first"},
                        {"op": "remove", "path": "/spec/args/1"},
                        {"op": "add", "path": "/metadata/labels", "value": {"a~b": "c"}},
                    ]),
                ),
            ],
        ),
        scenario(
            "a JSON patch whose test fails changes nothing",
            [
                cm(),
                json_patch(
                    one("a"),
                    json!([
                        {"op": "replace", "path": "/data/k", "value": "x"},
                        {"op": "test", "path": "/data/l", "value": "other"},
                    ]),
                ),
                json_patch(one("a"), json!([{"op": "test", "path": "/data/absent", "value": "x"}])),
                get(one("a")),
                wd(),
                json_patch(w("a"), json!([{"op": "test", "path": "/spec/size", "value": 2}])),
            ],
        ),
        scenario(
            "a JSON patch of a path that does not exist is refused",
            [
                cm(),
                json_patch(one("a"), json!([{"op": "remove", "path": "/data/absent"}])),
                json_patch(one("a"), json!([{"op": "replace", "path": "/data/absent", "value": "x"}])),
                json_patch(one("a"), json!([{"op": "add", "path": "/absent/deeper", "value": "x"}])),
                json_patch(one("a"), json!([{"op": "copy", "from": "/data/absent", "path": "/data/b"}])),
                json_patch(one("a"), json!([{"op": "move", "from": "/data/absent", "path": "/data/b"}])),
                wd(),
                json_patch(w("a"), json!([{"op": "remove", "path": "/spec/args/7"}])),
                json_patch(w("a"), json!([{"op": "add", "path": "/spec/args/7", "value": "x"}])),
            ],
        ),
        scenario(
            "a JSON patch that is none is refused",
            [
                cm(),
                json_patch(one("a"), json!({"data": {}})),
                json_patch(one("a"), json!([{"op": "explode", "path": "/data"}])),
                json_patch(one("a"), json!([{"path": "/data/k", "value": "x"}])),
                json_patch(one("a"), json!([{"op": "add", "value": "x"}])),
                json_patch(one("a"), json!([{"op": "add", "path": "data", "value": "x"}])),
                json_patch(one("a"), json!(["add"])),
                json_patch(one("a"), json!("text")),
                send_text("PATCH", one("a"), "[{").header("content-type", "application/json-patch+json"),
            ],
        ),
        scenario(
            "an empty JSON patch keeps the version",
            [cm(), json_patch(one("a"), json!([])), wd(), json_patch(w("a"), json!([]))],
        ),
        scenario(
            "a JSON patch with an escaped key",
            [
                cm(),
                json_patch(
                    one("a"),
                    json!([{"op": "add", "path": "/metadata/annotations", "value": {}}, {"op": "add", "path": "/metadata/annotations/example.com~1a", "value": "b"}]),
                ),
            ],
        ),
        scenario(
            "a merge patch that is no object is refused",
            [
                cm(),
                merge_patch(one("a"), json!([])),
                merge_patch(one("a"), json!("text")),
                merge_patch(one("a"), json!(null)),
                send_text("PATCH", one("a"), "{").header("content-type", "application/merge-patch+json"),
                send_text("PATCH", w("a"), "{").header("content-type", "application/merge-patch+json"),
                wd(),
                merge_patch(w("a"), json!([])),
                send_text("PATCH", w("a"), "{").header("content-type", "application/merge-patch+json"),
            ],
        ),
        scenario(
            "a patch whose version is stale is a conflict",
            [
                cm(),
                merge_patch(one("a"), json!({"data": {"k": "1"}})),
                merge_patch(
                    one("a"),
                    json!({"metadata": {"resourceVersion": "{made.metadata.resourceVersion}"}, "data": {"k": "2"}}),
                ),
                wd(),
                merge_patch(w("a"), json!({"spec": {"size": 2}})),
                merge_patch(
                    w("a"),
                    json!({"metadata": {"resourceVersion": "{made.metadata.resourceVersion}"}, "spec": {"size": 3}}),
                ),
                json_patch(
                    w("a"),
                    json!([{"op": "test", "path": "/metadata/resourceVersion", "value": "{made.metadata.resourceVersion}"}]),
                ),
            ],
        ),
        scenario(
            "a patch with the current version succeeds",
            [
                cm(),
                merge_patch(
                    one("a"),
                    json!({"metadata": {"resourceVersion": "{made.metadata.resourceVersion}"}, "data": {"k": "2"}}),
                ),
            ],
        ),
        scenario(
            "a patch with another uid is a conflict",
            [
                cm(),
                merge_patch(one("a"), json!({"metadata": {"uid": "11111111-1111-4111-8111-111111111111"}})),
                wd(),
                merge_patch(w("a"), json!({"metadata": {"uid": "11111111-1111-4111-8111-111111111111"}})),
            ],
        ),
        scenario(
            "a patch cannot change the name or the namespace",
            [
                cm(),
                merge_patch(one("a"), json!({"metadata": {"name": "b"}})),
                merge_patch(one("a"), json!({"metadata": {"namespace": "b"}})),
                wd(),
                merge_patch(w("a"), json!({"metadata": {"name": "b"}})),
                json_patch(w("a"), json!([{"op": "remove", "path": "/metadata/name"}])),
            ],
        ),
        scenario(
            "a patch cannot change the kind",
            [
                cm(),
                merge_patch(one("a"), json!({"kind": "Secret"})),
                merge_patch(one("a"), json!({"apiVersion": "v2"})),
                wd(),
                merge_patch(w("a"), json!({"kind": "Gadget"})),
                merge_patch(w("a"), json!({"apiVersion": "parity.example.com/v9"})),
                json_patch(w("a"), json!([{"op": "remove", "path": "/kind"}])),
            ],
        ),
        scenario(
            "a strategic merge patch may name any kind, but no other object",
            [
                cm(),
                strategic_patch(
                    one("a"),
                    json!({"apiVersion": "apps/v1", "kind": "Deployment", "data": {"n": "1"}}),
                ),
                strategic_patch(one("a"), json!({"apiVersion": "v9", "kind": "Status"})),
                strategic_patch(one("a"), json!({"kind": null, "data": {"n": "2"}})),
                strategic_patch(
                    one("a"),
                    json!({"apiVersion": "v1", "kind": "Status", "metadata": {"name": "b"}}),
                ),
            ],
        ),
        scenario(
            "a strategic merge patch merges lists by key",
            [
                deployment(),
                strategic_patch(
                    d(),
                    json!({"spec": {"template": {"spec": {"containers": [{"name": "two", "image": "j:2"}, {"name": "three", "image": "k:1"}]}}}}),
                ),
                strategic_patch(
                    d(),
                    json!({"spec": {"template": {"spec": {"containers": [{"name": "one", "env": [{"name": "B", "value": "2"}]}]}}}}),
                ),
                strategic_patch(
                    d(),
                    json!({"spec": {"template": {"spec": {"containers": [{"name": "three", "$patch": "delete"}]}}}}),
                ),
            ],
        ),
        scenario(
            "a strategic merge patch replaces with a directive",
            [
                deployment(),
                strategic_patch(
                    d(),
                    json!({"spec": {"template": {"spec": {"containers": [{"$patch": "replace"}, {"name": "only", "image": "o:1"}]}}}}),
                ),
                strategic_patch(
                    d(),
                    json!({"metadata": {"labels": {"a": "b"}}, "spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}),
                ),
            ],
        ),
        scenario(
            "a strategic merge patch orders and removes primitives",
            [
                create(
                    PODS,
                    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "finalizers": ["example.com/a", "example.com/b"]}, "spec": {"containers": [{"name": "c", "image": "i"}]}}),
                ),
                strategic_patch(format!("{PODS}/p"), json!({"metadata": {"finalizers": ["example.com/c"]}})),
                strategic_patch(
                    format!("{PODS}/p"),
                    json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}}),
                ),
                strategic_patch(
                    format!("{PODS}/p"),
                    json!({"metadata": {"$setElementOrder/finalizers": ["example.com/c", "example.com/b"], "finalizers": ["example.com/c", "example.com/b"]}}),
                ),
            ],
        ),
        scenario(
            "a strategic merge patch on a config map works like a merge patch",
            [
                cm(),
                strategic_patch(one("a"), json!({"data": {"k": null, "m": "y"}})),
                strategic_patch(one("a"), json!({"data": {"m": "y"}})),
                strategic_patch(one("a"), json!({"data": {"$patch": "replace", "z": "only"}})),
            ],
        ),
        scenario(
            "a strategic merge patch with a bad directive is refused",
            [
                cm(),
                strategic_patch(one("a"), json!({"data": {"$patch": "explode"}})),
                deployment(),
                strategic_patch(
                    d(),
                    json!({"spec": {"template": {"spec": {"containers": [{"image": "no name"}]}}}}),
                ),
                strategic_patch(d(), json!({"spec": {"template": {"spec": {"containers": {"a": "b"}}}}})),
                strategic_patch(d(), json!([])),
            ],
        ),
        scenario(
            "a strategic merge patch of a custom object is an unsupported media type",
            [
                wd(),
                strategic_patch(w("a"), json!({"spec": {"size": 2}})),
                strategic_patch(w("absent"), json!({"spec": {"size": 2}})),
                strategic_patch(w("a/status"), json!({"status": {}})),
            ],
        ),
        scenario(
            "a patch of an unknown media type is refused",
            [
                cm(),
                merge_patch(one("a"), json!({})).header("content-type", "application/json"),
                merge_patch(one("a"), json!({})).header("content-type", "text/plain"),
                merge_patch(one("a"), json!({})).without_header("content-type"),
                wd(),
                merge_patch(w("a"), json!({})).header("content-type", "application/json"),
                merge_patch(w("a"), json!({"spec": {"size": 3}}))
                    .header("content-type", "application/merge-patch+json; charset=utf-8"),
            ],
        ),
        scenario(
            "a patch of the status changes only the status",
            [
                wd(),
                merge_patch(
                    w("a/status"),
                    json!({"status": {"phase": "Ready"}, "spec": {"size": 9}, "metadata": {"labels": {"a": "b"}}}),
                ),
                json_patch(w("a/status"), json!([{"op": "add", "path": "/status/observed", "value": 1}])),
                get(w("a")),
            ],
        ),
        scenario(
            "a patch of the object does not change the status",
            [
                wd(),
                merge_patch(w("a"), json!({"status": {"phase": "Ready"}, "spec": {"size": 9}})),
                merge_patch(w("a"), json!({"status": {"phase": "Ready"}})),
            ],
        ),
        scenario(
            "a patch is validated",
            [
                wd(),
                merge_patch(w("a"), json!({"spec": {"size": 500}})),
                merge_patch(w("a"), json!({"spec": {"size": "large"}})),
                merge_patch(w("a"), json!({"metadata": {"labels": {"a b": "c"}}})),
                cm(),
                merge_patch(one("a"), json!({"data": {"k": 5}})),
                merge_patch(one("a"), json!({"data": {"a b": "c"}})),
                merge_patch(one("a"), json!({"metadata": {"labels": {"a": 1}}})),
            ],
        ),
        scenario(
            "a patch with unknown fields warns, or is refused when strict",
            [
                cm(),
                merge_patch(one("a"), json!({"dta": {}})),
                merge_patch(one("a"), json!({"dta": {}})).query("fieldValidation=Strict"),
                wd(),
                merge_patch(w("a"), json!({"spec": {"sise": 1}})),
                merge_patch(w("a"), json!({"spec": {"sise": 1}})).query("fieldValidation=Strict"),
                json_patch(w("a"), json!([{"op": "add", "path": "/spec/sise", "value": 1}]))
                    .query("fieldValidation=Strict"),
                deployment(),
                strategic_patch(d(), json!({"spec": {"template": {"spec": {"containrs": []}}}})),
                strategic_patch(d(), json!({"spec": {"template": {"spec": {"containrs": []}}}}))
                    .query("fieldValidation=Strict"),
            ],
        ),
        scenario(
            "a dry run of a patch stores nothing",
            [
                cm(),
                merge_patch(one("a"), json!({"data": {"k": "dry"}})).query("dryRun=All"),
                get(one("a")),
                wd(),
                json_patch(w("a"), json!([{"op": "replace", "path": "/spec/size", "value": 8}]))
                    .query("dryRun=All"),
                get(w("a")),
            ],
        ),
        scenario(
            "a patch may not force unless it applies",
            [
                cm(),
                merge_patch(one("a"), json!({"data": {"k": "x"}})).query("force=true"),
                merge_patch(one("a"), json!({"data": {"k": "x"}})).query("force=false"),
            ],
        ),
        scenario(
            "a patch that removes the last finalizer of an object under deletion removes the object",
            [
                create(
                    CONFIG_MAPS,
                    with_metadata(
                        config_map("a", json!({})),
                        json!({"finalizers": ["example.com/f", "example.com/g"]}),
                    ),
                ),
                delete(one("a")),
                json_patch(one("a"), json!([{"op": "remove", "path": "/metadata/finalizers/0"}])),
                json_patch(one("a"), json!([{"op": "remove", "path": "/metadata/finalizers"}])),
                get(one("a")),
            ],
        ),
        scenario(
            "a patch names the manager of what it changed",
            [
                cm(),
                merge_patch(one("a"), json!({"data": {"k": "x"}})).query("fieldManager=second"),
                json_patch(one("a"), json!([{"op": "add", "path": "/data/n", "value": "y"}]))
                    .query("fieldManager=third"),
                merge_patch(one("a"), json!({"data": {"n": null}})).query("fieldManager=fourth"),
            ],
        ),
        scenario(
            "a patch of a collection is not allowed",
            [merge_patch(CONFIG_MAPS, json!({})), merge_patch(WIDGETS, json!({}))],
        ),
        scenario(
            "a merge patch keeps a null that the schema allows only by removing the key",
            [
                create(WIDGETS, widget("a", json!({"note": "text"}))),
                merge_patch(w("a"), json!({"spec": {"note": null}})),
                json_patch(w("a"), json!([{"op": "add", "path": "/spec/note", "value": null}])),
                get(w("a")),
            ],
        ),
        scenario(
            "a JSON patch of the whole document",
            [
                cm(),
                json_patch(one("a"), json!([{"op": "test", "path": "", "value": {}}])),
                json_patch(
                    one("a"),
                    json!([{"op": "replace", "path": "", "value": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"new": "all"}}}]),
                ),
            ],
        ),
        scenario(
            "a deployment's replicas patched to null are defaulted again",
            [
                deployment(),
                merge_patch(d(), json!({"spec": {"replicas": 5}})),
                merge_patch(d(), json!({"spec": {"replicas": null}})),
            ],
        ),
    ]
}
