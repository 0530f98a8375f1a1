//! Get, list, pages, versions and selectors.

use serde_json::json;

use crate::{
    Scenario,
    kinds::{CONFIG_MAPS, WIDGETS, config_map, labelled, widget, with_metadata},
    scenario::*,
};

/// Selectors with a zero byte, and with what the server takes for the end.
const ZEROS: [&str; 7] =
    ["%00", "%00,,", "app%00x", "app%3D%00x", "app%00", "app%20%00,,", "app%3Dx%00%00,,"];

pub(super) fn scenarios() -> Vec<Scenario> {
    let one = |name: &str| format!("{CONFIG_MAPS}/{name}");
    let cm = |name: &str| create(CONFIG_MAPS, config_map(name, json!({"k": name})));
    vec![
        scenario("a zero byte ends a word of a label selector, and where no word is the selector", {
            let labelled = |name: &str| {
                create(
                    CONFIG_MAPS,
                    with_metadata(config_map(name, json!({})), json!({"labels": {"app": name}})),
                )
            };
            let zeros = ZEROS.map(|selector| get(CONFIG_MAPS).query(&format!("labelSelector={selector}")));
            [labelled("x"), labelled("y")].into_iter().chain(zeros)
        }),
        scenario("an object that was created is read", [cm("a"), get(one("a"))]),
        scenario("an object that is absent is not found", [get(one("absent"))]),
        scenario("a custom object that is absent is not found", [get(format!("{WIDGETS}/absent"))]),
        scenario("an empty list has no items but an array", [get(CONFIG_MAPS), get(WIDGETS)]),
        scenario("a list is sorted by name", [cm("c"), cm("a"), cm("b"), get(CONFIG_MAPS)]),
        scenario(
            "the items of a custom list name their kind, those of a built-in list do not",
            [create(WIDGETS, widget("a", json!({"size": 1}))), cm("a"), get(WIDGETS), get(CONFIG_MAPS)],
        ),
        scenario(
            "a list is read in pages",
            [
                cm("a"),
                cm("b"),
                cm("c"),
                get(CONFIG_MAPS).query("limit=2").saved("first"),
                get(CONFIG_MAPS).query("limit=2&continue={first.metadata.continue}"),
            ],
        ),
        scenario(
            "a page after the first shows the list as it was",
            [
                cm("a"),
                cm("b"),
                cm("c"),
                get(CONFIG_MAPS).query("limit=1").saved("first"),
                cm("d"),
                delete(one("b")),
                get(CONFIG_MAPS).query("limit=1&continue={first.metadata.continue}").saved("second"),
                get(CONFIG_MAPS).query("limit=5&continue={second.metadata.continue}"),
            ],
        ),
        scenario(
            "pages of custom objects continue where the last one ended",
            [
                create(WIDGETS, widget("a", json!({}))),
                create(WIDGETS, widget("b", json!({}))),
                create(WIDGETS, widget("c", json!({}))),
                get(WIDGETS).query("limit=1").saved("first"),
                get(WIDGETS).query("limit=1&continue={first.metadata.continue}").saved("second"),
                get(WIDGETS).query("continue={second.metadata.continue}"),
            ],
        ),
        scenario(
            "pages with a selector have no count of the remaining items",
            [
                create(CONFIG_MAPS, labelled("a", "app", "x")),
                create(CONFIG_MAPS, labelled("b", "app", "y")),
                create(CONFIG_MAPS, labelled("c", "app", "x")),
                get(CONFIG_MAPS).query("limit=1&labelSelector=app%3Dx").saved("first"),
                get(CONFIG_MAPS).query("limit=1&labelSelector=app%3Dx&continue={first.metadata.continue}"),
            ],
        ),
        scenario(
            "a page with a selector may promise more than there is",
            [
                create(CONFIG_MAPS, labelled("a", "app", "x")),
                create(CONFIG_MAPS, labelled("b", "app", "y")),
                get(CONFIG_MAPS).query("limit=1&labelSelector=app%3Dx").saved("first"),
                get(CONFIG_MAPS).query("limit=1&labelSelector=app%3Dx&continue={first.metadata.continue}"),
                get(CONFIG_MAPS).query("limit=1&labelSelector=app%3Dy"),
                get(CONFIG_MAPS).query("limit=1&fieldSelector=metadata.name%3Da"),
                create(WIDGETS, widget("a", json!({"color": "red"}))),
                create(WIDGETS, widget("b", json!({"color": "blue"}))),
                get(WIDGETS).query("limit=1&fieldSelector=spec.color%3Dred"),
            ],
        ),
        scenario(
            "a page that holds the last item has no continue token",
            [cm("a"), cm("b"), get(CONFIG_MAPS).query("limit=2")],
        ),
        scenario(
            "a continue token that is garbage is refused",
            [get(CONFIG_MAPS).query("continue=garbage"), get(CONFIG_MAPS).query("limit=1&continue=%7B%7D")],
        ),
        scenario(
            "a continue token with a resource version is refused",
            [
                cm("a"),
                cm("b"),
                get(CONFIG_MAPS).query("limit=1").saved("first"),
                get(CONFIG_MAPS).query("continue={first.metadata.continue}&resourceVersion=1"),
                get(CONFIG_MAPS).query(
                    "continue={first.metadata.continue}&resourceVersion=0&resourceVersionMatch=NotOlderThan",
                ),
            ],
        ),
        scenario(
            "a limit that is no number is refused",
            [get(CONFIG_MAPS).query("limit=x"), get(CONFIG_MAPS).query("limit=-1")],
        ),
        scenario(
            "a list at version 0 may come from the cache",
            [cm("a"), get(CONFIG_MAPS), get(CONFIG_MAPS).query("resourceVersion=0")],
        ),
        scenario(
            "a list not older than a version holds what was written by then",
            [
                cm("a").saved("a"),
                cm("b"),
                get(CONFIG_MAPS),
                get(CONFIG_MAPS).query("resourceVersion={a.metadata.resourceVersion}"),
                get(CONFIG_MAPS)
                    .query("resourceVersion={a.metadata.resourceVersion}&resourceVersionMatch=NotOlderThan"),
            ],
        ),
        scenario(
            "a list at exactly a version shows what was there then",
            [
                cm("a").saved("a"),
                cm("b").saved("b"),
                delete(one("a")),
                get(CONFIG_MAPS)
                    .query("resourceVersion={a.metadata.resourceVersion}&resourceVersionMatch=Exact"),
                get(CONFIG_MAPS)
                    .query("resourceVersion={b.metadata.resourceVersion}&resourceVersionMatch=Exact"),
                get(CONFIG_MAPS)
                    .query("resourceVersion={b.metadata.resourceVersion}&resourceVersionMatch=Exact&limit=1"),
            ],
        ),
        scenario(
            "a custom list at exactly a version shows what was there then",
            [
                create(WIDGETS, widget("a", json!({"size": 1}))).saved("a"),
                merge_patch(format!("{WIDGETS}/a"), json!({"spec": {"size": 2}})).saved("b"),
                get(WIDGETS).query("resourceVersion={a.metadata.resourceVersion}&resourceVersionMatch=Exact"),
                get(WIDGETS).query("resourceVersion={b.metadata.resourceVersion}&resourceVersionMatch=Exact"),
            ],
        ),
        scenario(
            "a version match without a version is refused",
            [
                get(CONFIG_MAPS).query("resourceVersionMatch=Exact"),
                get(CONFIG_MAPS).query("resourceVersionMatch=NotOlderThan"),
                get(CONFIG_MAPS).query("resourceVersionMatch=Exact&resourceVersion=0"),
                get(CONFIG_MAPS).query("resourceVersionMatch=Sometimes&resourceVersion=5"),
            ],
        ),
        scenario(
            "a version that is no number is refused",
            [
                get(CONFIG_MAPS).query("resourceVersion=abc"),
                get(CONFIG_MAPS).query("resourceVersion=abc&resourceVersionMatch=Exact"),
                get(one("a")).query("resourceVersion=abc"),
            ],
        ),
        scenario(
            "an object is read at version 0 or at a version that is reached",
            [
                cm("a").saved("a"),
                get(one("a")).query("resourceVersion=0").until(|answer| answer["status"] == 200),
                get(one("a")).query("resourceVersion={a.metadata.resourceVersion}"),
            ],
        ),
        scenario(
            "a label selector with equality, sets and existence chooses items",
            [
                create(CONFIG_MAPS, labelled("a", "app", "x")),
                create(CONFIG_MAPS, labelled("b", "app", "y")),
                create(CONFIG_MAPS, labelled("c", "tier", "z")),
                get(CONFIG_MAPS).query("labelSelector=app%3Dx"),
                get(CONFIG_MAPS).query("labelSelector=app%3D%3Dx"),
                get(CONFIG_MAPS).query("labelSelector=app!%3Dx"),
                get(CONFIG_MAPS).query("labelSelector=app%20in%20(x,y)"),
                get(CONFIG_MAPS).query("labelSelector=app%20notin%20(x)"),
                get(CONFIG_MAPS).query("labelSelector=app"),
                get(CONFIG_MAPS).query("labelSelector=!app"),
                get(CONFIG_MAPS).query("labelSelector=app,app!%3Dy"),
            ],
        ),
        scenario(
            "numbers in a label selector are compared",
            [
                create(CONFIG_MAPS, labelled("a", "rank", "5")),
                create(CONFIG_MAPS, labelled("b", "rank", "10")),
                create(CONFIG_MAPS, labelled("c", "rank", "x")),
                get(CONFIG_MAPS).query("labelSelector=rank%3E5"),
                get(CONFIG_MAPS).query("labelSelector=rank%3C10"),
                get(CONFIG_MAPS).query("labelSelector=rank%3Ea"),
            ],
        ),
        scenario(
            "a label selector that does not parse is refused",
            [
                get(CONFIG_MAPS).query("labelSelector=%3D%3D"),
                get(CONFIG_MAPS).query("labelSelector=a%20in%20x"),
                get(CONFIG_MAPS).query("labelSelector=a%3D-"),
                get(CONFIG_MAPS).query("labelSelector=-a"),
                get(WIDGETS).query("labelSelector=a%20in%20("),
            ],
        ),
        scenario(
            "a field selector chooses by name and namespace",
            [
                cm("a"),
                cm("b"),
                get(CONFIG_MAPS).query("fieldSelector=metadata.name%3Da"),
                get(CONFIG_MAPS).query("fieldSelector=metadata.name!%3Da"),
                get("/api/v1/configmaps").query("fieldSelector=metadata.namespace%3D{ns},metadata.name%3Db"),
                get(CONFIG_MAPS).query("fieldSelector=metadata.name%3Dabsent"),
            ],
        ),
        scenario(
            "a field that cannot be selected is refused",
            [
                get(CONFIG_MAPS).query("fieldSelector=data.k%3Da"),
                get(CONFIG_MAPS).query("fieldSelector=metadata.name"),
                get(WIDGETS).query("fieldSelector=spec.shape%3Dround"),
                get(WIDGETS).query("fieldSelector=metadata.labels%3Dround"),
            ],
        ),
        scenario(
            "a custom object is selected by its selectable fields",
            [
                create(WIDGETS, widget("a", json!({"color": "red", "size": 1}))),
                create(WIDGETS, widget("b", json!({"color": "blue", "size": 2}))),
                create(WIDGETS, widget("c", json!({"size": 1}))),
                get(WIDGETS).query("fieldSelector=spec.color%3Dred"),
                get(WIDGETS).query("fieldSelector=spec.color!%3Dred"),
                get(WIDGETS).query("fieldSelector=spec.size%3D1"),
                get(WIDGETS).query("fieldSelector=spec.color%3D,metadata.name%3Dc"),
            ],
        ),
        scenario(
            "a list over all namespaces with a selector finds the objects of the namespace",
            [
                create(CONFIG_MAPS, labelled("a", "only", "{id}")),
                create(WIDGETS, with_metadata(widget("a", json!({})), json!({"labels": {"only": "{id}"}}))),
                get("/api/v1/configmaps").query("labelSelector=only%3D{id}"),
                get("/apis/parity.example.com/v1/widgets").query("labelSelector=only%3D{id}"),
            ],
        ),
        scenario(
            "a list in a namespace that does not exist is empty",
            [
                get("/api/v1/namespaces/{id}-absent/configmaps"),
                get("/apis/parity.example.com/v1/namespaces/{id}-absent/widgets"),
            ],
        ),
        scenario("a request can ask for indented JSON", [cm("a"), get(one("a")).query("pretty=true")]),
        scenario(
            "pods are selected by their phase and node",
            [
                create(
                    "/api/v1/namespaces/{ns}/pods",
                    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
                        "spec": {"containers": [{"name": "c", "image": "i"}]}}),
                ),
                get("/api/v1/namespaces/{ns}/pods").query("fieldSelector=status.phase%3DPending"),
                get("/api/v1/namespaces/{ns}/pods").query("fieldSelector=status.phase%3DRunning"),
                get("/api/v1/namespaces/{ns}/pods").query("fieldSelector=spec.nodeName%3D"),
                get("/api/v1/namespaces/{ns}/pods").query("fieldSelector=spec.image%3D"),
            ],
        ),
    ]
}
