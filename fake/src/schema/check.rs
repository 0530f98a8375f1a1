//! The check of a schema when its CRD is created.

use serde_json::Value;

use super::{
    cause::{Cause, Shown},
    embedded,
    model::{Additional, Rule, Schema},
    path::{child, index, key},
    prune,
    rules::{self, cost, field_path},
    validate,
};

/// What the server would refuse a schema for, in its order.
pub(super) fn check(schema: &mut Schema, at: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    if schema.nullable {
        causes.push(Cause::forbidden(child(at, "nullable"), "nullable cannot be true at the root"));
    }
    let structural = convertible(schema).then(|| {
        let mut causes = Structure::default().check(schema, at);
        causes.extend(Completeness::default().check(schema, at));
        causes.sort_by_key(Cause::to_string);
        causes
    });
    // Rules are compiled only for a structural schema with valid defaults: otherwise their errors would mislead.
    let mut compiled = false;
    if let Some(structural) = structural {
        if structural.is_empty() {
            rules::compile(schema, true);
            let defaults = Defaults::default().check(schema, at);
            compiled = defaults.is_empty();
            causes.extend(defaults);
        } else {
            causes.extend(structural);
        }
    }
    let mut standard = Standard::default();
    standard.node(
        schema,
        at,
        &Context { is_root: true, compiled, cardinality: Some(1), ..Context::default() },
    );
    causes.extend(standard.schema);
    causes.extend(standard.rules);
    if standard.total > cost::PER_SCHEMA {
        for (at, _) in standard.most_expensive {
            let detail =
                "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
            causes.push(Cause::forbidden(at, detail));
        }
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        causes.push(Cause::forbidden(at, &cost::exceeded(what, standard.total, cost::PER_SCHEMA)));
    }
    causes
}

/// Whether the server can read the schema as a structural one at all.
fn convertible(schema: &Schema) -> bool {
    schema.unsupported.is_empty()
        && !schema.items_list
        && schema.preserve_unknown != Some(false)
        && schema.items.as_deref().is_none_or(convertible)
        && schema.not.as_deref().is_none_or(convertible)
        && schema.additional.as_ref().and_then(Additional::schema).is_none_or(convertible)
        && schema.properties.values().all(convertible)
        && [&schema.all_of, &schema.any_of, &schema.one_of].into_iter().flatten().all(convertible)
}

#[derive(Clone, Copy, PartialEq)]
enum Level {
    Root,
    Item,
    Field,
}

/// The rules that make a schema structural.
#[derive(Default)]
struct Structure {
    causes: Vec<Cause>,
}

impl Structure {
    fn check(mut self, schema: &Schema, at: &str) -> Vec<Cause> {
        self.node(schema, Level::Root, at);
        self.causes
    }

    fn forbid(&mut self, at: String, detail: &str) {
        self.causes.push(Cause::forbidden(at, detail));
    }

    fn require(&mut self, at: String, detail: &str) {
        self.causes.push(Cause::required(at, detail));
    }

    fn refuse(&mut self, at: String, value: Value, detail: &str) {
        self.causes.push(Cause::invalid(at, Shown::Value(&value), detail));
    }

