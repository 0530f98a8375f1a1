//! A CRD's schema, read from its `openAPIV3Schema`.

use std::{collections::BTreeMap, sync::Arc};

use regex::Regex;
use serde_json::{Map, Value};

use super::{
    cause::{Cause, Shown},
    path,
    rules::Compiled,
};

/// Schemas nested deeper than this are refused, so that no recursion over a schema exhausts the stack.
const MAX_DEPTH: usize = 100;

/// One node of a schema. It holds what the server's `JSONSchemaProps` holds, except for what is documentation only.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Schema {
    pub kind: String,
    pub nullable: bool,
    pub format: String,
    pub default: Option<Value>,
    pub title: bool,
    pub description: bool,
    pub properties: BTreeMap<String, Schema>,
    pub additional: Option<Additional>,
    pub items: Option<Box<Schema>>,
    /// `items` is a list of schemas, which only the check of a CRD looks at.
    pub items_list: bool,
    pub choices: Vec<Value>,
    pub pattern: Option<Pattern>,
    pub maximum: Option<f64>,
    pub exclusive_maximum: bool,
    pub minimum: Option<f64>,
    pub exclusive_minimum: bool,
    pub multiple_of: Option<f64>,
    pub max_length: Option<i64>,
    pub min_length: Option<i64>,
    pub max_items: Option<i64>,
    pub min_items: Option<i64>,
    pub unique_items: bool,
    pub max_properties: Option<i64>,
    pub min_properties: Option<i64>,
    pub required: Vec<String>,
    pub all_of: Vec<Schema>,
    pub any_of: Vec<Schema>,
    pub one_of: Vec<Schema>,
    pub not: Option<Box<Schema>>,
    pub preserve_unknown: Option<bool>,
    pub embedded: bool,
    pub int_or_string: bool,
    pub list_type: Option<String>,
    pub list_map_keys: Vec<String>,
    pub map_type: Option<String>,
    pub rules: Vec<Rule>,
    /// The keys that no CRD may use: `$ref`, `definitions` and the like.
    pub unsupported: Vec<&'static str>,
}

/// What `additionalProperties` says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Additional {
    Allowed(bool),
    Schema(Box<Schema>),
}

/// A regular expression, and its text.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub text: String,
    pub compiled: Result<Regex, String>,
}

/// One entry of `x-kubernetes-validations`.
#[derive(Clone, Debug, Default)]
pub(super) struct Rule {
    pub rule: String,
    pub message: String,
    pub message_expression: String,
    pub reason: Option<String>,
    pub field_path: String,
    pub optional_old_self: Option<bool>,
    /// What the rule was compiled to, once it was.
    pub compiled: Option<Arc<Compiled>>,
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.rule == other.rule
            && self.message == other.message
            && self.message_expression == other.message_expression
            && self.reason == other.reason
            && self.field_path == other.field_path
            && self.optional_old_self == other.optional_old_self
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Additional {
    pub fn schema(&self) -> Option<&Schema> {
        match self {
            Self::Schema(schema) => Some(schema),
            Self::Allowed(_) => None,
        }
    }
}

impl Schema {
    pub fn parse(value: &Value, at: &str) -> Result<Self, Vec<Cause>> {
        let mut reader = Reader { causes: Vec::new() };
        let schema = reader.schema(value, at, 0);
        if reader.causes.is_empty() { Ok(schema) } else { Err(reader.causes) }
    }

    /// The schema of a field of an object, which `additionalProperties` may give.
    pub fn field(&self, name: &str) -> Option<&Schema> {
        self.properties.get(name).or_else(|| self.additional.as_ref()?.schema())
    }

    pub fn keeps_unknown(&self) -> bool {
        self.preserve_unknown == Some(true)
    }

    /// Whether this schema or one below it, other than in `allOf` and its like, has rules in CEL.
    pub fn has_rules(&self) -> bool {
        !self.rules.is_empty()
            || self.items.as_deref().is_some_and(Self::has_rules)
            || self.additional.as_ref().and_then(Additional::schema).is_some_and(Self::has_rules)
            || self.properties.values().any(Self::has_rules)
    }
}

struct Reader {
    causes: Vec<Cause>,
}

impl Reader {
    fn malformed(&mut self, at: &str, value: &Value, wanted: &str) {
        self.causes.push(Cause::invalid(at, Shown::Value(value), &format!("must be {wanted}")));
    }

