//! Status and scale.

use serde_json::{Value, json};

use crate::{
    Scenario,
    kinds::{CONFIG_MAPS, GADGETS, WIDGETS, ZONES, config_map, gadget, widget, zone},
    scenario::*,
};

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/{ns}/deployments";

fn deployment(replicas: Value) -> Step {
    create(
        DEPLOYMENTS,
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": "d"}},
                "template": {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
            },
        }),
    )
    .saved("d")
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let w = |name: &str| format!("{WIDGETS}/{name}");
    let d = |name: &str| format!("{DEPLOYMENTS}/{name}");
    let wd = || create(WIDGETS, widget("a", json!({"size": 1, "replicas": 3}))).saved("w");
    vec![
        scenario("the status is read with the whole object", [wd(), get(w("a/status"))]),
        scenario(
            "an absent object has no status and no scale",
            [
                get(w("a/status")),
                get(w("a/scale")),
                merge_patch(w("a/status"), json!({"status": {}})),
                merge_patch(w("a/scale"), json!({"spec": {"replicas": 1}})),
            ],
        ),
        scenario(
            "a kind without subresources has none",
            [
                create(GADGETS, gadget("a", json!({}))),
                get(format!("{GADGETS}/a/status")),
                get(format!("{GADGETS}/a/scale")),
                merge_patch(format!("{GADGETS}/a/status"), json!({"status": {}})),
                create(CONFIG_MAPS, config_map("a", json!({}))),
                get(format!("{CONFIG_MAPS}/a/status")),
                create(ZONES, zone("{id}-z", json!({}))),
                get(format!("{ZONES}/{{id}}-z/scale")),
            ],
        ),
        scenario(
            "a subresource that nobody knows is not found",
            [wd(), get(w("a/color")), get(w("a/status/deeper"))],
        ),
        scenario("a status is not created", [wd(), create(w("a/status"), widget("a", json!({})))]),
        scenario(
            "a status is validated",
            [
                wd(),
                merge_patch(w("a/status"), json!({"status": {"replicas": "many"}})),
                merge_patch(w("a/status"), json!({"status": {"conditions": [{"type": "A"}]}})),
                merge_patch(
                    w("a/status"),
                    json!({"status": {"conditions": [{"type": "A", "status": "True"}, {"type": "A", "status": "False"}]}}),
                ),
                merge_patch(w("a/status"), json!({"status": {"unknown": 1, "phase": "x"}})),
            ],
        ),
        scenario(
            "a status is removed by null",
            [
                wd(),
                merge_patch(w("a/status"), json!({"status": {"phase": "x"}})),
                merge_patch(w("a/status"), json!({"status": null})),
            ],
        ),
        scenario(
            "a change of status that changes nothing keeps the version",
            [
                wd(),
                merge_patch(w("a/status"), json!({"status": {"phase": "x"}})),
                merge_patch(w("a/status"), json!({"status": {"phase": "x"}})),
            ],
        ),
        scenario(
            "the status has managed fields of its own",
            [
                wd(),
                merge_patch(w("a/status"), json!({"status": {"phase": "x"}})).query("fieldManager=reporter"),
                merge_patch(w("a"), json!({"spec": {"size": 2}})).query("fieldManager=reporter"),
            ],
        ),
        scenario(
            "a custom object is scaled",
            [
                wd(),
                get(w("a/scale")).saved("s"),
                put_edited(w("a/scale"), "s", json!({"spec": {"replicas": 5}})),
                get(w("a")),
                merge_patch(w("a/scale"), json!({"spec": {"replicas": 7}})),
                merge_patch(w("a/status"), json!({"status": {"replicas": 2, "selector": "app=a"}})),
                get(w("a/scale")),
            ],
        ),
        scenario(
            "a custom object without replicas has a scale of zero",
            [create(WIDGETS, widget("a", json!({}))), get(w("a/scale"))],
        ),
        scenario("the body of a scale is read before its object is looked for", {
            let bodies = [
                "null",
                "{}",
                "x",
                "[]",
                r#"{"kind":7}"#,
                r#"{"kind":"Scale"}"#,
                r#"{"kind":"Other"}"#,
                r#"{"apiVersion":"example.com/v1"}"#,
                r#"{"apiVersion":"apps/v1","kind":"Scale"}"#,
                r#"{"apiVersion":"apps/v1","kind":"Deployment"}"#,
                r#"{"apiVersion":"autoscaling/v1","kind":"Deployment"}"#,
                r#"{"metadata":7}"#,
                r#"{"metadata":{"name":"other"}}"#,
                r#"{"metadata":{"name":"a"},"spec":{"replicas":2147483648}}"#,
                r#"{"metadata":{"name":"a"},"spec":{"replicas":1.5}}"#,
                r#"{"metadata":{"name":"a"},"status":{"replicas":2147483648}}"#,
                r#"{"metadata":{"name":"a"},"spec":{"replicas":"x"}}"#,
                r#"{"metadata":{"name":"a"},"spec":{"replicas":2}}"#,
            ];
            let put = |body| {
                let put = |path| send_text("PUT", path, body).header("content-type", "application/json");
                [put(w("a/scale")), put(d("a/scale"))]
            };
            let absent = bodies.into_iter().flat_map(put).collect::<Vec<_>>();
            let steps = absent.clone().into_iter().chain([wd()]).chain(absent);
            steps.chain([
                get(w("a/scale")).query("resourceVersion=x"),
                get(d("a/scale")).query("resourceVersion=x"),
            ])
        }),
        scenario(
            "a scale is checked",
            [
                wd(),
                merge_patch(w("a/scale"), json!({"spec": {"replicas": -1}})),
                merge_patch(w("a/scale"), json!({"spec": {"replicas": "x"}})),
                merge_patch(w("a/scale"), json!({"metadata": {"name": "b"}})),
                put(
                    w("a/scale"),
                    json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 2}}),
                ),
                put(
                    w("a/scale"),
                    json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "b"}, "spec": {"replicas": 2}}),
                ),
                put(
                    w("a/scale"),
                    json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a", "resourceVersion": "1"}, "spec": {"replicas": 2}}),
                ),
                put(w("a/scale"), widget("a", json!({}))),
            ],
        ),
        scenario(
            "a dry run does not scale",
            [
                wd(),
                merge_patch(w("a/scale"), json!({"spec": {"replicas": 9}})).query("dryRun=All"),
                get(w("a/scale")),
            ],
        ),
        scenario(
            "a deployment is scaled",
            [
                deployment(json!(2)),
                get(d("d/scale")).saved("s"),
                put_edited(d("d/scale"), "s", json!({"spec": {"replicas": 4}})),
                get(d("d")),
                merge_patch(d("d/scale"), json!({"spec": {"replicas": 6}})),
                merge_patch(d("d/scale"), json!({"spec": {"replicas": -1}})),
            ],
        ),
        scenario(
            "a deployment's status is a subresource",
            [
                deployment(json!(2)),
                get(d("d/status")),
                merge_patch(
                    d("d/status"),
                    json!({"status": {"replicas": 2, "observedGeneration": 1}, "spec": {"replicas": 9}}),
                ),
                merge_patch(d("d"), json!({"status": {"replicas": 7}})),
                put_edited(
                    d("d/status"),
                    "d",
                    json!({"metadata": {"resourceVersion": null}, "status": {"readyReplicas": 1, "replicas": 1}}),
                ),
            ],
        ),
        scenario(
            "a stale scale is a conflict",
            [
                deployment(json!(2)),
                get(d("d/scale")).saved("s"),
                merge_patch(d("d"), json!({"spec": {"replicas": 3}})),
                put_edited(d("d/scale"), "s", json!({"spec": {"replicas": 4}})),
            ],
        ),
        scenario(
            "a cluster-scoped status",
            [
                create(ZONES, zone("{id}-z", json!({}))),
                merge_patch(format!("{ZONES}/{{id}}-z/status"), json!({"status": {"ready": true}})),
                get(format!("{ZONES}/{{id}}-z")),
            ],
        ),
        scenario(
            "a pod's status, and its subresources",
            [
                create(
                    "/api/v1/namespaces/{ns}/pods",
                    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}),
                ),
                merge_patch(
                    "/api/v1/namespaces/{ns}/pods/p/status",
                    json!({"status": {"phase": "Running", "podIP": "10.1.2.3"}}),
                ),
                strategic_patch(
                    "/api/v1/namespaces/{ns}/pods/p/status",
                    json!({"status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}]}}),
                ),
                strategic_patch(
                    "/api/v1/namespaces/{ns}/pods/p/status",
                    json!({"status": {"conditions": [{"type": "Other", "status": "False"}]}}),
                ),
            ],
        ),
    ]
}