    fn node(&mut self, schema: &Schema, level: Level, at: &str) {
        if schema.kind == "array" && schema.items.is_none() {
            self.require(child(at, "items"), "must be specified");
        }
        if let Some(items) = &schema.items {
            self.node(items, Level::Item, &child(at, "items"));
        }
        for (name, property) in &schema.properties {
            self.node(property, Level::Field, &key(&child(at, "properties"), name));
        }
        if let Some(additional) = &schema.additional {
            let at = child(at, "additionalProperties");
            if level == Level::Root {
                self.forbid(at.clone(), "must not be used at the root");
            }
            if let Some(schema) = additional.schema() {
                self.node(schema, Level::Field, &at);
            }
        }
        if schema.int_or_string {
            for (set, name) in [
                (schema.keeps_unknown(), "x-kubernetes-preserve-unknown-fields"),
                (schema.embedded, "x-kubernetes-embedded-resource"),
            ] {
                if set {
                    let detail = "must be false if x-kubernetes-int-or-string is true";
                    self.refuse(child(at, name), Value::from(true), detail);
                }
            }
        }
        let skip_any_of = is_int_or_string(&schema.any_of);
        let skip_first = schema.all_of.first().is_some_and(|first| is_int_or_string(&first.any_of));
        self.validations(schema, skip_any_of, skip_first, at);
        self.kind(schema, level, at);
        if schema.embedded && schema.additional.is_some() {
            let detail = "must not be used if x-kubernetes-embedded-resource is set";
            self.forbid(child(at, "additionalProperties"), detail);
        }
        if level == Level::Root && !schema.kind.is_empty() && schema.kind != "object" {
            self.refuse(child(at, "type"), Value::from(schema.kind.as_str()), "must be object at the root");
        }
        self.metadata(schema, level, at);
        if schema.embedded && !schema.keeps_unknown() && schema.properties.is_empty() {
            let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                          x-kubernetes-preserve-unknown-fields";
            self.require(child(at, "properties"), detail);
        }
    }

    fn kind(&mut self, schema: &Schema, level: Level, at: &str) {
        let at = child(at, "type");
        if schema.embedded && schema.kind != "object" {
            let detail = "must be object if x-kubernetes-embedded-resource is true";
            if schema.kind.is_empty() {
                self.require(at, detail);
            } else {
                self.refuse(at, Value::from(schema.kind.as_str()), detail);
            }
        } else if schema.kind.is_empty() && !schema.int_or_string && !schema.keeps_unknown() {
            let place = match level {
                Level::Root => "at the root",
                Level::Item => "for specified array items",
                Level::Field => "for specified object fields",
            };
            self.require(at, &format!("must not be empty {place}"));
        }
    }

    fn metadata(&mut self, schema: &Schema, level: Level, at: &str) {
        let is_object = level == Level::Root || schema.embedded;
        let at = child(at, "properties");
        for name in ["kind", "apiVersion"] {
            if let Some(property) =
                schema.properties.get(name).filter(|property| is_object && property.kind != "string")
            {
                let at = child(&key(&at, name), "type");
                self.refuse(at, Value::from(property.kind.as_str()), "must be string");
            }
        }
        let Some(metadata) = schema.properties.get("metadata") else { return };
        let at = key(&at, "metadata");
        if is_object && metadata.kind != "object" {
            self.refuse(child(&at, "type"), Value::from(metadata.kind.as_str()), "must be object");
        }
        if level == Level::Root {
            let mut rest = metadata.clone();
            if rest.properties.keys().all(|name| name == "name" || name == "generateName") {
                rest.properties.clear();
            }
            rest.kind.clear();
            rest.default = None;
            if rest != Schema::default() {
                let detail = "must not specify anything other than name and generateName, but metadata is implicitly \
                              specified";
                self.forbid(at, detail);
            }
        }
    }

    fn validations(&mut self, schema: &Schema, skip_any_of: bool, skip_first_all_of: bool, at: &str) {
        if !skip_any_of {
            for (i, part) in schema.any_of.iter().enumerate() {
                self.nested(part, false, &index(&child(at, "anyOf"), i));
            }
        }
        for (i, part) in schema.all_of.iter().enumerate() {
            self.nested(part, skip_first_all_of && i == 0, &index(&child(at, "allOf"), i));
        }
        for (i, part) in schema.one_of.iter().enumerate() {
            self.nested(part, false, &index(&child(at, "oneOf"), i));
        }
        if let Some(not) = &schema.not {
            self.nested(not, false, &child(at, "not"));
        }
        if let Some(pattern) = &schema.pattern
            && let Err(error) = &pattern.compiled
        {
            let detail = format!("must be a valid regular expression, but isn't: {error}");
            self.refuse(child(at, "pattern"), Value::from(pattern.text.as_str()), &detail);
        }
    }