    fn schema(&mut self, value: &Value, at: &str, depth: usize) -> Schema {
        if depth > MAX_DEPTH {
            let detail = format!("must not nest schemas deeper than {MAX_DEPTH} levels");
            self.causes.push(Cause::invalid(at, Shown::Omitted, &detail));
            return Schema::default();
        }
        let Value::Object(fields) = value else {
            self.malformed(at, value, "a schema, which is an object");
            return Schema::default();
        };
        let text = |reader: &mut Self, key| reader.text(fields, key, at).unwrap_or_default();
        let mut schema = Schema {
            kind: text(self, "type"),
            format: text(self, "format"),
            title: !text(self, "title").is_empty(),
            description: !text(self, "description").is_empty(),
            nullable: self.flag(fields, "nullable", at),
            default: fields.get("default").filter(|value| !value.is_null()).cloned(),
            maximum: self.number(fields, "maximum", at),
            exclusive_maximum: self.flag(fields, "exclusiveMaximum", at),
            minimum: self.number(fields, "minimum", at),
            exclusive_minimum: self.flag(fields, "exclusiveMinimum", at),
            multiple_of: self.number(fields, "multipleOf", at),
            max_length: self.integer(fields, "maxLength", at),
            min_length: self.integer(fields, "minLength", at),
            max_items: self.integer(fields, "maxItems", at),
            min_items: self.integer(fields, "minItems", at),
            unique_items: self.flag(fields, "uniqueItems", at),
            max_properties: self.integer(fields, "maxProperties", at),
            min_properties: self.integer(fields, "minProperties", at),
            required: self.texts(fields, "required", at),
            preserve_unknown: self.optional_flag(fields, "x-kubernetes-preserve-unknown-fields", at),
            embedded: self.flag(fields, "x-kubernetes-embedded-resource", at),
            int_or_string: self.flag(fields, "x-kubernetes-int-or-string", at),
            list_type: self.text(fields, "x-kubernetes-list-type", at),
            list_map_keys: self.texts(fields, "x-kubernetes-list-map-keys", at),
            map_type: self.text(fields, "x-kubernetes-map-type", at),
            choices: self.list(fields, "enum", at).to_vec(),
            pattern: self.text(fields, "pattern", at).filter(|text| !text.is_empty()).map(Pattern::new),
            all_of: self.schemas(fields, "allOf", at, depth),
            any_of: self.schemas(fields, "anyOf", at, depth),
            one_of: self.schemas(fields, "oneOf", at, depth),
            rules: self.rules(fields, at),
            ..Schema::default()
        };
        let present = |key: &&'static str| {
            fields.get(*key).is_some_and(|value| match value {
                Value::Null => false,
                Value::Object(fields) => {
                    !fields.is_empty() || *key == "additionalItems" || *key == "dependencies"
                }
                Value::String(text) => !text.is_empty() || *key == "$ref",
                _ => true,
            })
        };
        schema.unsupported = UNSUPPORTED.iter().copied().filter(present).collect();
        let below = depth + 1;
        if let Some(value) = present_value(fields, "not") {
            schema.not = Some(Box::new(self.schema(value, &path::child(at, "not"), below)));
        }
        match present_value(fields, "properties") {
            Some(Value::Object(properties)) => {
                let at = path::child(at, "properties");
                for (name, value) in properties {
                    let property = self.schema(value, &path::key(&at, name), below);
                    schema.properties.insert(name.clone(), property);
                }
            }
            Some(value) => self.malformed(&path::child(at, "properties"), value, "an object"),
            None => {}
        }
        match present_value(fields, "additionalProperties") {
            Some(Value::Bool(allowed)) => schema.additional = Some(Additional::Allowed(*allowed)),
            Some(value) => {
                let at = path::child(at, "additionalProperties");
                schema.additional = Some(Additional::Schema(Box::new(self.schema(value, &at, below))));
            }
            None => {}
        }
        match present_value(fields, "items") {
            Some(Value::Array(_)) => schema.items_list = true,
            Some(value) => {
                schema.items = Some(Box::new(self.schema(value, &path::child(at, "items"), below)))
            }
            None => {}
        }
        if !format_is_known(&schema) {
            schema.format.clear();
        }
        schema
    }

