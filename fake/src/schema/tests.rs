//! What [`StructuralSchema`] promises, without a server. `tests/schema_parity.rs` has the rest.

use std::time::{Duration, Instant};

use genclient_tally::Tally;
use proptest::{prelude::*, test_runner::TestRunner};
use serde_json::{Map, Value, json};

use super::{Cause, StructuralSchema};

fn schema(spec: Value) -> StructuralSchema {
    StructuralSchema::new(&json!({ "type": "object", "properties": { "spec": spec } })).unwrap()
}

fn texts(causes: &[Cause]) -> Vec<String> {
    causes.iter().map(Cause::to_string).collect()
}

fn refusal(spec: Value) -> Vec<String> {
    let schema = json!({ "type": "object", "properties": { "spec": spec } });
    texts(&StructuralSchema::new(&schema).unwrap_err().causes)
}

#[test]
fn a_refused_value_is_named_with_its_path_and_the_servers_words() {
    let schema = schema(json!({
        "type": "object",
        "required": ["cidr"],
        "properties": {
            "cidr": { "type": "string", "pattern": "^[0-9.]+/[0-9]+$" },
            "mode": { "type": "string", "enum": ["a", "b"] },
            "name": { "type": "string", "maxLength": 3 },
            "ports": { "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "integer" } },
        },
    }));
    let causes = schema.validate(&json!({ "spec": { "mode": "x", "name": "long", "ports": [1, 1] } }), None);
    assert_eq!(
        texts(&causes),
        [
            r#"spec.mode: Unsupported value: "x": supported values: "a", "b""#,
            "spec.name: Too long: may not be more than 3 bytes",
            "spec.cidr: Required value",
            "spec.ports[1]: Duplicate value: 1",
        ]
    );
    let causes = schema.validate(&json!({ "spec": { "cidr": "abc" } }), None);
    assert_eq!(
        texts(&causes),
        [r#"spec.cidr: Invalid value: "abc": spec.cidr in body should match '^[0-9.]+/[0-9]+$'"#]
    );
    assert_eq!(causes[0].reason, "FieldValueInvalid");
}

#[test]
fn unknown_fields_are_removed_and_named_in_order() {
    let schema = schema(json!({ "type": "object", "properties": { "a": { "type": "string" } } }));
    let mut object =
        json!({ "metadata": { "name": "x" }, "spec": { "a": "1", "z": 1, "b": {} }, "other": 1 });
    assert_eq!(schema.prune(&mut object), ["other", "spec.b", "spec.z"]);
    assert_eq!(object, json!({ "metadata": { "name": "x" }, "spec": { "a": "1" } }));
}

#[test]
fn defaults_are_set_where_a_value_is_absent_or_null() {
    let schema = schema(json!({
        "type": "object",
        "default": {},
        "properties": {
            "a": { "type": "integer", "default": 1 },
            "n": { "type": "integer", "default": 2, "nullable": true },
        },
    }));
    for (object, expected) in [
        (json!({}), json!({ "spec": { "a": 1, "n": 2 } })),
        (json!({ "spec": { "a": null, "n": null } }), json!({ "spec": { "a": 1, "n": null } })),
        (json!({ "spec": { "a": 5 } }), json!({ "spec": { "a": 5, "n": 2 } })),
    ] {
        let mut object = object;
        schema.prune(&mut object);
        schema.apply_defaults(&mut object);
        assert_eq!(object, expected);
    }
}

#[test]
fn an_update_may_leave_an_invalid_value_as_it_is() {
    let schema = schema(json!({
        "type": "object",
        "properties": { "a": { "type": "string", "maxLength": 1 }, "b": { "type": "string" } },
    }));
    let old = json!({ "spec": { "a": "long", "b": "x" } });
    assert_eq!(schema.validate(&json!({ "spec": { "a": "long", "b": "y" } }), Some(&old)), []);
    assert_eq!(schema.validate(&json!({ "spec": { "a": "longer", "b": "x" } }), Some(&old)).len(), 1);
}

/// The schema of the last version of a generated manifest, all of which are read.
fn sample(manifest: &str) -> StructuralSchema {
    let crd: Value = serde_saphyr::from_str(manifest).unwrap();
    let versions = crd["spec"]["versions"].as_array().unwrap().iter();
    let schemas =
        versions.map(|version| StructuralSchema::new(&version["schema"]["openAPIV3Schema"]).unwrap());
    schemas.collect::<Vec<_>>().pop().unwrap()
}

#[test]
fn the_schemas_of_generated_manifests_are_accepted() {
    for folder in ["../generated/samplecrd/crds", "../tests/golden/crds"] {
        for entry in std::fs::read_dir(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap()
        {
            sample(&std::fs::read_to_string(entry.unwrap().path()).unwrap());
        }
    }
}

#[test]
fn the_rules_of_the_sample_network_hold() {
    let schema = sample(include_str!("../../../generated/samplecrd/crds/networks.samplecrd.k8s.io.yaml"));
    let network = |cidr: &str, gateway: &str| json!({ "spec": { "cidr": cidr, "gateway": gateway } });
    for (cidr, gateway) in [("10.0.0.0/24", "10.0.0.1"), ("fd00::/64", "fd00::1")] {
        assert_eq!(texts(&schema.validate(&network(cidr, gateway), None)), [""; 0]);
    }
    for (cidr, gateway, cause) in [
        (
            "abc",
            "10.0.0.1",
            r#"spec.cidr: Invalid value: "abc": cidr must be a range of addresses such as 10.0.0.0/24 or fd00::/64"#,
        ),
        (
            "10.0.0.0/32",
            "10.0.0.1",
            r#"spec.cidr: Invalid value: "10.0.0.0/32": cidr must have room for a gateway and a host"#,
        ),
        ("10.0.0.0/24", "x", r#"spec.gateway: Invalid value: "x": gateway must be an IP address"#),
        (
            "10.0.0.0/24",
            "fd00::1",
            "spec: Invalid value: cidr and gateway must be of one family, IPv4 or IPv6",
        ),
        ("10.0.0.0/24", "10.0.1.1", "spec: Invalid value: gateway must lie within cidr"),
        (
            "10.0.0.0/24",
            "10.0.0.0",
            "spec: Invalid value: gateway must not be the network address, the first one of cidr",
        ),
    ] {
        assert!(
            texts(&schema.validate(&network(cidr, gateway), None)).contains(&cause.to_owned()),
            "{cause}"
        );
    }
}

#[test]
fn every_declared_function_can_be_called() {
    // Functions that are part of the syntax, or come from macros only.
    let syntax = |name: &str| name.contains(['_', '@']) || name == "dyn";
    let env = super::rules::environment_for_tests();
    for name in super::rules::function_names().filter(|name| !syntax(name)) {
        assert!(env.contains(&name), "{name} is declared, but not implemented");
    }
}

#[test]
fn a_rule_that_cannot_be_evaluated_is_refused_loudly() {
    let rule = |rule: &str| {
        refusal(json!({ "type": "string", "maxLength": 9, "x-kubernetes-validations": [{ "rule": rule }] }))
    };
    let causes = rule("semver(self).major() == 1");
    assert!(
        causes[0].contains("'semver' is a function of Kubernetes that genclient-fake cannot evaluate"),
        "{causes:?}"
    );
    let causes = rule("[self].all(i, x, x == self)");
    assert!(causes[0].contains("'all' is a function of Kubernetes"), "{causes:?}");
    let causes = rule("self.nothing() == 1");
    assert!(causes[0].contains("undeclared reference to 'nothing' (in container '')"), "{causes:?}");
}

#[test]
fn a_rule_that_costs_too_much_is_stopped() {
    let schema = schema(json!({
        "type": "array",
        "items": { "type": "integer" },
        "maxItems": 1000,
        "x-kubernetes-validations": [
            { "rule": "self.all(a, self.all(b, a + b >= 0)) || true" },
            { "rule": "self.size() == 0" },
        ],
    }));
    let started = Instant::now();
    let causes = schema.validate(&json!({ "spec": vec![1; 1000] }), None);
    assert!(started.elapsed() < Duration::from_secs(60));
    assert!(causes[0].message.contains("no further validation rules will be run"), "{causes:?}");
    assert_eq!(causes.len(), 1);
}

#[test]
fn a_rule_that_could_cost_too_much_is_refused_with_the_schema() {
    let rule = json!([{ "rule": "self.all(a, self.all(b, a == b))" }]);
    let causes = refusal(json!({
        "type": "array",
        "items": { "type": "string" },
        "x-kubernetes-validations": rule,
    }));
    assert!(
        causes[0].contains("estimated rule cost exceeds budget by factor of more than 100x"),
        "{causes:?}"
    );
    schema(json!({
        "type": "array",
        "maxItems": 10,
        "items": { "type": "string", "maxLength": 10 },
        "x-kubernetes-validations": rule,
    }));
}

#[test]
fn a_long_or_deep_rule_is_refused_and_does_not_exhaust_the_stack() {
    let long_sum = vec!["1"; 5000].join("+");
    let deep = format!("{}1{} == 1", "(".repeat(3000), ")".repeat(3000));
    let chain = format!("self{} == 'x'", ".trim()".repeat(2000));
    let lists = format!("{}{} == []", "[".repeat(3000), "]".repeat(3000));
    for source in [format!("{long_sum} == 1"), deep, chain, lists, "a".repeat(20_000)] {
        let causes = refusal(json!({ "type": "string", "x-kubernetes-validations": [{ "rule": source }] }));
        assert_eq!(causes.len(), 1);
    }
}

#[test]
fn the_deepest_rule_is_evaluated_on_the_stack_of_an_ordinary_thread() {
    let sum = vec!["self"; 240].join(" + ");
    let short_sum = vec!["self"; 14].join(" + ");
    let chain = format!("string(self){}.size() > 0", ".trim()".repeat(200));
    let conditions = vec!["self == 0"; 240].join(" || ");
    for rule in [format!("{sum} > 0"), format!("{short_sum} > 0"), chain, format!("({conditions}) || true")] {
        let property = json!({ "type": "integer", "x-kubernetes-validations": [{ "rule": rule }] });
        match StructuralSchema::new(&json!({ "type": "object", "properties": { "spec": property } })) {
            Ok(schema) => assert_eq!(schema.validate(&json!({ "spec": 1 }), None), []),
            // The chain may cost too much: nobody knows how long the text of a number is.
            Err(errors) => assert!(errors.to_string().contains("exceeds budget"), "{errors}"),
        }
    }
}

#[test]
fn a_deep_schema_is_refused_and_a_deep_value_is_not_followed() {
    let mut deep = json!({ "type": "string" });
    for _ in 0..150 {
        deep = json!({ "type": "object", "properties": { "a": deep } });
    }
    assert!(refusal(deep)[0].contains("must not nest schemas deeper than"));
    let mut value = json!(1);
    for _ in 0..100 {
        value = json!([value]);
    }
    let schema = schema(json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true }));
    let mut object = json!({ "spec": { "a": value } });
    assert_eq!(schema.prune(&mut object), [""; 0]);
}

#[test]
fn rules_with_numbers_of_different_types_and_optional_values_are_evaluated() {
    let holds = |rule: &str, value: Value| {
        let schema = schema(json!({
            "type": "object",
            "properties": { "i": { "type": "integer" }, "d": { "type": "number" }, "s": { "type": "string", "maxLength": 9 } },
            "x-kubernetes-validations": [{ "rule": rule }],
        }));
        schema.validate(&json!({ "spec": value }), None).is_empty()
    };
    assert!(holds("self.i < self.d", json!({ "i": 1, "d": 1.5 })));
    assert!(holds("self.?s.orValue('x') == 'x'", json!({})));
    assert!(holds("!has(self.s) || self.s.size() > 1", json!({})));
    assert!(holds("[1, 2, 3].filter(x, x > self.i).size() == 2", json!({ "i": 1 })));
    assert!(!holds("self.s == 'y'", json!({ "s": "x" })));
}

/// Small schemas of every type.
fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({ "type": "string", "maxLength": 3 })),
        Just(json!({ "type": "integer", "minimum": 0 })),
        Just(json!({ "type": "boolean", "default": true })),
        Just(json!({ "type": "string", "nullable": true, "enum": ["a", "b"] })),
        Just(json!({ "x-kubernetes-int-or-string": true })),
        Just(json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::btree_map("[a-c]", inner.clone(), 0..3)
                .prop_map(|properties| { json!({ "type": "object", "properties": properties }) }),
            inner.clone().prop_map(|items| json!({ "type": "array", "items": items, "maxItems": 2 })),
            inner.prop_map(|values| json!({ "type": "object", "additionalProperties": values })),
        ]
    })
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2..5).prop_map(Value::from),
        Just(json!(1.5)),
        "[a-d]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-d]", inner, 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