    /// A schema within `anyOf` and its like may restrict values, but not give them structure.
    fn nested(&mut self, schema: &Schema, skip_any_of: bool, at: &str) {
        self.validations(schema, skip_any_of, false, at);
        if let Some(items) = &schema.items {
            self.nested(items, false, &child(at, "items"));
        }
        for (name, property) in &schema.properties {
            self.nested(property, false, &key(&child(at, "properties"), name));
        }
        if !schema.kind.is_empty() {
            self.forbid(child(at, "type"), "must be empty to be structural");
        }
        if !matches!(schema.additional, None | Some(Additional::Allowed(false))) {
            self.forbid(child(at, "additionalProperties"), "must be undefined to be structural");
        }
        for (set, name, state) in [
            (schema.default.is_some(), "default", "undefined"),
            (schema.title, "title", "empty"),
            (schema.description, "description", "empty"),
            (schema.nullable, "nullable", "false"),
            (schema.keeps_unknown(), "x-kubernetes-preserve-unknown-fields", "false"),
            (schema.embedded, "x-kubernetes-embedded-resource", "false"),
            (schema.int_or_string, "x-kubernetes-int-or-string", "false"),
            (!schema.list_map_keys.is_empty(), "x-kubernetes-list-map-keys", "empty"),
            (schema.list_type.is_some(), "x-kubernetes-list-type", "undefined"),
            (schema.map_type.is_some(), "x-kubernetes-map-type", "undefined"),
            (!schema.rules.is_empty(), "x-kubernetes-validations", "empty"),
        ] {
            if set {
                self.forbid(child(at, name), &format!("must be {state} to be structural"));
            }
        }
        if schema.properties.contains_key("metadata") {
            let at = key(&child(at, "properties"), "metadata");
            self.forbid(at, "must not be specified in a nested context");
        }
    }
}

/// The alternatives by which a schema may spell out `x-kubernetes-int-or-string`.
fn is_int_or_string(alternatives: &[Schema]) -> bool {
    let plain = |kind: &str| Schema { kind: kind.to_owned(), ..Schema::default() };
    matches!(alternatives, [first, second] if *first == plain("integer") && *second == plain("string"))
}

/// Whatever `anyOf` and its like restrict must be specified outside of them.
#[derive(Default)]
struct Completeness {
    causes: Vec<Cause>,
}

impl Completeness {
    fn check(mut self, schema: &Schema, at: &str) -> Vec<Cause> {
        self.node(schema, schema, at, at);
        self.causes
    }

    fn node(&mut self, validation: &Schema, structure: &Schema, at: &str, from: &str) {
        if let Some(not) = &validation.not {
            self.nested(not, Some(structure), at, &child(from, "not"));
        }
        for (parts, name) in
            [(&validation.all_of, "allOf"), (&validation.any_of, "anyOf"), (&validation.one_of, "oneOf")]
        {
            for (i, part) in parts.iter().enumerate() {
                self.nested(part, Some(structure), at, &index(&child(from, name), i));
            }
        }
    }

    fn nested(&mut self, validation: &Schema, structure: Option<&Schema>, at: &str, from: &str) {
        let Some(structure) = structure else {
            self.causes.push(Cause::required(at, &format!("because it is defined in {from}")));
            return;
        };
        self.node(validation, structure, at, from);
        if let Some(items) = &validation.items {
            self.nested(items, structure.items.as_deref(), &child(at, "items"), &child(from, "items"));
        }
        for (name, property) in &validation.properties {
            let (at, from) = (key(&child(at, "properties"), name), key(&child(from, "properties"), name));
            self.nested(property, structure.properties.get(name), &at, &from);
        }
    }
}

/// Every default must be a valid value.
#[derive(Default)]
struct Defaults {
    causes: Vec<Cause>,
}

