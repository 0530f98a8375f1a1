use serde_json::json;

use super::*;

fn crd(spec: Value) -> Result<Schema, SchemaError> {
    Schema::from_crd(&json!({ "type": "object", "properties": { "spec": spec } }))
}

/// Returns the type at a path: a field, `[]` for the items of a list, `{}` for the values of a map.
pub(super) fn at<'s>(schema: &'s Schema, path: &[&str]) -> &'s Type {
    let mut id = schema.root();
    for step in path {
        let value = schema.get(id);
        id = match *step {
            "[]" => value.list.as_ref().expect("a list").items,
            "{}" => value.map.as_ref().expect("a map").others.expect("other fields"),
            name => value.map.as_ref().expect("a map").type_of(name).expect(name),
        };
    }
    schema.get(id)
}

pub(super) fn sharing(list: &Type) -> &ListSharing {
    &list.list.as_ref().expect("a list").sharing
}

#[test]
fn lists_are_atomic_unless_the_schema_says_otherwise() {
    let items = json!({ "type": "string" });
    for (extensions, expected) in [
        (json!({}), ListSharing::Atomic),
        (json!({ "x-kubernetes-list-type": "atomic" }), ListSharing::Atomic),
        (json!({ "x-kubernetes-list-type": "set" }), ListSharing::Set),
        (
            json!({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"] }),
            ListSharing::Map(vec!["a".to_owned(), "b".to_owned()]),
        ),
        (json!({ "x-kubernetes-patch-strategy": "merge" }), ListSharing::Set),
        (
            json!({ "x-kubernetes-patch-strategy": "merge,retainKeys", "x-kubernetes-patch-merge-key": "name" }),
            ListSharing::Map(vec!["name".to_owned()]),
        ),
        (json!({ "x-kubernetes-patch-strategy": "retainKeys" }), ListSharing::Atomic),
        // The list type counts, whatever the patch strategy is.
        (
            json!({ "x-kubernetes-list-type": "atomic", "x-kubernetes-patch-strategy": "merge" }),
            ListSharing::Atomic,
        ),
    ] {
        let mut list = json!({ "type": "array", "items": items });
        list.as_object_mut().expect("an object").extend(extensions.as_object().expect("an object").clone());
        let schema = crd(list.clone()).unwrap_or_else(|error| panic!("{list}: {error}"));
        assert_eq!(sharing(at(&schema, &["spec"])), &expected, "{list}");
    }
}

#[test]
fn scalars_have_the_type_that_values_are_checked_against() {
    for (schema, expected) in [
        (json!({ "type": "integer", "format": "int64" }), Scalar::Number),
        (json!({ "type": "number" }), Scalar::Number),
        (json!({ "type": "boolean" }), Scalar::Boolean),
        (json!({ "type": "string" }), Scalar::String),
        (json!({ "type": "string", "format": "byte" }), Scalar::String),
        (json!({ "type": "string", "format": "int-or-string" }), Scalar::Any),
        (json!({ "type": "string", "format": "date-time" }), Scalar::Any),
        (json!({ "x-kubernetes-int-or-string": true }), Scalar::Any),
    ] {
        let read = crd(schema.clone()).unwrap_or_else(|error| panic!("{schema}: {error}"));
        assert_eq!(at(&read, &["spec"]).scalar, Some(expected), "{schema}");
    }
}

#[test]
fn unknown_fields_are_allowed_where_the_schema_says_so() {
    let others = |schema: Value| {
        let read = crd(schema.clone()).unwrap_or_else(|error| panic!("{schema}: {error}"));
        at(&read, &["spec"]).map.as_ref().expect("a map").others
    };
    let properties = json!({ "a": { "type": "object", "properties": { "b": { "type": "string" } } } });
    assert_eq!(others(json!({ "type": "object", "properties": properties })), None);
    assert_eq!(others(json!({ "type": "object" })), Some(TypeId::DEDUCED));
    assert_eq!(others(json!({ "type": "object", "additionalProperties": false })), None);
    assert_eq!(others(json!({ "type": "object", "additionalProperties": true })), Some(TypeId::DEDUCED));

    let preserving =
        json!({ "type": "object", "properties": properties, "x-kubernetes-preserve-unknown-fields": true });
    assert_eq!(others(preserving.clone()), Some(TypeId::DEDUCED));
    // It holds for everything below as well.
    let schema = crd(preserving).expect("the schema is valid");
    assert_eq!(at(&schema, &["spec", "a"]).map.as_ref().expect("a map").others, Some(TypeId::DEDUCED));

    let schema = crd(json!({ "type": "object", "additionalProperties": { "type": "integer" } }));
    assert_eq!(at(&schema.expect("the schema is valid"), &["spec", "{}"]).scalar, Some(Scalar::Number));
}

#[test]
fn every_object_of_a_crd_has_metadata() {
    let schema = Schema::from_crd(&json!({
        "type": "object",
        "properties": {
            "metadata": { "type": "object", "properties": { "name": { "type": "string", "maxLength": 5 } } },
            "spec": {
                "type": "object",
                "properties": {
                    "template": {
                        "type": "object",
                        "x-kubernetes-embedded-resource": true,
                        "x-kubernetes-preserve-unknown-fields": true,
                    },
                },
            },
        },
    }))
    .expect("the schema is valid");
    for prefix in [&[][..], &["spec", "template"][..]] {
        let path = |rest: &[&'static str]| [prefix, rest].concat();
        assert_eq!(sharing(at(&schema, &path(&["metadata", "finalizers"]))), &ListSharing::Set);
        let owners = at(&schema, &path(&["metadata", "ownerReferences"]));
        assert_eq!(sharing(owners), &ListSharing::Map(vec!["uid".to_owned()]));
        let labels = at(&schema, &path(&["metadata", "labels"])).map.as_ref().expect("a map");
        assert!(!labels.atomic && labels.fields.is_empty());
        assert_eq!(at(&schema, &path(&["apiVersion"])).scalar, Some(Scalar::String));
    }
    // With these fields, the object does not allow just any others.
    let bare = Schema::from_crd(&json!({ "type": "object" })).expect("the schema is valid");
    assert_eq!(at(&bare, &[]).map.as_ref().expect("a map").others, None);
    assert!(
        at(&schema, &["metadata", "ownerReferences", "[]"]).map.as_ref().expect("a map").atomic,
        "an owner reference is written as a whole"
    );
}

fn document(schemas: Value) -> Value {
    json!({ "openapi": "3.0.0", "components": { "schemas": schemas } })
}

#[test]
fn definitions_refer_to_each_other_and_to_themselves() {
    let schemas = json!({
        "io.k8s.Props": {
            "type": "object",
            "properties": {
                "not": { "$ref": "#/components/schemas/io.k8s.Props" },
                "allOf": { "type": "array", "items": { "$ref": "#/components/schemas/io.k8s.Props" } },
                "quantity": {
                    "allOf": [{ "$ref": "#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity" }],
                    "default": 0,
                },
                "raw": { "$ref": "#/components/schemas/io.k8s.apimachinery.pkg.runtime.RawExtension" },
            },
        },
        "io.k8s.apimachinery.pkg.api.resource.Quantity": { "oneOf": [{ "type": "string" }, { "type": "number" }] },
        "io.k8s.apimachinery.pkg.runtime.RawExtension": { "type": "object" },
    });
    let version_2 = serde_json::to_string(&json!({ "definitions": schemas })).expect("it is JSON");
    let version_2 = version_2.replace("#/components/schemas/", "#/definitions/");
    for document in [document(schemas), serde_json::from_str(&version_2).expect("it is JSON")] {
        let schema = Schema::from_open_api(&document, "io.k8s.Props").expect("the schema is valid");
        let quantity = at(&schema, &["not", "allOf", "[]", "not", "quantity"]);
        assert_eq!((quantity.scalar, quantity.map.is_some()), (Some(Scalar::Any), false));
        let raw = at(&schema, &["not", "raw"]);
        assert!(raw.scalar.is_some() && raw.map.as_ref().is_some_and(|map| map.atomic));
        let props = at(&schema, &["not"]).map.as_ref().expect("a map");
        assert_eq!(props.fields["quantity"].default, Some(json!(0)));
    }
}

#[test]
fn a_field_may_share_its_definition_in_another_way() {
    let reference = json!({ "$ref": "#/components/schemas/Selector" });
    let document = document(json!({
        "Kind": {
            "type": "object",
            "properties": {
                "plain": reference,
                "granular": { "allOf": [reference], "x-kubernetes-map-type": "granular" },
                "atomic": { "allOf": [reference], "x-kubernetes-map-type": "atomic" },
            },
        },
        "Selector": {
            "type": "object",
            "x-kubernetes-map-type": "atomic",
            "properties": { "a": { "type": "string" } },
        },
    }));
    let schema = Schema::from_open_api(&document, "Kind").expect("the schema is valid");
    for (field, expected) in [("plain", true), ("granular", false), ("atomic", true)] {
        let map = at(&schema, &[field]).map.as_ref().expect("a map");
        assert_eq!(map.atomic, expected, "{field}");
        assert_eq!(map.fields.len(), 1, "{field}");
    }
}

#[test]
fn the_rules_of_strategic_patches_belong_to_the_field() {
    let document = document(json!({
        "Kind": {
            "type": "object",
            "properties": {
                "strategy": {
                    "allOf": [{ "$ref": "#/components/schemas/Strategy" }],
                    "x-kubernetes-patch-strategy": "retainKeys",
                },
                "volumes": {
                    "type": "array",
                    "items": { "type": "object" },
                    "x-kubernetes-patch-merge-key": "name",
                    "x-kubernetes-patch-strategy": "merge,retainKeys",
                },
                "selector": { "type": "object", "x-kubernetes-patch-strategy": "replace" },
            },
        },
        "Strategy": { "type": "object" },
    }));
    let schema = Schema::from_open_api(&document, "Kind").expect("the schema is valid");
    let fields = &at(&schema, &[]).map.as_ref().expect("a map").fields;
    assert_eq!(
        fields["strategy"].patch,
        PatchRules { strategy: PatchStrategy::Unset, merge_key: None, retain_keys: true }
    );
    assert_eq!(
        fields["volumes"].patch,
        PatchRules { strategy: PatchStrategy::Merge, merge_key: Some("name".to_owned()), retain_keys: true }
    );
    assert_eq!(fields["selector"].patch.strategy, PatchStrategy::Replace);
}

#[test]
fn what_cannot_be_read_is_named_with_its_place() {
    let list = |extensions: Value| {
        let mut list = json!({ "type": "array", "items": { "type": "string" } });
        list.as_object_mut().expect("an object").extend(extensions.as_object().expect("an object").clone());
        json!({ "type": "object", "properties": { "l": list } })
    };
    for (spec, message) in [
        (json!({ "type": "objekt" }), ".spec: unknown type `objekt`"),
        (json!({ "type": 1 }), ".spec: `type` must be a string"),
        (json!({ "type": "object", "properties": [] }), ".spec: `properties` must be an object"),
        (json!({ "type": "array" }), ".spec: an array needs `items`"),
        (list(json!({ "x-kubernetes-list-type": "bag" })), ".spec.l: unknown list type `bag`"),
        (
            list(json!({ "x-kubernetes-list-type": "map" })),
            ".spec.l: a list of type `map` needs `x-kubernetes-list-map-keys`",
        ),
        (
            list(json!({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": "name" })),
            ".spec.l: `x-kubernetes-list-map-keys` must be a list of strings",
        ),
        (list(json!({ "x-kubernetes-patch-strategy": "mix" })), ".spec.l: unknown patch strategy `mix`"),
        (json!({ "type": "object", "x-kubernetes-map-type": "x" }), ".spec: unknown map type `x`"),
        (
            json!({ "type": "array", "items": { "type": "object", "additionalProperties": { "type": "x" } } }),
            ".spec[]{}: unknown type `x`",
        ),
        (json!({ "$ref": "#/definitions/Gone" }), ".spec: there is no definition `Gone`"),
    ] {
        assert_eq!(crd(spec.clone()).unwrap_err().to_string(), message, "{spec}");
    }
    let error = Schema::from_open_api(&document(json!({})), "Gone").unwrap_err();
    assert_eq!(error.problem(), &SchemaProblem::UnknownDefinition("Gone".to_owned()));
    let error = Schema::from_open_api(&json!({}), "Gone").unwrap_err();
    assert!(matches!(error.problem(), SchemaProblem::WrongType { .. }), "{error}");
}

#[test]
fn a_schema_that_is_nested_too_deep_is_refused() {
    let deep = (0..crate::MAX_DEPTH)
        .fold(json!({ "type": "string" }), |inner, _| json!({ "type": "array", "items": inner }));
    assert_eq!(crd(deep).unwrap_err().problem(), &SchemaProblem::TooDeep);
}
