//! What is asked for after the past was forgotten.
//!
//! These scenarios need a control plane of their own: a compaction concerns all that run at the same time.

use serde_json::{Value, json};

use crate::{
    Scenario,
    kinds::{CONFIG_MAPS, WIDGETS, config_map, widget},
    scenario::*,
};

/// What of an answer must be equal: all but the words. The real server of these scenarios has no cache, without which
/// it says the same in other words.
pub fn essence(answer: &Value) -> Value {
    match answer {
        Value::Object(fields) => {
            let kept =
                fields.iter().filter(|(key, _)| !matches!(key.as_str(), "message" | "retryAfterSeconds"));
            kept.map(|(key, value)| (key.clone(), essence(value))).collect()
        }
        Value::Array(items) => items.iter().map(essence).collect(),
        other => other.clone(),
    }
}

/// The scenarios with a compaction; one must run after the other.
pub fn scenarios() -> Vec<Scenario> {
    let cm = |name: &str| create(CONFIG_MAPS, config_map(name, json!({"k": name})));
    vec![
        scenario(
            "a watch from a version that is forgotten is told so",
            [
                cm("a").saved("a"),
                cm("b"),
                cm("c"),
                compact(),
                watch("w", CONFIG_MAPS).query("resourceVersion={a.metadata.resourceVersion}"),
                ended("w"),
            ],
        ),
        scenario(
            "a watch of custom objects from a version that is forgotten is told so",
            [
                create(WIDGETS, widget("a", json!({"shape": "round"}))).saved("a"),
                merge_patch(format!("{WIDGETS}/a"), json!({"spec": {"size": 2}})),
                merge_patch(format!("{WIDGETS}/a"), json!({"spec": {"size": 3}})),
                compact(),
                watch("w", WIDGETS).query("resourceVersion={a.metadata.resourceVersion}"),
                ended("w"),
            ],
        ),
        scenario(
            "a list at a version that is forgotten is gone",
            [
                cm("a").saved("a"),
                cm("b"),
                cm("c"),
                compact(),
                get(CONFIG_MAPS)
                    .query("resourceVersion={a.metadata.resourceVersion}&resourceVersionMatch=Exact"),
            ],
        ),
        scenario(
            "a page of a list that is forgotten is gone, and offers to go on with another list",
            [
                cm("a"),
                cm("b"),
                cm("c"),
                get(CONFIG_MAPS).query("limit=1").saved("page"),
                cm("d"),
                compact(),
                get(CONFIG_MAPS).query("limit=1&continue={page.metadata.continue}").saved("gone"),
                get(CONFIG_MAPS).query("limit=1&continue={gone.metadata.continue}"),
            ],
        ),
        scenario(
            "an open watch goes on over a compaction",
            [
                cm("a"),
                get(CONFIG_MAPS).saved("list"),
                watch("w", CONFIG_MAPS).query("resourceVersion={list.metadata.resourceVersion}"),
                cm("b"),
                events("w", 1),
                compact(),
                cm("c"),
                events("w", 1),
            ],
        ),
        scenario(
            "a watch from the current version is served after a compaction",
            [
                cm("a"),
                compact(),
                get(CONFIG_MAPS).saved("list"),
                watch("w", CONFIG_MAPS).query("resourceVersion={list.metadata.resourceVersion}"),
                cm("b"),
                events("w", 1),
            ],
        ),
        scenario(
            "a version of the future is not yet known",
            [cm("a"), get(CONFIG_MAPS).query("resourceVersion=99999999&resourceVersionMatch=Exact")],
        ),
    ]
}
