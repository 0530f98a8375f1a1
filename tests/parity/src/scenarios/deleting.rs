//! Deletion: preconditions, finalizers, propagation, and whole collections.

use serde_json::{Value, json};

use crate::{
    Scenario,
    kinds::{CONFIG_MAPS, GADGETS, WIDGETS, config_map, gadget, labelled, widget, with_metadata},
    scenario::*,
};

const PODS: &str = "/api/v1/namespaces/{ns}/pods";

fn options(mut fields: Value) -> Value {
    fields["apiVersion"] = json!("v1");
    fields["kind"] = json!("DeleteOptions");
    fields
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let one = |name: &str| format!("{CONFIG_MAPS}/{name}");
    let w = |name: &str| format!("{WIDGETS}/{name}");
    let cm = |name: &'static str| create(CONFIG_MAPS, config_map(name, json!({"k": "v"}))).saved(name);
    let wd = || create(WIDGETS, widget("a", json!({"size": 1}))).saved("w");
    let finalized = |name: &str| {
        create(
            CONFIG_MAPS,
            with_metadata(config_map(name, json!({})), json!({"finalizers": ["example.com/f"]})),
        )
    };
    let owned = |name: &str, owner: &str, block: bool| {
        let owner = json!([{
            "apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": format!("{{{owner}.metadata.uid}}"),
            "blockOwnerDeletion": block,
        }]);
        create(CONFIG_MAPS, with_metadata(config_map(name, json!({})), json!({"ownerReferences": owner})))
    };
    let pod = |name: &str| {
        create(
            PODS,
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}),
        )
    };
    vec![
        scenario("null is a body without options", {
            let null =
                |path: String| send_text("DELETE", path, "null").header("content-type", "application/json");
            [null(one("a")), cm("a"), null(one("a")), wd(), null(w("a")), wd(), null(WIDGETS.to_owned())]
        }),
        scenario(
            "a deletion answers with a status",
            [cm("a"), delete(one("a")), get(one("a")), wd(), delete(w("a")), get(w("a"))],
        ),
        scenario("a deletion of an absent object is not found", [delete(one("a")), delete(w("a"))]),
        scenario(
            "a deletion with the right preconditions succeeds",
            [
                cm("a"),
                delete_with(
                    one("a"),
                    options(
                        json!({"preconditions": {"uid": "{a.metadata.uid}", "resourceVersion": "{a.metadata.resourceVersion}"}}),
                    ),
                ),
                wd(),
                delete_with(w("a"), options(json!({"preconditions": {"uid": "{w.metadata.uid}"}}))),
            ],
        ),
        scenario(
            "a deletion with another uid is a conflict",
            [
                cm("a"),
                delete_with(
                    one("a"),
                    options(json!({"preconditions": {"uid": "11111111-1111-4111-8111-111111111111"}})),
                ),
                wd(),
                delete_with(
                    w("a"),
                    options(json!({"preconditions": {"uid": "11111111-1111-4111-8111-111111111111"}})),
                ),
            ],
        ),
        scenario(
            "a deletion with a stale version is a conflict",
            [
                cm("a"),
                merge_patch(one("a"), json!({"data": {"k": "x"}})),
                delete_with(
                    one("a"),
                    options(json!({"preconditions": {"resourceVersion": "{a.metadata.resourceVersion}"}})),
                ),
                wd(),
                merge_patch(w("a"), json!({"spec": {"size": 2}})),
                delete_with(
                    w("a"),
                    options(json!({"preconditions": {"resourceVersion": "{w.metadata.resourceVersion}"}})),
                ),
            ],
        ),
        scenario(
            "preconditions may be parameters",
            [
                cm("a"),
                delete(one("a")).query("resourceVersion=x"),
                delete(one("a")).query("uid=11111111-1111-4111-8111-111111111111"),
                delete(one("a")).query("resourceVersion=&uid="),
                wd(),
                delete(w("a")).query("resourceVersion=1"),
                delete(w("a")).query("uid={w.metadata.uid}&resourceVersion={w.metadata.resourceVersion}"),
            ],
        ),
        scenario(
            "a finalizer holds an object back",
            [
                finalized("a"),
                delete(one("a")),
                get(one("a")),
                get(CONFIG_MAPS),
                merge_patch(one("a"), json!({"metadata": {"finalizers": null}})),
                get(one("a")),
            ],
        ),
        scenario(
            "a finalizer holds a custom object back",
            [
                create(
                    WIDGETS,
                    with_metadata(widget("a", json!({})), json!({"finalizers": ["example.com/f"]})),
                ),
                delete(w("a")),
                get(w("a")),
                merge_patch(w("a"), json!({"spec": {"size": 4}})),
                merge_patch(w("a/status"), json!({"status": {"phase": "Going"}})),
                json_patch(w("a"), json!([{"op": "remove", "path": "/metadata/finalizers"}])),
                get(w("a")),
            ],
        ),
        scenario(
            "a second deletion of an object under deletion changes nothing",
            [
                finalized("a"),
                delete(one("a")),
                delete(one("a")),
                get(one("a")),
                create(
                    WIDGETS,
                    with_metadata(widget("a", json!({})), json!({"finalizers": ["example.com/f"]})),
                ),
                delete(w("a")),
                delete(w("a")),
            ],
        ),
        scenario(
            "a name is taken until the finalizers are gone",
            [finalized("a"), delete(one("a")), cm("a")],
        ),
        scenario(
            "a finalizer cannot be added to an object under deletion",
            [
                finalized("a"),
                delete(one("a")),
                merge_patch(
                    one("a"),
                    json!({"metadata": {"finalizers": ["example.com/f", "example.com/g"]}}),
                ),
                merge_patch(one("a"), json!({"metadata": {"finalizers": ["example.com/g"]}})),
                get(one("a")),
            ],
        ),
        scenario(
            "a dry run deletes nothing",
            [
                cm("a"),
                delete(one("a")).query("dryRun=All"),
                get(one("a")),
                delete_with(one("a"), options(json!({"dryRun": ["All"]}))),
                get(one("a")),
                delete_with(one("a"), options(json!({"dryRun": ["Nothing"]}))),
                finalized("f"),
                delete(one("f")).query("dryRun=All"),
                get(one("f")),
            ],
        ),
        scenario(
            "a grace period of zero deletes at once",
            [
                cm("a"),
                delete(one("a")).query("gracePeriodSeconds=0"),
                wd(),
                delete_with(w("a"), options(json!({"gracePeriodSeconds": 0}))),
            ],
        ),
        scenario(
            "a grace period has no meaning for kinds without one",
            [
                cm("a"),
                delete(one("a")).query("gracePeriodSeconds=30"),
                get(one("a")),
                wd(),
                delete_with(w("a"), options(json!({"gracePeriodSeconds": 30}))),
                get(w("a")),
            ],
        ),
        scenario(
            "a pod that no node runs goes at once",
            [pod("p"), delete(format!("{PODS}/p")), get(format!("{PODS}/p"))],
        ),
        scenario(
            "a bad grace period is refused",
            [
                cm("a"),
                delete(one("a")).query("gracePeriodSeconds=x"),
                delete(one("a")).query("gracePeriodSeconds=-1"),
                get(one("a")),
            ],
        ),
        scenario(
            "options that are none are refused",
            [
                cm("a"),
                delete_with(one("a"), json!({"apiVersion": "v1", "kind": "ConfigMap"})),
                send_text("DELETE", one("a"), "{"),
                delete_with(one("a"), options(json!({"propagationPolicy": "Sometimes"}))),
                delete(one("a")).query("propagationPolicy=Sometimes"),
                delete(one("a")).query("propagationPolicy="),
                delete(one("absent")).query("propagationPolicy="),
                delete(CONFIG_MAPS).query("propagationPolicy="),
                delete_with(one("a"), options(json!({"propagationPolicy": ""}))),
                delete_with(
                    one("a"),
                    options(json!({"propagationPolicy": "Orphan", "orphanDependents": true})),
                ),
                delete_with(one("a"), options(json!({"gracePeriodSeconds": "x"}))),
                get(one("a")),
            ],
        ),
        scenario(
            "options without a kind are taken",
            [
                cm("a"),
                delete_with(
                    one("a"),
                    json!({"preconditions": {"uid": "11111111-1111-4111-8111-111111111111"}}),
                ),
                delete_with(one("a"), json!({})),
            ],
        ),
        scenario(
            "a deletion in the foreground sets a finalizer and a time",
            [
                cm("a"),
                delete(one("a")).query("propagationPolicy=Foreground"),
                gone(one("a")),
                wd(),
                delete_with(w("a"), options(json!({"propagationPolicy": "Foreground"}))),
            ],
        ),
        scenario(
            "a deletion that orphans sets a finalizer and a time",
            [cm("a"), delete_with(one("a"), options(json!({"propagationPolicy": "Orphan"}))), gone(one("a"))],
        ),
        scenario(
            "a deletion in the background is immediate",
            [cm("a"), delete(one("a")).query("propagationPolicy=Background"), get(one("a"))],
        ),
        scenario(
            "the old way to orphan is understood",
            [
                cm("a"),
                delete_with(one("a"), options(json!({"orphanDependents": true}))),
                gone(one("a")),
                cm("b"),
                delete(one("b")).query("orphanDependents=false"),
            ],
        ),
        scenario(
            "dependents are collected after their owner",
            [
                cm("a"),
                owned("b", "a", false),
                owned("c", "a", true),
                delete(one("a")),
                gone(one("b")),
                gone(one("c")),
            ],
        ),
        scenario(
            "dependents of dependents are collected",
            [
                cm("a"),
                owned("b", "a", false).saved("b"),
                owned("c", "b", false),
                delete(one("a")),
                gone(one("c")),
            ],
        ),
        scenario(
            "orphans stay and lose their owner",
            [
                cm("a"),
                owned("b", "a", false),
                delete(one("a")).query("propagationPolicy=Orphan"),
                gone(one("a")),
                get(one("b")),
            ],
        ),
        scenario(
            "a deletion in the foreground ends after the dependents are gone",
            [
                cm("a"),
                owned("b", "a", true),
                delete(one("a")).query("propagationPolicy=Foreground"),
                gone(one("a")),
                get(one("b")),
            ],
        ),
        scenario(
            "an object with another owner that exists is kept",
            [
                cm("a"),
                cm("b"),
                create(
                    CONFIG_MAPS,
                    with_metadata(
                        config_map("c", json!({})),
                        json!({"ownerReferences": [
                            {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "{a.metadata.uid}"},
                            {"apiVersion": "v1", "kind": "ConfigMap", "name": "b", "uid": "{b.metadata.uid}"},
                        ]}),
                    ),
                ),
                delete(one("a")),
                get(one("c")).until(|answer| {
                    answer["body"]["metadata"]["ownerReferences"]
                        .as_array()
                        .is_some_and(|owners| owners.len() == 1)
                }),
            ],
        ),
        scenario(
            "an object whose owner never existed is collected",
            [
                create(
                    CONFIG_MAPS,
                    with_metadata(
                        config_map("a", json!({})),
                        json!({"ownerReferences": [
                            {"apiVersion": "v1", "kind": "ConfigMap", "name": "absent", "uid": "11111111-1111-4111-8111-111111111111"},
                        ]}),
                    ),
                ),
                gone(one("a")),
            ],
        ),
        scenario(
            "a collection is deleted",
            [cm("a"), cm("b"), delete(CONFIG_MAPS), get(CONFIG_MAPS), wd(), delete(WIDGETS), get(WIDGETS)],
        ),
        scenario("an empty collection is deleted", [delete(CONFIG_MAPS), delete(WIDGETS)]),
        scenario(
            "a collection is deleted by label and by field",
            [
                create(CONFIG_MAPS, labelled("a", "app", "x")),
                create(CONFIG_MAPS, labelled("b", "app", "y")),
                create(CONFIG_MAPS, labelled("c", "app", "x")),
                delete(CONFIG_MAPS).query("labelSelector=app%3Dx"),
                get(CONFIG_MAPS),
                delete(CONFIG_MAPS).query("fieldSelector=metadata.name%3Dother"),
                get(CONFIG_MAPS),
                delete(CONFIG_MAPS).query("fieldSelector=metadata.name%3Db"),
                get(CONFIG_MAPS),
            ],
        ),
        scenario(
            "a collection with finalizers is marked",
            [finalized("a"), cm("b"), delete(CONFIG_MAPS), get(CONFIG_MAPS)],
        ),
        scenario(
            "a dry run of a collection's deletion deletes nothing",
            [cm("a"), delete(CONFIG_MAPS).query("dryRun=All"), get(CONFIG_MAPS)],
        ),
        scenario(
            "a collection's deletion with a bad selector is refused",
            [
                cm("a"),
                delete(CONFIG_MAPS).query("labelSelector=%3D%3D"),
                delete(CONFIG_MAPS).query("fieldSelector=data.k%3Dv"),
                get(CONFIG_MAPS),
            ],
        ),
        scenario(
            "a collection is deleted with options",
            [
                cm("a"),
                delete_with(
                    CONFIG_MAPS,
                    options(json!({"propagationPolicy": "Background", "gracePeriodSeconds": 0})),
                ),
                get(CONFIG_MAPS),
            ],
        ),
        scenario(
            "a collection is deleted with a limit",
            [cm("a"), cm("b"), delete(CONFIG_MAPS).query("limit=1"), get(CONFIG_MAPS)],
        ),
        scenario(
            "a collection over all namespaces cannot be deleted",
            [delete("/api/v1/configmaps"), delete("/apis/parity.example.com/v1/widgets")],
        ),
        scenario("a status is not deleted", [wd(), delete(w("a/status"))]),
        scenario(
            "a custom object without a status subresource is deleted",
            [
                create(GADGETS, gadget("a", json!({"x": 1}))),
                delete(format!("{GADGETS}/a")),
                get(format!("{GADGETS}/a")),
            ],
        ),
        scenario(
            "a deletion asks for the version again after a change",
            [
                cm("a"),
                merge_patch(one("a"), json!({"data": {"k": "x"}})).saved("b"),
                delete_with(
                    one("a"),
                    options(json!({"preconditions": {"resourceVersion": "{b.metadata.resourceVersion}"}})),
                ),
                get(one("a")),
            ],
        ),
        scenario(
            "an object under deletion with a precondition that fails is a conflict",
            [
                finalized("a"),
                delete(one("a")),
                delete_with(
                    one("a"),
                    options(json!({"preconditions": {"uid": "11111111-1111-4111-8111-111111111111"}})),
                ),
            ],
        ),
        scenario(
            "a deletion can answer with YAML options",
            [
                cm("a"),
                send_text(
                    "DELETE",
                    one("a"),
                    "apiVersion: v1\nkind: DeleteOptions\npropagationPolicy: Background\n",
                )
                .header("content-type", "application/yaml"),
                get(one("a")),
            ],
        ),
    ]
}