impl Defaults {
    fn check(mut self, schema: &Schema, at: &str) -> Vec<Cause> {
        self.node(schema, true, false, at);
        self.causes
    }

    fn node(&mut self, schema: &Schema, is_resource: bool, inside_meta: bool, at: &str) {
        let inside_meta = inside_meta && !schema.embedded;
        if let Some(default) = &schema.default {
            self.value(schema, default, is_resource, inside_meta, &child(at, "default"));
        }
        if let Some(items) = &schema.items {
            self.node(items, items.embedded, inside_meta, &child(at, "items"));
        }
        for (name, property) in &schema.properties {
            let inside_meta = inside_meta || is_resource && prune::META_FIELDS.contains(&name.as_str());
            self.node(property, property.embedded, inside_meta, &key(&child(at, "properties"), name));
        }
    }

    fn value(&mut self, schema: &Schema, default: &Value, is_resource: bool, inside_meta: bool, at: &str) {
        if !inside_meta {
            let mut pruned = default.clone();
            prune::prune(&mut pruned, schema, is_resource);
            if pruned != *default {
                self.causes.push(Cause::invalid(at, Shown::Value(default), "must not have unknown fields"));
            }
            let causes = embedded::validate(default, schema, is_resource, at);
            if !causes.is_empty() {
                return self.causes.extend(causes);
            }
        }
        let causes = validate::validate(default, schema, None, at);
        if !causes.is_empty() {
            return self.causes.extend(causes);
        }
        let mut causes = rules::validate(default, schema, Some(default), None, is_resource, at);
        if causes.is_empty() {
            causes = rules::validate(default, schema, None, None, is_resource, at);
        }
        self.causes.extend(causes);
    }
}

/// What surrounds a node, as far as the rules for it depend on that.
#[derive(Clone, Default)]
struct Context {
    is_root: bool,
    no_defaults: Option<String>,
    inside_meta: bool,
    /// The first path on the way here at which old and new values cannot be matched.
    uncorrelatable: Option<String>,
    compiled: bool,
    /// How many values of the node an object can have; nothing if there is no limit.
    cardinality: Option<u64>,
}

/// The rules of the server for every schema of a CRD, structural or not.
#[derive(Default)]
struct Standard {
    schema: Vec<Cause>,
    rules: Vec<Cause>,
    /// What all rules may cost, and the rules that may cost the most.
    total: u64,
    most_expensive: Vec<(String, u64)>,
}

/// How many values of the schemas below it a value can have.
fn most_children(schema: &Schema) -> Option<u64> {
    let limit = match (schema.kind.as_str(), &schema.additional) {
        ("object", Some(_)) => schema.max_properties,
        ("array", _) => schema.max_items,
        _ => return Some(1),
    };
    limit.map(|limit| limit.max(0).cast_unsigned())
}

const KINDS: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

impl Standard {
    fn forbid(&mut self, at: String, detail: &str) {
        self.schema.push(Cause::forbidden(at, detail));
    }

    fn refuse(&mut self, at: String, value: Value, detail: &str) {
        self.schema.push(Cause::invalid(at, Shown::Value(&value), detail));
    }

    fn require(&mut self, at: String, detail: &str) {
        self.schema.push(Cause::required(at, detail));
    }

