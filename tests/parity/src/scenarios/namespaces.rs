//! Namespaces: their life, and what they hold.

use serde_json::{Value, json};

use crate::{
    Scenario,
    kinds::{WIDGETS, config_map, widget, with_metadata},
    scenario::*,
};

const NAMESPACES: &str = "/api/v1/namespaces";
const OTHER: &str = "/api/v1/namespaces/{id}-o";
const OTHER_CONFIG_MAPS: &str = "/api/v1/namespaces/{id}-o/configmaps";
const OTHER_WIDGETS: &str = "/apis/parity.example.com/v1/namespaces/{id}-o/widgets";

fn namespace(metadata: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let other = || create(NAMESPACES, namespace(json!({"name": "{id}-o"}))).saved("o");
    // The controller of the real server looks again later and later for what is held, so that the end of such a
    // namespace may take minutes; it is not waited for.
    let held = || {
        create(
            OTHER_CONFIG_MAPS,
            with_metadata(config_map("held", json!({})), json!({"finalizers": ["example.com/f"]})),
        )
    };
    vec![
        scenario("a namespace is active, named by a label, and has a finalizer", [other(), get(OTHER)]),
        scenario(
            "a namespace's name is a DNS label",
            [
                create(NAMESPACES, namespace(json!({"name": "{id}.o"}))),
                create(NAMESPACES, namespace(json!({"name": "{id}-O"}))),
                create(NAMESPACES, namespace(json!({"name": "a".repeat(64)}))),
            ],
        ),
        scenario(
            "a namespace's name is generated",
            [create(NAMESPACES, namespace(json!({"generateName": "{id}-"}))).saved("o")],
        ),
        scenario("a namespace is created once", [other(), other()]),
        scenario(
            "an absent namespace is not found",
            [get(OTHER), delete(OTHER), put(OTHER, namespace(json!({"name": "{id}-o"})))],
        ),
        scenario(
            "a namespace's labels change, but not the one with its name",
            [
                other(),
                merge_patch(OTHER, json!({"metadata": {"labels": {"team": "a"}}})),
                merge_patch(OTHER, json!({"metadata": {"labels": {"kubernetes.io/metadata.name": "x"}}})),
                merge_patch(OTHER, json!({"metadata": {"labels": {"kubernetes.io/metadata.name": null}}})),
                merge_patch(OTHER, json!({"spec": {"finalizers": []}, "status": {"phase": "Terminating"}})),
            ],
        ),
        scenario(
            "a deleted namespace is answered while it terminates",
            [other(), delete(OTHER), gone(OTHER)],
        ),
        scenario(
            "a namespace takes its content with it",
            [
                other(),
                create(OTHER_CONFIG_MAPS, config_map("a", json!({}))),
                create(OTHER_WIDGETS, widget("a", json!({}))),
                delete(OTHER),
                gone(OTHER),
                get(format!("{OTHER_CONFIG_MAPS}/a")),
                get(format!("{OTHER_WIDGETS}/a")),
                get(OTHER_CONFIG_MAPS),
            ],
        ),
        scenario(
            "a namespace's name is free after it is gone",
            [other(), delete(OTHER), gone(OTHER), other(), get(OTHER)],
        ),
        scenario(
            "a finalizer in a namespace holds the namespace back",
            [
                other(),
                held(),
                delete(OTHER),
                get(format!("{OTHER_CONFIG_MAPS}/held"))
                    .until(|answer| answer["body"]["metadata"]["deletionTimestamp"].is_string()),
                create(OTHER_CONFIG_MAPS, config_map("b", json!({}))),
                create(OTHER_WIDGETS, widget("b", json!({}))),
                merge_patch(format!("{OTHER_CONFIG_MAPS}/held"), json!({"metadata": {"finalizers": null}})),
            ],
        ),
        scenario(
            "a namespace that terminates is deleted once more without effect",
            [
                other(),
                held(),
                delete(OTHER),
                get(format!("{OTHER_CONFIG_MAPS}/held"))
                    .until(|answer| answer["body"]["metadata"]["deletionTimestamp"].is_string()),
                delete(OTHER).until(|answer| {
                    answer["body"]["status"]["conditions"].as_array().is_some_and(|all| all.len() == 5)
                }),
                create(NAMESPACES, namespace(json!({"name": "{id}-o"}))),
                merge_patch(format!("{OTHER_CONFIG_MAPS}/held"), json!({"metadata": {"finalizers": null}})),
            ],
        ),
        scenario(
            "an object in a namespace that terminates can be changed",
            [
                other(),
                held(),
                delete(OTHER),
                get(format!("{OTHER_CONFIG_MAPS}/held"))
                    .until(|answer| answer["body"]["metadata"]["deletionTimestamp"].is_string()),
                merge_patch(format!("{OTHER_CONFIG_MAPS}/held"), json!({"data": {"still": "here"}})),
                merge_patch(format!("{OTHER_CONFIG_MAPS}/held"), json!({"metadata": {"finalizers": null}})),
            ],
        ),
        scenario(
            "a dry run does not delete a namespace",
            [other(), delete(OTHER).query("dryRun=All"), get(OTHER)],
        ),
        scenario(
            "the default namespaces exist and are protected",
            [
                get(format!("{NAMESPACES}/default"))
                    .accept("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"),
                delete(format!("{NAMESPACES}/default")),
                delete(format!("{NAMESPACES}/kube-system")),
                delete(format!("{NAMESPACES}/kube-public")),
            ],
        ),
        scenario("namespaces are not deleted together", [delete(NAMESPACES)]),
        scenario(
            "a namespace is found by its label",
            [
                other(),
                get(NAMESPACES).query("labelSelector=kubernetes.io/metadata.name%3D{id}-o"),
                get(NAMESPACES).query("fieldSelector=metadata.name%3D{id}-o"),
                get(NAMESPACES).query("fieldSelector=status.phase%3DActive,metadata.name%3D{id}-o"),
                get(NAMESPACES).query("fieldSelector=status.phase%3DTerminating,metadata.name%3D{id}-o"),
            ],
        ),
        scenario(
            "a namespace's status is a subresource",
            [
                other(),
                get(format!("{OTHER}/status")),
                merge_patch(
                    format!("{OTHER}/status"),
                    json!({"status": {"phase": "Active"}, "metadata": {"labels": {"x": "y"}}}),
                ),
            ],
        ),
        scenario(
            "a namespace is finalized by its subresource",
            [
                other(),
                put_edited(
                    format!("{OTHER}/finalize"),
                    "o",
                    json!({"spec": {"finalizers": ["kubernetes", "example.com/f"]}}),
                ),
                put_edited(
                    format!("{OTHER}/finalize"),
                    "o",
                    json!({"spec": {"finalizers": ["plain"]}, "metadata": {"resourceVersion": null}}),
                ),
            ],
        ),
        scenario(
            "a namespace is created by apply",
            [
                apply(OTHER, "one", namespace(json!({"name": "{id}-o", "labels": {"a": "b"}}))),
                apply(OTHER, "one", namespace(json!({"name": "{id}-o"}))),
            ],
        ),
        scenario(
            "nothing is applied into a namespace that does not exist",
            [
                apply(format!("{OTHER_CONFIG_MAPS}/a"), "one", config_map("a", json!({}))),
                apply(format!("{OTHER_WIDGETS}/a"), "one", widget("a", json!({}))),
            ],
        ),
        scenario(
            "a watch shows the end of everything in a namespace",
            [
                other(),
                create(OTHER_CONFIG_MAPS, config_map("a", json!({}))).saved("a"),
                watch("w", OTHER_CONFIG_MAPS).query("resourceVersion={a.metadata.resourceVersion}"),
                delete(OTHER),
                events("w", 1),
                gone(OTHER),
                quiet("w"),
            ],
        ),
        scenario(
            "a namespace in a custom object's body is filled in",
            [create(WIDGETS, widget("a", json!({}))), get(WIDGETS)],
        ),
    ]
}
