//! Watches: where they start, what they show, and how they end.
//!
//! A watch from version 0 may begin with an old state of the cache; a list before it makes the cache current.

use serde_json::{Value, json};

use crate::{
    Scenario,
    kinds::{CONFIG_MAPS, WIDGETS, ZONES, config_map, labelled, widget, zone},
    scenario::*,
};

pub(super) fn scenarios() -> Vec<Scenario> {
    let one = |name: &str| format!("{CONFIG_MAPS}/{name}");
    let cm = |name: &str| create(CONFIG_MAPS, config_map(name, json!({"k": name})));
    let change = |name: &str, value: &str| merge_patch(one(name), json!({"data": {"k": value}}));
    let label =
        |name: &str, value: Value| merge_patch(one(name), json!({"metadata": {"labels": {"app": value}}}));
    vec![
        scenario(
            "a watch from a list's version shows every later change in order",
            [
                cm("a"),
                get(CONFIG_MAPS).saved("list"),
                watch("w", CONFIG_MAPS).query("resourceVersion={list.metadata.resourceVersion}"),
                cm("b"),
                change("a", "x"),
                delete(one("a")),
                events("w", 3),
                quiet("w"),
            ],
        ),
        scenario(
            "a watch from an object's version shows what came after that object",
            [
                cm("a").saved("a"),
                cm("b"),
                delete(one("b")),
                watch("w", CONFIG_MAPS).query("resourceVersion={a.metadata.resourceVersion}"),
                events("w", 2),
                quiet("w"),
            ],
        ),
        scenario(
            "a watch from version 0 begins with the objects that exist",
            [cm("a"), cm("b"), get(CONFIG_MAPS), watch("w", CONFIG_MAPS).query("resourceVersion=0"), events("w", 2), cm("c"), events("w", 1)],
        ),
        scenario(
            "a watch without a version begins with the objects that exist",
            [cm("b"), cm("a"), watch("w", CONFIG_MAPS), events("w", 2), delete(one("a")), events("w", 1), quiet("w")],
        ),
        scenario(
            "a deleted object is shown in its last state and with the version of its deletion",
            [
                cm("a").saved("a"),
                change("a", "last").saved("changed"),
                watch("w", CONFIG_MAPS).query("resourceVersion={changed.metadata.resourceVersion}"),
                delete(one("a")),
                events("w", 1),
            ],
        ),
        scenario(
            "an object that begins to match the selector is added, and deleted when it no longer does",
            [
                get(CONFIG_MAPS),
                watch("w", CONFIG_MAPS).query("labelSelector=app%3Dx&resourceVersion=0"),
                cm("a"),
                label("a", json!("x")),
                change("a", "y"),
                label("a", json!("other")),
                change("a", "z"),
                label("a", json!("x")),
                delete(one("a")),
                events("w", 5),
                quiet("w"),
            ],
        ),
        scenario(
            "an object that does not match the selector is not shown when it is deleted",
            [
                watch("w", CONFIG_MAPS).query("labelSelector=app%3Dx"),
                create(CONFIG_MAPS, labelled("a", "app", "y")),
                delete(one("a")),
                quiet("w"),
            ],
        ),
        scenario(
            "a watch of one name shows that object only",
            [
                cm("a"),
                cm("b"),
                watch("w", CONFIG_MAPS).query("fieldSelector=metadata.name%3Da"),
                events("w", 1),
                change("b", "x"),
                change("a", "x"),
                events("w", 1),
                quiet("w"),
            ],
        ),
        scenario(
            "a custom object enters and leaves a watch with a selectable field",
            [
                create(WIDGETS, widget("a", json!({"color": "red"}))).saved("a"),
                watch("w", WIDGETS)
                    .query("fieldSelector=spec.color%3Dblue&resourceVersion={a.metadata.resourceVersion}"),
                merge_patch(format!("{WIDGETS}/a"), json!({"spec": {"color": "blue"}})),
                merge_patch(format!("{WIDGETS}/a"), json!({"spec": {"size": 3}})),
                merge_patch(format!("{WIDGETS}/a"), json!({"spec": {"color": "green"}})),
                events("w", 3),
                quiet("w"),
            ],
        ),
        scenario(
            "a watch of a namespace does not show other namespaces",
            [
                create("/api/v1/namespaces", json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "{id}-other"}})),
                get(CONFIG_MAPS),
                watch("w", CONFIG_MAPS).query("resourceVersion=0"),
                create("/api/v1/namespaces/{id}-other/configmaps", config_map("a", json!({}))),
                cm("b"),
                events("w", 1),
                quiet("w"),
            ],
        ),
        scenario(
            "a watch over all namespaces shows this one",
            [
                watch("w", "/api/v1/configmaps").query("labelSelector=only%3D{id}"),
                create(CONFIG_MAPS, labelled("a", "only", "{id}")),
                events("w", 1),
            ],
        ),
        scenario(
            "the initial events end with a bookmark when they are asked for",
            [
                cm("a"),
                cm("b"),
                get(CONFIG_MAPS),
                watch("w", CONFIG_MAPS).query(
                    "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=0",
                ),
                events_until("w", "BOOKMARK"),
                cm("c"),
                events("w", 1),
            ],
        ),
        scenario(
            "the initial events of custom objects end with a bookmark",
            [
                create(WIDGETS, widget("a", json!({}))),
                watch("w", WIDGETS)
                    .query("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"),
                events_until("w", "BOOKMARK"),
                delete(format!("{WIDGETS}/a")),
                events("w", 1),
            ],
        ),
        scenario(
            "the initial events of an empty namespace are only the bookmark",
            [
                watch("w", CONFIG_MAPS)
                    .query("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"),
                events_until("w", "BOOKMARK"),
            ],
        ),
        scenario(
            "initial events respect a selector",
            [
                create(CONFIG_MAPS, labelled("a", "app", "x")),
                create(CONFIG_MAPS, labelled("b", "app", "y")),
                watch("w", CONFIG_MAPS).query(
                    "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&labelSelector=app%3Dy",
                ),
                events_until("w", "BOOKMARK"),
            ],
        ),
        scenario(
            "initial events without the version match are refused",
            [
                watch("w", CONFIG_MAPS).query("sendInitialEvents=true"),
                watch("x", CONFIG_MAPS).query("sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=1"),
                watch("y", CONFIG_MAPS).query("resourceVersionMatch=NotOlderThan"),
                get(CONFIG_MAPS).query("sendInitialEvents=true&resourceVersionMatch=NotOlderThan"),
            ],
        ),
        scenario(
            "initial events without bookmarks are refused or sent without one",
            [
                cm("a"),
                watch("w", CONFIG_MAPS).query("sendInitialEvents=true&resourceVersionMatch=NotOlderThan"),
                quiet("w"),
            ],
        ),
        scenario(
            "a watch may refuse the initial events",
            [
                cm("a"),
                watch("w", CONFIG_MAPS)
                    .query("sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"),
                change("a", "x"),
                events("w", 1),
                quiet("w"),
            ],
        ),
        scenario(
            "a watch from a version that is no number is refused",
            [watch("w", CONFIG_MAPS).query("resourceVersion=abc"), watch("v", WIDGETS).query("resourceVersion=-1")],
        ),
        scenario(
            "a watch ends after its time",
            [watch("w", CONFIG_MAPS).query("timeoutSeconds=1"), ended("w")],
        ),
        scenario(
            "a time for the watch that is no number is refused",
            [watch("w", CONFIG_MAPS).query("timeoutSeconds=x")],
        ),
        scenario(
            "a change of status and a change of spec are both shown",
            [
                create(WIDGETS, widget("a", json!({"size": 1}))).saved("a"),
                watch("w", WIDGETS).query("resourceVersion={a.metadata.resourceVersion}"),
                merge_patch(format!("{WIDGETS}/a/status"), json!({"status": {"phase": "Ready"}})),
                merge_patch(format!("{WIDGETS}/a"), json!({"spec": {"size": 2}})),
                events("w", 2),
            ],
        ),
        scenario(
            "a write that changes nothing is not shown",
            [
                cm("a").saved("a"),
                watch("w", CONFIG_MAPS).query("resourceVersion={a.metadata.resourceVersion}"),
                change("a", "a"),
                put_edited(one("a"), "a", json!({})),
                change("a", "b"),
                events("w", 1),
                quiet("w"),
            ],
        ),
        scenario(
            "an object with a finalizer is modified when it is deleted, and deleted when the finalizer goes",
            [
                create(CONFIG_MAPS, json!({"apiVersion": "v1", "kind": "ConfigMap",
                    "metadata": {"name": "a", "finalizers": ["example.com/f"]}})).saved("a"),
                watch("w", CONFIG_MAPS).query("resourceVersion={a.metadata.resourceVersion}"),
                delete(one("a")),
                merge_patch(one("a"), json!({"metadata": {"finalizers": null}})),
                events("w", 2),
                quiet("w"),
            ],
        ),
        scenario(
            "a dry run is not shown",
            [
                watch("w", CONFIG_MAPS),
                cm("a").query("dryRun=All"),
                cm("b"),
                events("w", 1),
                quiet("w"),
            ],
        ),
        scenario(
            "a watch of a cluster-scoped kind by name",
            [
                watch("w", ZONES).query("fieldSelector=metadata.name%3D{id}-z"),
                create(ZONES, zone("{id}-z", json!({"domain": "d"}))),
                delete(format!("{ZONES}/{{id}}-z")),
                events("w", 2),
            ],
        ),
        scenario(
            "deletecollection is shown as one event for each object",
            [
                cm("a"),
                cm("b").saved("b"),
                watch("w", CONFIG_MAPS).query("resourceVersion={b.metadata.resourceVersion}"),
                delete(CONFIG_MAPS),
                events("w", 2),
                quiet("w"),
            ],
        ),
        scenario(
            "the old path of a watch works",
            [
                cm("a"),
                watch("w", "/api/v1/watch/namespaces/{ns}/configmaps"),
                events("w", 1),
                watch("v", "/api/v1/watch/namespaces/{ns}/configmaps/a"),
                events("v", 1),
            ],
        ),
        scenario(
            "a watch of one object's path shows that object",
            [cm("a"), cm("b"), watch("w", one("a")), events("w", 1), quiet("w")],
        ),
        scenario(
            "a watch shows metadata only when it is asked for",
            [
                cm("a"),
                watch("w", CONFIG_MAPS).accept("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"),
                events("w", 1),
            ],
        ),
        scenario(
            "a watch shows table rows when they are asked for",
            [
                cm("a"),
                watch("w", CONFIG_MAPS).accept("application/json;as=Table;g=meta.k8s.io;v=v1"),
                events("w", 1),
                cm("b"),
                events("w", 1),
            ],
        ),
        scenario(
            "a watch with a selector that does not parse is refused",
            [watch("w", CONFIG_MAPS).query("labelSelector=%3D%3D")],
        ),
        scenario(
            "two watches show the same events",
            [
                get(CONFIG_MAPS),
                watch("v", CONFIG_MAPS).query("resourceVersion=0"),
                get(CONFIG_MAPS),
                watch("w", CONFIG_MAPS).query("resourceVersion=0"),
                cm("a"),
                change("a", "b"),
                events("v", 2),
                events("w", 2),
                close("v"),
                change("a", "c"),
                events("w", 1),
            ],
        ),
    ]
}