    fn node(&mut self, schema: &Schema, at: &str, context: &Context) {
        let before = self.schema.len();
        self.keywords(schema, at, context);
        if schema.unique_items {
            let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            self.forbid(child(at, "uniqueItems"), detail);
        }
        let cardinality =
            context.cardinality.zip(most_children(schema)).map(|(all, each)| all.saturating_mul(each));
        let below = Context { is_root: false, cardinality, ..context.clone() };
        let unruled = Context { compiled: false, ..below.clone() };
        if let Some(additional) = &schema.additional {
            let at = child(at, "additionalProperties");
            if !schema.properties.is_empty() && !matches!(additional, Additional::Allowed(true)) {
                self.forbid(at.clone(), "additionalProperties and properties are mutual exclusive");
            }
            if let Some(schema) = additional.schema() {
                let mut below = below.clone();
                if context.inside_meta {
                    below.no_defaults =
                        Some("inside additionalProperties applying to object metadata".into());
                }
                self.node(schema, &at, &below);
            }
        }
        for (name, property) in &schema.properties {
            let mut below = below.clone();
            if !matches!(schema.map_type.as_deref(), None | Some("granular" | "atomic")) {
                below.uncorrelatable.get_or_insert_with(|| at.to_owned());
            }
            if (context.is_root || schema.embedded) && prune::META_FIELDS.contains(&name.as_str()) {
                below.inside_meta = true;
                if context.is_root {
                    below.no_defaults = Some(format!("in top-level {name}"));
                }
            }
            self.node(property, &key(&child(at, "properties"), name), &below);
        }
        if let Some(not) = &schema.not {
            self.node(not, &child(at, "not"), &unruled);
        }
        for (parts, name) in [(&schema.all_of, "allOf"), (&schema.one_of, "oneOf"), (&schema.any_of, "anyOf")]
        {
            for (i, part) in parts.iter().enumerate() {
                self.node(part, &index(&child(at, name), i), &unruled);
            }
        }
        if let Some(items) = &schema.items {
            let mut below = below.clone();
            if schema.list_type.as_deref() != Some("map") {
                below.uncorrelatable.get_or_insert_with(|| at.to_owned());
            }
            self.node(items, &child(at, "items"), &below);
        }
        if schema.preserve_unknown == Some(false) {
            let at = child(at, "x-kubernetes-preserve-unknown-fields");
            self.refuse(at, Value::from(false), "must be true or undefined");
        }
        self.topology(schema, at);
        for (i, rule) in schema.rules.iter().enumerate() {
            self.rule(schema, rule, &index(&child(at, "x-kubernetes-validations"), i));
        }
        if self.schema.len() == before && context.compiled {
            for (i, rule) in schema.rules.iter().enumerate() {
                self.compiled(rule, &index(&child(at, "x-kubernetes-validations"), i), context);
            }
        }
    }

    fn keywords(&mut self, schema: &Schema, at: &str, context: &Context) {
        if !schema.kind.is_empty() && !KINDS.contains(&schema.kind.as_str()) {
            let cause = Cause::not_supported(child(at, "type"), Shown::Text(&schema.kind), KINDS);
            self.schema.push(cause);
        }
        if let (Some(reason), true) = (&context.no_defaults, schema.default.is_some()) {
            self.forbid(child(at, "default"), &format!("must not be set {reason}"));
        }
        for name in schema.unsupported.iter().filter(|name| **name != "$schema") {
            self.forbid(child(at, name), &format!("{name} is not supported"));
        }
        if schema.kind == "null" {
            self.forbid(child(at, "type"), "type cannot be set to null, use nullable as an alternative");
        }
        if schema.items_list {
            self.forbid(child(at, "items"), "items must be a schema object and not an array");
        }
        if context.inside_meta && schema.embedded {
            self.forbid(
                child(at, "x-kubernetes-embedded-resource"),
                "must not be used inside of resource meta",
            );
        }
    }

