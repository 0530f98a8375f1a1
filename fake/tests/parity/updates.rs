//! Updates of objects that were created before their schema became what it is.

use serde_json::{Value, json};

use super::Case;

fn case(name: &'static str, spec: Value, questions: Vec<(Value, Value)>) -> Case<(Value, Value)> {
    Case { name, spec, questions }
}

pub fn cases() -> Vec<Case<(Value, Value)>> {
    let short = || json!({ "type": "string", "maxLength": 2 });
    vec![
        case(
            "an unchanged value is tolerated",
            json!({ "type": "object", "properties": { "a": short(), "b": short() } }),
            vec![
                (json!({ "a": "long", "b": "x" }), json!({ "a": "long", "b": "y" })),
                (json!({ "a": "long", "b": "x" }), json!({ "a": "longer", "b": "y" })),
                (json!({ "a": "long" }), json!({ "a": "long", "b": "long" })),
                (json!({ "a": 1 }), json!({ "a": 1, "b": "x" })),
            ],
        ),
        case(
            "a missing field is not tolerated",
            json!({ "type": "object", "required": ["a"], "properties": { "a": short(), "b": short() } }),
            vec![(json!({ "b": "x" }), json!({ "b": "y" })), (json!({ "b": "x" }), json!({ "b": "x" }))],
        ),
        case(
            "items of maps are found again",
            json!({ "type": "object", "properties": { "l": { "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": { "type": "object", "required": ["k"], "properties": { "k": { "type": "string" }, "v": short() } } }, "z": short() } }),
            vec![
                (
                    json!({ "l": [{ "k": "a", "v": "long" }] }),
                    json!({ "l": [{ "k": "b", "v": "x" }, { "k": "a", "v": "long" }] }),
                ),
                (json!({ "l": [{ "k": "a", "v": "long" }] }), json!({ "l": [{ "k": "b", "v": "long" }] })),
            ],
        ),
        case(
            "items of other lists are not",
            json!({ "type": "object", "properties": { "l": { "type": "array", "items": short() }, "z": short() } }),
            vec![
                (json!({ "l": ["long"] }), json!({ "l": ["long"], "z": "x" })),
                (json!({ "l": ["long"] }), json!({ "l": ["long", "x"] })),
            ],
        ),
        case(
            "combinations",
            json!({ "type": "object", "properties": { "a": { "type": "object", "properties": { "x": { "type": "string" }, "y": { "type": "string" } }, "anyOf": [{ "required": ["x"] }, { "required": ["y"] }] }, "b": { "type": "string", "not": { "enum": ["no"] } }, "z": short() } }),
            vec![
                (json!({ "a": {}, "b": "no" }), json!({ "a": {}, "b": "no", "z": "x" })),
                (json!({ "a": {}, "b": "no" }), json!({ "a": { "x": "1" }, "b": "no" })),
            ],
        ),
        case(
            "sets that were broken before",
            json!({ "type": "object", "properties": { "l": { "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string" } } } }),
            vec![
                (json!({ "l": ["a", "a"] }), json!({ "l": ["a", "a", "b", "b"] })),
                (json!({ "l": ["a"] }), json!({ "l": ["a", "a"] })),
            ],
        ),
        case(
            "rules",
            json!({ "type": "object", "properties": { "a": { "type": "integer", "x-kubernetes-validations": [{ "rule": "self > 5" }] }, "b": { "type": "integer" } }, "x-kubernetes-validations": [{ "rule": "self.a + self.b < 10" }] }),
            vec![
                (json!({ "a": 1, "b": 1 }), json!({ "a": 1, "b": 2 })),
                (json!({ "a": 1, "b": 1 }), json!({ "a": 2, "b": 1 })),
                (json!({ "a": 6, "b": 6 }), json!({ "a": 6, "b": 6 })),
                (json!({ "a": 6, "b": 6 }), json!({ "a": 6, "b": 7 })),
            ],
        ),
        case(
            "transition rules",
            json!({ "type": "object", "properties": { "a": { "type": "string", "maxLength": 9, "x-kubernetes-validations": [{ "rule": "self == oldSelf", "message": "a cannot be changed" }] }, "n": { "type": "integer", "x-kubernetes-validations": [{ "rule": "self >= oldSelf" }] } } }),
            vec![
                (json!({ "a": "x", "n": 1 }), json!({ "a": "x", "n": 2 })),
                (json!({ "a": "x", "n": 2 }), json!({ "a": "y", "n": 1 })),
                (json!({}), json!({ "a": "x" })),
                (json!({ "a": "x" }), json!({})),
            ],
        ),
        case(
            "optional old values",
            json!({ "type": "object", "properties": { "a": { "type": "integer", "x-kubernetes-validations": [{ "rule": "oldSelf.hasValue() ? self > oldSelf.value() : self == 1", "optionalOldSelf": true }] } } }),
            vec![
                (json!({}), json!({ "a": 1 })),
                (json!({}), json!({ "a": 2 })),
                (json!({ "a": 1 }), json!({ "a": 2 })),
                (json!({ "a": 2 }), json!({ "a": 1 })),
            ],
        ),
        case(
            "transition rules in maps",
            json!({ "type": "object", "properties": { "l": { "type": "array", "maxItems": 5, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": { "type": "object", "required": ["k"], "properties": { "k": { "type": "string", "maxLength": 5 }, "v": { "type": "integer" } }, "x-kubernetes-validations": [{ "rule": "self.v == oldSelf.v" }] } }, "m": { "type": "object", "maxProperties": 5, "additionalProperties": { "type": "integer", "x-kubernetes-validations": [{ "rule": "self > oldSelf" }] } } } }),
            vec![
                (
                    json!({ "l": [{ "k": "a", "v": 1 }] }),
                    json!({ "l": [{ "k": "b", "v": 3 }, { "k": "a", "v": 2 }] }),
                ),
                (json!({ "m": { "a": 1, "b": 1 } }), json!({ "m": { "a": 2, "b": 1, "c": 0 } })),
            ],
        ),
    ]
}