#[test]
fn pruning_and_defaulting_twice_change_nothing_more() {
    let tally = Tally::new();
    let config = ProptestConfig { cases: 2048, ..ProptestConfig::with_source_file(file!()) };
    let tried = TestRunner::new(config).run(&(any_schema(), any_value()), |(spec, value)| {
        let schema = schema(spec);
        let mut once = json!({ "spec": value });
        tally.add("pruned", usize::from(!schema.prune(&mut once).is_empty()));
        let pruned = once.clone();
        schema.apply_defaults(&mut once);
        tally.add("defaulted", usize::from(once != pruned));
        let mut twice = once.clone();
        prop_assert_eq!(schema.prune(&mut twice), Vec::<String>::new());
        schema.apply_defaults(&mut twice);
        prop_assert_eq!(once, twice);
        Ok(())
    });
    tried.unwrap_or_else(|error| panic!("{error}"));
    tally.require(&[("pruned", 200), ("defaulted", 5)]);
}

#[test]
fn an_update_that_changes_nothing_is_accepted() {
    let tally = Tally::new();
    let config = ProptestConfig::with_source_file(file!());
    let tried = TestRunner::new(config).run(&(any_schema(), any_value()), |(spec, value)| {
        let schema = schema(spec);
        let mut object = json!({ "spec": value });
        schema.prune(&mut object);
        let valid = schema.validate(&object, None).is_empty();
        tally.count(if valid { "valid" } else { "invalid as a new object" });
        prop_assert_eq!(schema.validate(&object, Some(&object)), Vec::<Cause>::new());
        Ok(())
    });
    tried.unwrap_or_else(|error| panic!("{error}"));
    tally.require(&[("valid", 20), ("invalid as a new object", 50)]);
}