    fn topology(&mut self, schema: &Schema, at: &str) {
        for (set, wanted, name) in [
            (schema.map_type.is_some(), "object", "x-kubernetes-map-type"),
            (schema.list_type.is_some(), "array", "x-kubernetes-list-type"),
        ] {
            if set && schema.kind != wanted {
                let detail = format!("must be {wanted} if {name} is specified");
                if schema.kind.is_empty() {
                    self.require(child(at, "type"), &detail);
                } else {
                    self.refuse(child(at, "type"), Value::from(schema.kind.as_str()), &detail);
                }
            }
            if wanted == "object"
                && let Some(kind) =
                    schema.map_type.as_deref().filter(|kind| !["atomic", "granular"].contains(kind))
            {
                let at = child(at, "x-kubernetes-map-type");
                self.schema.push(Cause::not_supported(at, Shown::Text(kind), ["atomic", "granular"]));
            }
        }
        self.set_items(schema, at);
        let list_type = schema.list_type.as_deref();
        if let Some(kind) = list_type.filter(|kind| !["atomic", "set", "map"].contains(kind)) {
            let at = child(at, "x-kubernetes-list-type");
            self.schema.push(Cause::not_supported(at, Shown::Text(kind), ["atomic", "set", "map"]));
        }
        if !schema.list_map_keys.is_empty() && list_type != Some("map") {
            let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
            let at = child(at, "x-kubernetes-list-type");
            match list_type {
                None => self.require(at, detail),
                Some(kind) => self.refuse(at, Value::from(kind), detail),
            }
        }
        if list_type == Some("map") {
            self.map_items(schema, at);
        }
        self.item_keys(schema, at);
    }

    fn set_items(&mut self, schema: &Schema, at: &str) {
        let (Some("set"), "array", Some(items)) =
            (schema.list_type.as_deref(), schema.kind.as_str(), &schema.items)
        else {
            return;
        };
        let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
        let list_type = items.list_type.as_deref().map_or(Value::Null, Value::from);
        let at = child(at, "items");
        match items.kind.as_str() {
            "array" if !matches!(items.list_type.as_deref(), None | Some("atomic")) => {
                self.refuse(child(&at, "x-kubernetes-list-type"), list_type, detail);
            }
            "object" if items.map_type.as_deref() != Some("atomic") => {
                self.refuse(child(&at, "x-kubernetes-map-type"), list_type, detail);
            }
            _ => {}
        }
    }

    fn map_items(&mut self, schema: &Schema, at: &str) {
        let keys_at = child(at, "x-kubernetes-list-map-keys");
        if schema.list_map_keys.is_empty() {
            self.require(keys_at.clone(), "must not be empty if x-kubernetes-list-type is map");
        }
        let items_at = child(at, "items");
        let Some(items) = &schema.items else {
            if !schema.items_list {
                self.require(items_at, "must have a schema if x-kubernetes-list-type is map");
            }
            return;
        };
        if items.kind != "object" {
            let detail = "must be object if parent array's x-kubernetes-list-type is map";
            return self.refuse(child(&items_at, "type"), Value::from(items.kind.as_str()), detail);
        }
        for (i, name) in schema.list_map_keys.iter().enumerate() {
            match items.properties.get(name).map(|property| property.kind.as_str()) {
                Some("array" | "object") => {
                    let at = child(&key(&child(&items_at, "properties"), name), "type");
                    let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                    self.refuse(at, Value::from("object"), detail);
                }
                Some(_) => {}
                None => {
                    let keys = Value::from(schema.list_map_keys.clone());
                    self.refuse(keys_at.clone(), keys, "entries must all be names of item properties");
                }
            }
            if schema.list_map_keys[..i].contains(name) {
                let keys = Value::from(schema.list_map_keys.clone());
                self.refuse(keys_at.clone(), keys, "must not contain duplicate entries");
            }
        }
    }

    fn item_keys(&mut self, schema: &Schema, at: &str) {
        let (Some(items), Some(kind @ ("set" | "map"))) = (&schema.items, schema.list_type.as_deref()) else {
            return;
        };
        let at = child(at, "items");
        if items.nullable {
            self.forbid(
                child(&at, "nullable"),
                &format!("cannot be nullable when x-kubernetes-list-type is {kind}"),
            );
        }
        if kind == "set" {
            return;
        }
        for name in &schema.list_map_keys {
            let Some(property) = items.properties.get(name) else { continue };
            let at = key(&child(&at, "properties"), name);
            let this = "this property is in x-kubernetes-list-map-keys, so it";
            if !items.required.contains(name) && property.default.is_none() {
                self.require(
                    child(&at, "default"),
                    &format!("{this} must have a default or be a required property"),
                );
            }
            if property.nullable {
                self.forbid(child(&at, "nullable"), &format!("{this} cannot be nullable"));
            }
        }
    }

