//! Checking a value against its schema.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Shape, ValidationError, item_element};
use crate::{
    json,
    path::PathElement,
    schema::{List, ListSharing, Map, Scalar, Schema, TypeId},
};

/// Whether a list may contain two items with one key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Duplicates {
    Allowed,
    Refused,
}

/// Checks that a value fits the schema. Afterwards each item of a shared list is known to have a key.
pub(crate) fn validate(
    value: &Value,
    schema: &Schema,
    duplicates: Duplicates,
) -> Result<(), Vec<ValidationError>> {
    json::check_depth(value).map_err(|error| vec![error.into()])?;
    let mut validator = Validator { schema, duplicates, path: Vec::new(), errors: Vec::new() };
    validator.value(value, schema.root());
    if validator.errors.is_empty() { Ok(()) } else { Err(validator.errors) }
}

struct Validator<'v> {
    schema: &'v Schema,
    duplicates: Duplicates,
    path: Vec<Step<'v>>,
    errors: Vec<ValidationError>,
}

/// A path element that is made only for an error, if it is a field.
enum Step<'v> {
    Field(&'v str),
    Item(PathElement),
}

impl<'v> Validator<'v> {
    fn value(&mut self, value: &'v Value, id: TypeId) {
        match Shape::of(self.schema.get(id), Some(value)) {
            Some(Shape::Map(map)) => self.map(value, map),
            Some(Shape::Scalar(scalar)) => {
                if let Err(problem) = check_scalar(scalar, value) {
                    self.error(problem);
                }
            }
            Some(Shape::List(list)) => self.list(value, list),
            None => {}
        }
    }

    fn map(&mut self, value: &'v Value, map: &Map) {
        match value {
            Value::Null => {}
            Value::Object(fields) => {
                for (name, field) in fields {
                    self.path.push(Step::Field(name));
                    match map.type_of(name) {
                        Some(id) => self.value(field, id),
                        None => self.error("field not declared in schema"),
                    }
                    self.path.pop();
                }
            }
            other => self.error(format!("expected map, got &{{{}}}", go_text(other))),
        }
    }

    fn list(&mut self, value: &'v Value, list: &List) {
        let items = match value {
            Value::Null => return,
            Value::Array(items) => items,
            other => return self.error(format!("expected list, got &{{{}}}", go_text(other))),
        };
        let mut seen = BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            let element = if list.sharing == ListSharing::Atomic {
                PathElement::Index(index)
            } else {
                match item_element(self.schema, list, item) {
                    Ok(element) => element,
                    // Without the key of the item there is no path for what is below it.
                    Err(problem) => return self.error(format!("element {index}: {problem}")),
                }
            };
            if self.duplicates == Duplicates::Refused && !seen.insert(element.clone()) {
                self.error(format!("duplicate entries for key {element}"));
            }
            self.path.push(Step::Item(element));
            self.value(item, list.items);
            self.path.pop();
        }
    }

    fn error(&mut self, problem: impl Into<String>) {
        let path = self.path.iter().map(|step| match step {
            Step::Field(name) => PathElement::field(*name),
            Step::Item(element) => element.clone(),
        });
        self.errors.push(ValidationError::new(path.collect(), problem));
    }
}

/// Checks that a value is null or of the scalar type.
pub(super) fn check_scalar(scalar: Scalar, value: &Value) -> Result<(), String> {
    let expected = match (scalar, value) {
        (_, Value::Null) => return Ok(()),
        (Scalar::Number, Value::Number(_)) => return Ok(()),
        (Scalar::String, Value::String(_)) => return Ok(()),
        (Scalar::Boolean, Value::Bool(_)) => return Ok(()),
        (Scalar::Any, Value::Number(_) | Value::String(_) | Value::Bool(_)) => return Ok(()),
        (Scalar::Number, _) => {
            return Err(format!("expected numeric (int or float), got {}", go_type(value)));
        }
        (Scalar::String, _) => "string",
        (Scalar::Boolean, _) => "boolean",
        (Scalar::Any, _) => return Err(format!("expected any scalar, got &{{{}}}", go_text(value))),
    };
    Err(format!("expected {expected}, got &value.valueUnstructured{{Value:{}}}", go_syntax(value)))
}

/// Names the Go type of a value, as `%T` does.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// Prints a value as Go prints it, as `%v` does.
fn go_text(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(go_text).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            let fields: Vec<_> =
                fields.iter().map(|(key, value)| format!("{key}:{}", go_text(value))).collect();
            format!("map[{}]", fields.join(" "))
        }
        scalar => scalar.to_string(),
    }
}

/// Prints a value in Go's syntax, as `%#v` does.
fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(go_syntax).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(fields) => {
            let fields: Vec<_> =
                fields.iter().map(|(key, value)| format!("{key:?}:{}", go_syntax(value))).collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
        scalar => scalar.to_string(),
    }
}