    fn schemas(&mut self, fields: &Map<String, Value>, key: &str, at: &str, depth: usize) -> Vec<Schema> {
        let at = path::child(at, key);
        let values = self.list(fields, key, &at).to_vec();
        (values.iter().enumerate())
            .map(|(i, value)| self.schema(value, &path::index(&at, i), depth + 1))
            .collect()
    }

    fn rules(&mut self, fields: &Map<String, Value>, at: &str) -> Vec<Rule> {
        const KEY: &str = "x-kubernetes-validations";
        let list = self.list(fields, KEY, at).to_vec();
        let at = path::child(at, KEY);
        let mut rules = Vec::new();
        for (i, value) in list.into_iter().enumerate() {
            let at = path::index(&at, i);
            let Value::Object(fields) = &value else {
                self.malformed(&at, &value, "an object");
                continue;
            };
            rules.push(Rule {
                rule: self.text(fields, "rule", &at).unwrap_or_default(),
                message: self.text(fields, "message", &at).unwrap_or_default(),
                message_expression: self.text(fields, "messageExpression", &at).unwrap_or_default(),
                reason: self.text(fields, "reason", &at),
                field_path: self.text(fields, "fieldPath", &at).unwrap_or_default(),
                optional_old_self: self.optional_flag(fields, "optionalOldSelf", &at),
                compiled: None,
            });
        }
        rules
    }

    fn list<'a>(&mut self, fields: &'a Map<String, Value>, key: &str, at: &str) -> &'a [Value] {
        match present_value(fields, key) {
            None => &[],
            Some(Value::Array(values)) => values,
            Some(value) => {
                self.malformed(&path::child(at, key), value, "a list");
                &[]
            }
        }
    }

    fn texts(&mut self, fields: &Map<String, Value>, key: &str, at: &str) -> Vec<String> {
        let mut texts = Vec::new();
        for value in self.list(fields, key, at) {
            match value.as_str() {
                Some(text) => texts.push(text.to_owned()),
                None => self.malformed(&path::child(at, key), value, "a list of strings"),
            }
        }
        texts
    }

    fn text(&mut self, fields: &Map<String, Value>, key: &str, at: &str) -> Option<String> {
        let value = present_value(fields, key)?;
        if value.as_str().is_none() {
            self.malformed(&path::child(at, key), value, "a string");
        }
        value.as_str().map(str::to_owned)
    }

    fn optional_flag(&mut self, fields: &Map<String, Value>, key: &str, at: &str) -> Option<bool> {
        let value = present_value(fields, key)?;
        if value.as_bool().is_none() {
            self.malformed(&path::child(at, key), value, "a boolean");
        }
        value.as_bool()
    }

    fn flag(&mut self, fields: &Map<String, Value>, key: &str, at: &str) -> bool {
        self.optional_flag(fields, key, at).unwrap_or_default()
    }

    fn number(&mut self, fields: &Map<String, Value>, key: &str, at: &str) -> Option<f64> {
        let value = present_value(fields, key)?;
        if value.as_f64().is_none() {
            self.malformed(&path::child(at, key), value, "a number");
        }
        value.as_f64()
    }

    fn integer(&mut self, fields: &Map<String, Value>, key: &str, at: &str) -> Option<i64> {
        let value = present_value(fields, key)?;
        if value.as_i64().is_none() {
            self.malformed(&path::child(at, key), value, "an integer");
        }
        value.as_i64()
    }
}

const UNSUPPORTED: &[&str] =
    &["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref", "$schema"];

fn present_value<'a>(fields: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    fields.get(key).filter(|value| !value.is_null())
}

/// A format that the server does not know is ignored.
fn format_is_known(schema: &Schema) -> bool {
    if schema.int_or_string {
        return false;
    }
    match schema.kind.as_str() {
        "" | "string" => super::formats::is_known(&schema.format),
        "integer" => matches!(schema.format.as_str(), "int32" | "int64"),
        "number" => matches!(schema.format.as_str(), "float" | "double"),
        _ => false,
    }
}

impl Pattern {
    fn new(text: String) -> Self {
        let compiled = super::re2::compile(&text);
        Self { text, compiled }
    }
}