    fn rule(&mut self, schema: &Schema, rule: &Rule, at: &str) {
        let newlines = |text: &str| text.contains(['\n', '\r']);
        let message = rule.message.trim();
        let message_at = child(at, "message");
        if rule.rule.trim().is_empty() {
            self.require(child(at, "rule"), "rule is not specified");
        } else if !rule.message.is_empty() && message.is_empty() {
            self.refuse(message_at, Value::from(rule.message.as_str()), "must be non-empty if specified");
        } else if newlines(message) {
            self.refuse(message_at, Value::from(rule.message.as_str()), "must not contain line breaks");
        } else if newlines(rule.rule.trim()) && message.is_empty() {
            self.require(message_at, "message must be specified if rule contains line breaks");
        }
        if !rule.message_expression.is_empty() && rule.message_expression.trim().is_empty() {
            self.require(child(at, "messageExpression"), "messageExpression must be non-empty if specified");
        }
        if let Some(reason) = rule.reason.as_deref().filter(|reason| !rules::REASONS.contains(reason)) {
            let cause = Cause::not_supported(child(at, "reason"), Shown::Text(reason), rules::REASONS);
            self.schema.push(cause);
        }
        let path = rule.field_path.as_str();
        let mut refuse = |detail| self.refuse(child(at, "fieldPath"), Value::from(path), detail);
        if !path.is_empty() && path.trim().is_empty() {
            refuse("must be non-empty if specified");
        }
        if newlines(path) {
            refuse("must not contain line breaks");
        }
        if !path.is_empty() && field_path::resolve(path, schema).is_err() {
            refuse("must be a valid path");
        }
    }

    fn compiled(&mut self, rule: &Rule, at: &str, context: &Context) {
        let Some(compiled) = rule.compiled.as_deref() else { return };
        let shown = rules::shown(rule);
        let cost = compiled.cost.saturating_mul(context.cardinality.unwrap_or(compiled.most_values));
        self.charge("estimated rule cost", cost, child(at, "rule"));
        if let Err(detail) = &compiled.program {
            self.rules.push(Cause::invalid(child(at, "rule"), Shown::Json(&shown), detail));
        }
        match &compiled.message {
            Some(Err(detail)) => {
                self.rules.push(Cause::invalid(child(at, "messageExpression"), Shown::Json(&shown), detail));
            }
            Some(Ok(_)) => {
                let at = child(at, "messageExpression");
                self.charge("estimated messageExpression cost", compiled.message_cost, at);
            }
            None => {}
        }
        if compiled.uses_old_self {
            if let Some(path) = &context.uncorrelatable {
                let detail = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within {path}"
                );
                self.rules.push(Cause::invalid(child(at, "rule"), Shown::Text(&rule.rule), &detail));
            }
        } else if let Some(optional) = rule.optional_old_self {
            let detail = "may not be set if oldSelf is not used in rule";
            let at = child(at, "optionalOldSelf");
            self.rules.push(Cause::invalid(at, Shown::Value(&Value::from(optional)), detail));
        }
    }

    /// Adds the cost of an expression to the total, and reports it if it is too much alone.
    fn charge(&mut self, what: &str, cost: u64, at: String) {
        if cost > cost::PER_EXPRESSION {
            self.rules.push(Cause::forbidden(at.clone(), &cost::exceeded(what, cost, cost::PER_EXPRESSION)));
        }
        self.total = self.total.saturating_add(cost);
        // What is less than a hundredth of the limit is not worth mentioning.
        if cost >= cost::PER_SCHEMA / 100 {
            self.most_expensive.push((at, cost));
            self.most_expensive.sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
            self.most_expensive.truncate(4);
        }
    }
}
