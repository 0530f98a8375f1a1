//! Schemas at work: errors, pruning, defaults and rules.

use serde_json::{Value, json};

use crate::{
    Scenario,
    kinds::{GADGETS, WIDGETS, gadget, widget},
    scenario::*,
};

pub(super) fn scenarios() -> Vec<Scenario> {
    let wd = |spec: Value| create(WIDGETS, widget("a", spec));
    let dry = |spec: Value| create(WIDGETS, widget("a", spec)).query("dryRun=All");
    let a = || format!("{WIDGETS}/a");
    vec![
        scenario(
            "a value of the wrong type is refused",
            [
                dry(json!({"size": "1"})),
                dry(json!({"size": 1.5})),
                dry(json!({"title": 5})),
                dry(json!({"active": "yes"})),
                dry(json!({"args": "x"})),
                dry(json!({"args": [1]})),
                dry(json!({"options": ["x"]})),
                dry(json!({"options": {"a": 1}})),
                dry(json!({"nested": "x"})),
                dry(json!({"weight": "heavy"})),
                dry(json!("text")),
                dry(json!([])),
            ],
        ),
        scenario(
            "a number outside its bounds is refused",
            [
                dry(json!({"size": -1})),
                dry(json!({"size": 101})),
                dry(json!({"size": 0})),
                dry(json!({"size": 100})),
            ],
        ),
        scenario(
            "a number that is no multiple is refused",
            [dry(json!({"weight": 0.3})), dry(json!({"weight": 1.5})), dry(json!({"weight": 2}))],
        ),
        scenario(
            "a value outside its enumeration is refused",
            [dry(json!({"color": "pink"})), dry(json!({"color": ""})), dry(json!({"color": "red"}))],
        ),
        scenario(
            "a text is checked for length and pattern",
            [
                dry(json!({"title": "a"})),
                dry(json!({"title": "a".repeat(21)})),
                dry(json!({"title": "ABC"})),
                dry(json!({"title": "A"})),
                dry(json!({"title": "abc"})),
            ],
        ),
        scenario("a list that is too long is refused", [dry(json!({"args": ["a", "b", "c", "d", "e"]}))]),
        scenario(
            "a set with duplicates is refused",
            [dry(json!({"tags": ["a", "b", "a"]})), dry(json!({"tags": ["b", "a"]}))],
        ),
        scenario(
            "a list by key with duplicates is refused",
            [
                dry(json!({"ports": [{"name": "a", "number": 1}, {"name": "a", "number": 2}]})),
                dry(json!({"ports": [{"number": 1}]})),
            ],
        ),
        scenario(
            "a required field that is missing is refused",
            [dry(json!({"nested": {}})), dry(json!({"nested": {"depth": 3}}))],
        ),
        scenario(
            "a date that is none is refused",
            [dry(json!({"due": "tomorrow"})), dry(json!({"due": "2020-01-02T03:04:05Z"}))],
        ),
        scenario(
            "an integer or a string is either",
            [
                dry(json!({"port": 80})),
                dry(json!({"port": "http"})),
                dry(json!({"port": true})),
                dry(json!({"port": 1.5})),
            ],
        ),
        scenario(
            "null is kept where it is allowed, dropped where there is a default, and refused elsewhere",
            [
                dry(json!({"note": null})),
                dry(json!({"shape": null})),
                dry(json!({"size": null})),
                dry(json!({"args": null})),
                dry(json!({"args": [null]})),
            ],
        ),
        scenario(
            "defaults are filled in",
            [
                wd(
                    json!({"nested": {"key": "a"}, "ports": [{"name": "a"}, {"name": "b", "protocol": "UDP"}]}),
                ),
                get(a()),
            ],
        ),
        scenario(
            "a default comes back when the field is removed",
            [
                wd(json!({"shape": "square"})),
                merge_patch(a(), json!({"spec": {"shape": null}})),
                json_patch(a(), json!([{"op": "remove", "path": "/spec/shape"}])),
            ],
        ),
        scenario(
            "no default is filled into an object that is absent",
            [
                create(
                    WIDGETS,
                    json!({"apiVersion": "parity.example.com/v1", "kind": "Widget", "metadata": {"name": "a"}}),
                ),
                wd(json!({})).query("dryRun=All"),
            ],
        ),
        scenario(
            "unknown fields are pruned",
            [
                wd(
                    json!({"unknown": 1, "nested": {"key": "k", "unknown": 2}, "ports": [{"name": "a", "unknown": 3}]}),
                ),
                get(a()),
            ],
        ),
        scenario(
            "unknown fields at the root are pruned",
            [
                create(WIDGETS, {
                    let mut w = widget("a", json!({}));
                    w["extra"] = json!({"x": 1});
                    w
                }),
                get(a()),
            ],
        ),
        scenario(
            "unknown fields are kept where the schema says so",
            [
                wd(json!({"free": {"any": {"thing": [1, "two", null, true, 1.5]}}})),
                get(a()),
                create(GADGETS, {
                    let mut g = gadget("a", json!({"x": {"y": [1]}}));
                    g["extra"] = json!({"z": null});
                    g
                }),
                get(format!("{GADGETS}/a")),
            ],
        ),
        scenario(
            "unknown fields in metadata are dropped",
            [
                create(
                    WIDGETS,
                    json!({"apiVersion": "parity.example.com/v1", "kind": "Widget", "metadata": {"name": "a", "colour": "red"}, "spec": {}}),
                ),
                create(
                    GADGETS,
                    json!({"apiVersion": "parity.example.com/v1", "kind": "Gadget", "metadata": {"name": "a", "colour": "red"}, "spec": {}}),
                ),
            ],
        ),
        scenario(
            "a rule over two fields is checked",
            [
                wd(json!({"low": 5, "high": 1})),
                wd(json!({"low": 1, "high": 5})),
                merge_patch(a(), json!({"spec": {"low": 9}})),
                merge_patch(a(), json!({"spec": {"low": 5}})),
            ],
        ),
        scenario(
            "a rule about the old value is checked on updates",
            [
                wd(json!({"fixed": "a"})),
                merge_patch(a(), json!({"spec": {"fixed": "b"}})),
                merge_patch(a(), json!({"spec": {"fixed": "a", "size": 3}})),
                merge_patch(a(), json!({"spec": {"fixed": null}})),
                merge_patch(a(), json!({"spec": {"fixed": "c"}})),
            ],
        ),
        scenario(
            "several errors are reported together",
            [
                dry(json!({"size": 200, "color": "pink", "title": "A", "nested": {}})),
                dry(json!({"size": 200, "low": 5, "high": 1})),
            ],
        ),
        scenario(
            "an error of the schema and one of the metadata",
            [
                create(
                    WIDGETS,
                    json!({"apiVersion": "parity.example.com/v1", "kind": "Widget", "metadata": {"name": "a", "labels": {"a b": "c"}}, "spec": {"size": 200}}),
                ),
                create(
                    WIDGETS,
                    json!({"apiVersion": "parity.example.com/v1", "kind": "Widget", "metadata": {"name": "A"}, "spec": {"size": 200}}),
                ),
            ],
        ),
        scenario(
            "large and small numbers are kept",
            [
                create(
                    GADGETS,
                    gadget(
                        "a",
                        json!({"big": 9_007_199_254_740_993_i64, "max": i64::MAX, "small": 1e-7, "float": 1.0, "exp": 1e21}),
                    ),
                ),
                get(format!("{GADGETS}/a")),
            ],
        ),
        scenario(
            "an int32 is checked for its range",
            [
                wd(json!({"size": 3_000_000_000_i64})),
                wd(json!({"replicas": 3_000_000_000_i64})).query("dryRun=All"),
            ],
        ),
        scenario(
            "text outside ASCII is kept",
            [wd(json!({"note": "Ünïcödé ☃ \u{1F600} \u{0} \" \\ \n"})), get(a())],
        ),
        scenario(
            "an update of an object that was valid is validated",
            [
                wd(json!({"size": 1})).saved("w"),
                put_edited(a(), "w", json!({"spec": {"size": 101}})),
                put_edited(a(), "w", json!({"spec": null})),
                put_edited(a(), "w", json!({"spec": "text", "metadata": {"resourceVersion": null}})),
            ],
        ),
    ]
}
