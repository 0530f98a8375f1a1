//! Random schemas and values. `PARITY_CASES` schemas are asked about, 12 unless it is set; `PARITY_SEED` begins another
//! sequence.

use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::{Map, Value, json};

use super::Case;

/// How many values each schema is asked about.
const VALUES: usize = 6;

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

pub fn cases() -> Vec<Case<Value>> {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&number("PARITY_SEED", 0).to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut cases = Vec::new();
    for _ in 0..number("PARITY_CASES", 12) {
        let properties = prop::collection::btree_map("[a-c]", any_schema(), 1..4);
        let properties = properties.new_tree(&mut runner).unwrap().current();
        let value = |runner: &mut TestRunner| {
            let fields = prop::collection::btree_map("[a-d]", any_value(), 1..4).new_tree(runner).unwrap();
            json!(fields.current())
        };
        let questions = (0..VALUES).map(|_| value(&mut runner)).collect();
        let spec = json!({ "type": "object", "properties": properties });
        cases.push(Case { name: "random", spec, questions });
    }
    cases
}

fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({ "type": "string", "maxLength": 3, "pattern": "^[a-c]*$" })),
        Just(json!({ "type": "string", "minLength": 1, "nullable": true })),
        Just(json!({ "type": "string", "enum": ["a", "b"], "default": "a" })),
        Just(json!({ "type": "string", "format": "ipv4" })),
        Just(json!({ "type": "integer", "minimum": 0, "maximum": 3 })),
        Just(json!({ "type": "integer", "format": "int32", "multipleOf": 2, "default": 4 })),
        Just(json!({ "type": "number", "exclusiveMinimum": true, "minimum": 0 })),
        Just(json!({ "type": "boolean", "default": true })),
        Just(json!({ "x-kubernetes-int-or-string": true })),
        Just(json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })),
        Just(json!({ "type": "integer", "x-kubernetes-validations": [{ "rule": "self != 2" }] })),
        Just(
            json!({ "type": "string", "maxLength": 5, "x-kubernetes-validations": [{ "rule": "!self.contains('b')" }] })
        ),
        Just(
            json!({ "type": "integer", "anyOf": [{ "minimum": 3 }, { "maximum": 0 }], "not": { "enum": [4] } })
        ),
        Just(json!({ "type": "string", "oneOf": [{ "maxLength": 1 }, { "pattern": "^a" }] })),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            (prop::collection::btree_map("[a-c]", inner.clone(), 0..3), any::<bool>()).prop_map(
                |(properties, required)| {
                    let required: Vec<_> = properties.keys().take(usize::from(required)).cloned().collect();
                    json!({ "type": "object", "properties": properties, "required": required })
                }
            ),
            (inner.clone(), any::<bool>()).prop_map(|(mut items, set)| {
                // The items of a set are scalars that are not null.
                let set = set && matches!(items["type"].as_str(), Some("string" | "integer" | "number"));
                if set {
                    items.as_object_mut().unwrap().remove("nullable");
                }
                let kind = if set { "set" } else { "atomic" };
                json!({ "type": "array", "items": items, "maxItems": 2, "x-kubernetes-list-type": kind })
            }),
            inner.prop_map(|values| {
                json!({ "type": "object", "additionalProperties": values, "maxProperties": 3 })
            }),
        ]
    })
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2..6).prop_map(Value::from),
        Just(json!(1.5)),
        "[a-d]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-d]", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}
