//! The validation of a value: types, ranges, patterns and combinations of schemas.

use std::collections::HashSet;

use serde_json::{Number, Value};

use super::{
    cause::{Cause, Shown, float_text, json, number_text, quote},
    formats,
    model::{Additional, Schema},
    ratchet::Correlation,
};

/// Validates a value; with a correlation, what an update does not change is left alone.
pub(super) fn validate(
    value: &Value,
    schema: &Schema,
    update: Option<Correlation<'_>>,
    at: &str,
) -> Vec<Cause> {
    let outcome = node(value, schema, update, "");
    outcome.failures.into_iter().map(|failure| failure.into_cause(at)).collect()
}

/// What a value is found to be. `matches` counts the checks that were passed: among the alternatives of an `anyOf` the
/// server reports the one with the most.
#[derive(Default)]
struct Outcome {
    failures: Vec<Failure>,
    messages: HashSet<String>,
    matches: usize,
}

struct Failure {
    what: What,
    /// The path of the field, below the validated value.
    name: String,
    value: Option<Value>,
    message: String,
}

enum What {
    Type,
    Required,
    TooLong(i64),
    TooMany(usize, i64),
    Choice(Vec<Value>),
    Other,
    /// A failure that names no field.
    Nowhere,
}

impl Failure {
    fn into_cause(self, at: &str) -> Cause {
        let name = self.name.strip_prefix('.').unwrap_or(&self.name);
        let field = match (at.is_empty(), name.is_empty()) {
            _ if matches!(self.what, What::Nowhere) => at.to_owned(),
            (true, _) => name.to_owned(),
            (_, true) => at.to_owned(),
            _ => format!("{at}.{name}"),
        };
        // A path without elements is Go's nil.
        let field = if field.is_empty() { "<nil>".to_owned() } else { field };
        let shown = self.value.as_ref().map_or(Shown::Text(""), Shown::Value);
        match self.what {
            What::Required => Cause::required(field, ""),
            What::TooLong(max) => Cause::too_long(field, max),
            What::TooMany(actual, max) => Cause::too_many(field, actual, max),
            What::Type => Cause::type_invalid(field, shown, &self.message),
            What::Choice(choices) => {
                let choices = choices.iter().map(|choice| match choice {
                    Value::String(text) => text.clone(),
                    other => json(other),
                });
                let shown = self.value.as_ref().map_or(Shown::Value(&Value::Null), Shown::Value);
                Cause::not_supported(field, shown, choices)
            }
            What::Other => Cause::invalid(field, shown, &self.message),
            What::Nowhere => Cause::invalid(field, Shown::Text(""), &self.message),
        }
    }
}

impl Outcome {
    fn is_valid(&self) -> bool {
        self.failures.is_empty()
    }

    fn add(&mut self, failure: Failure) {
        if self.messages.insert(failure.message.clone()) {
            self.failures.push(failure);
        }
    }

    fn fail(&mut self, what: What, name: &str, value: Option<Value>, message: String) {
        self.add(Failure { what, name: name.to_owned(), value, message });
    }

    fn fail_nowhere(&mut self, message: String) {
        self.fail(What::Nowhere, "", None, message);
    }

    fn merge(&mut self, other: Self) {
        self.matches += other.matches;
        for failure in other.failures {
            self.add(failure);
        }
    }
}

/// The type of a value, in the words of JSON schemas.
fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

impl Schema {
    fn types(&self) -> Vec<&str> {
        if self.int_or_string {
            vec!["integer", "string"]
        } else if self.kind.is_empty() {
            Vec::new()
        } else {
            vec![&self.kind]
        }
    }
}

fn node(value: &Value, schema: &Schema, update: Option<Correlation<'_>>, path: &str) -> Outcome {
    let mut outcome = Outcome::default();
    if value.is_null() {
        check_type(value, schema, path, &mut outcome);
        check_choices(value, schema, path, &mut outcome);
        return outcome;
    }
    if !schema.kind.is_empty() || schema.int_or_string || !schema.format.is_empty() {
        check_type(value, schema, path, &mut outcome);
        outcome.matches += 1;
    }
    outcome.merge(combinations(value, schema, path));
    outcome.matches += 1;
    if let Value::String(text) = value {
        check_text(text, schema, path, &mut outcome);
        outcome.matches += 1;
        if formats::is_known(&schema.format) {
            if !formats::accepts(&schema.format, text) {
                outcome.add(wrong_type(path, &schema.format, text));
            }
            outcome.matches += 1;
        }
    }
    if let Value::Number(number) = value {
        check_number(number, schema, path, &mut outcome);
        outcome.matches += 2;
    }
    if let Value::Array(items) = value {
        check_items(items, schema, update, path, &mut outcome);
        outcome.matches += 2;
    }
    check_choices(value, schema, path, &mut outcome);
    outcome.matches += 1;
    if value.is_object() {
        check_fields(value, schema, update, path, &mut outcome);
        outcome.matches += 1;
    }
    outcome.matches += 1;
    outcome
}

/// A field or an item: what an update does not change is not refused.
fn below(value: &Value, schema: &Schema, update: Option<Correlation<'_>>, path: &str) -> Outcome {
    let mut outcome = node(value, schema, update, path);
    if !outcome.is_valid() && update.is_some_and(|update| update.unchanged()) {
        outcome.failures.clear();
        outcome.messages.clear();
    }
    outcome
}

fn wrong_type(path: &str, wanted: &str, found: &str) -> Failure {
    Failure {
        what: What::Type,
        name: path.to_owned(),
        value: Some(Value::from(found)),
        message: format!("{path} in body must be of type {wanted}: {}", quote(found)),
    }
}

fn check_type(value: &Value, schema: &Schema, path: &str, outcome: &mut Outcome) {
    let types = schema.types();
    if value.is_null() {
        if types.is_empty() || schema.nullable {
            outcome.matches += 1;
        } else {
            outcome.add(wrong_type(path, &types.join(","), "null"));
        }
        return;
    }
    let found = type_of(value);
    let format = match found {
        "integer" => "int64",
        "number" => "float64",
        _ => "",
    };
    let integer = found == "number" && value.as_f64().is_some_and(is_integer) && types.contains(&"integer");
    let number = found == "integer" && types.contains(&"number");
    let fits = types.contains(&found) || integer || number;
    let textual = found == "string" || found == "array";
    if !textual && !schema.format.is_empty() && !fits && format != schema.format {
        outcome.add(wrong_type(path, &schema.format, format));
        return;
    }
    let numeric = types.contains(&"number") || types.contains(&"integer");
    if !numeric && !schema.format.is_empty() && textual || fits {
        outcome.matches += 1;
        return;
    }
    outcome.add(wrong_type(path, &types.join(","), found));
}

/// Whether a float counts as an integer: within the range that JSON keeps exact, with a tolerance.
fn is_integer(float: f64) -> bool {
    const MAX: f64 = 9_007_199_254_740_991.0;
    const EPSILON: f64 = 1e-9;
    if !float.is_finite() || !(-MAX..=MAX).contains(&float) {
        return false;
    }
    if float == float.trunc() {
        return true;
    }
    let truncated = float.trunc();
    let sum = float.abs() + truncated.abs();
    truncated != 0.0 && (float - truncated).abs() / sum < EPSILON
}

fn check_choices(value: &Value, schema: &Schema, path: &str, outcome: &mut Outcome) {
    if schema.choices.is_empty() || schema.choices.iter().any(|choice| is_choice(value, choice)) {
        return;
    }
    let choices: Vec<_> = schema.choices.iter().map(go_value).collect();
    let message = format!("{path} in body should be one of [{}]", choices.join(" "));
    let shown = (!value.is_null()).then(|| value.clone());
    outcome.fail(What::Choice(schema.choices.clone()), path, shown, message);
}

/// Whether a value is the choice, after a conversion between integers and floats.
fn is_choice(value: &Value, choice: &Value) -> bool {
    match (value, choice) {
        (Value::Null, _) => false,
        (Value::Number(value), Value::Number(choice)) => {
            if choice.is_i64() {
                #[expect(clippy::cast_possible_truncation, reason = "Go converts so, too")]
                let value = value.as_i64().or(value.as_f64().map(|float| float as i64));
                value == choice.as_i64()
            } else {
                value.as_f64() == choice.as_f64()
            }
        }
        _ => value == choice,
    }
}

/// A value as Go's `%v` prints it.
fn go_value(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".into(),
        Value::String(text) => text.clone(),
        Value::Number(number) => number_text(number),
        other => json(other),
    }
}

fn check_text(text: &str, schema: &Schema, path: &str, outcome: &mut Outcome) {
    let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    let value = || Some(Value::from(text));
    if let Some(max) = schema.max_length.filter(|max| length > *max) {
        let message = format!("{path} in body should be at most {max} chars long");
        return outcome.fail(What::TooLong(max), path, value(), message);
    }
    if let Some(min) = schema.min_length.filter(|min| length < *min) {
        let message = format!("{path} in body should be at least {min} chars long");
        return outcome.fail(What::Other, path, value(), message);
    }
    if let Some(pattern) = &schema.pattern {
        let message = match &pattern.compiled {
            Ok(regex) if regex.is_match(text) => return,
            Ok(_) => format!("{path} in body should match '{}'", pattern.text),
            Err(error) => {
                format!("{path} in body should match '{}, but pattern is invalid: {error}'", pattern.text)
            }
        };
        outcome.fail(What::Other, path, value(), message);
    }
}

fn check_number(number: &Number, schema: &Schema, path: &str, outcome: &mut Outcome) {
    let float = number.as_f64().unwrap_or_default();
    let integer = number.as_i64();
    let range = Range::of(schema);
    let shown = |value: f64| match integer {
        Some(integer) => Some(Value::from(integer)),
        None => Some(Value::from(value)),
    };
    if !range.holds(number_text(number).as_str()) {
        outcome.fail_nowhere(range.message("Checked", path));
    }
    let mut bounds = Vec::new();
    if let Some(factor) = schema.multiple_of {
        let within = range.holds(&float_text(factor));
        if !within {
            bounds.push((range.message("MultipleOf", path), None));
        }
        if let Some(message) = multiple(integer.filter(|_| within), float, factor, path) {
            // For integers the factor is an integer, too, even if nothing is left of it.
            #[expect(clippy::cast_possible_truncation, reason = "Go converts so, too")]
            let factor = if integer.is_some() && within {
                Value::from(factor.trunc() as i64)
            } else {
                Value::from(factor)
            };
            let value = if message.starts_with("factor ") { Some(factor) } else { shown(float) };
            bounds.push((message, value));
        }
    }
    for (bound, exclusive, is_maximum) in
        [(schema.minimum, schema.exclusive_minimum, false), (schema.maximum, schema.exclusive_maximum, true)]
    {
        let Some(bound) = bound else { continue };
        let within = range.holds(&float_text(bound));
        if !within {
            let prefix = if is_maximum { "Maximum boundary" } else { "Minimum boundary" };
            bounds.push((range.message(prefix, path), None));
        }
        // Integers are compared with a bound as an integer, as in Go.
        let (exceeds, equals, text) = match integer.filter(|_| within) {
            Some(integer) => {
                #[expect(clippy::cast_possible_truncation, reason = "Go converts so, too")]
                let bound = bound as i64;
                let exceeds = if is_maximum { integer > bound } else { integer < bound };
                (exceeds, integer == bound, bound.to_string())
            }
            None => {
                let exceeds = if is_maximum { float > bound } else { float < bound };
                (exceeds, float == bound, float_text(bound))
            }
        };
        if exceeds || exclusive && equals {
            let relation = match (is_maximum, exclusive) {
                (true, false) => "less than or equal to",
                (true, true) => "less than",
                (false, false) => "greater than or equal to",
                (false, true) => "greater than",
            };
            bounds.push((format!("{path} in body should be {relation} {text}"), shown(float)));
        }
    }
    for (message, value) in bounds {
        match value {
            Some(value) => outcome.fail(What::Other, path, Some(value), message),
            None => outcome.fail_nowhere(message),
        }
    }
}

fn multiple(integer: Option<i64>, float: f64, factor: f64, path: &str) -> Option<String> {
    let not = |factor: String| Some(format!("{path} in body should be a multiple of {factor}"));
    if let Some(integer) = integer {
        #[expect(clippy::cast_possible_truncation, reason = "Go converts so, too")]
        let factor = factor as i64;
        if factor <= 0 {
            return Some(format!("factor MultipleOf declared for {path} must be positive: {factor}"));
        }
        return if integer % factor == 0 { None } else { not(factor.to_string()) };
    }
    if factor <= 0.0 {
        return Some(format!(
            "factor MultipleOf declared for {path} must be positive: {}",
            float_text(factor)
        ));
    }
    let quotient = if factor < 1.0 { 1.0 / factor * float } else { float / factor };
    if is_integer(quotient) { None } else { not(float_text(factor)) }
}

/// What the type and the format of a number can hold.
struct Range<'a> {
    kind: &'a str,
    format: &'a str,
}

impl<'a> Range<'a> {
    fn of(schema: &'a Schema) -> Self {
        if schema.int_or_string || !matches!(schema.kind.as_str(), "integer" | "number") {
            return Self { kind: "", format: "" };
        }
        Self { kind: &schema.kind, format: &schema.format }
    }

    fn holds(&self, text: &str) -> bool {
        match (self.kind, self.format) {
            ("integer", "int32") => text.parse::<i32>().is_ok(),
            ("integer", _) => text.parse::<i64>().is_ok(),
            (_, "float") => text.parse::<f64>().is_ok_and(|float| float.abs() <= f64::from(f32::MAX)),
            _ => true,
        }
    }

    fn message(&self, prefix: &str, path: &str) -> String {
        if self.format.is_empty() {
            format!("{prefix} value must be of type {} (default format) in {path}", self.kind)
        } else {
            format!("{prefix} value must be of type {} with format {} in {path}", self.kind, self.format)
        }
    }
}

fn check_items(
    items: &[Value],
    schema: &Schema,
    update: Option<Correlation<'_>>,
    path: &str,
    outcome: &mut Outcome,
) {
    if let Some(schema) = schema.items.as_deref() {
        for (i, item) in items.iter().enumerate() {
            let update = update.and_then(|update| update.index(i));
            outcome.merge(below(item, schema, update, &format!("{path}[{i}]")));
        }
    }
    let size = i64::try_from(items.len()).unwrap_or(i64::MAX);
    if let Some(min) = schema.min_items.filter(|min| size < *min) {
        let message = format!("{path} in body should have at least {min} items");
        outcome.fail(What::Other, path, Some(Value::from(size)), message);
    }
    if let Some(max) = schema.max_items.filter(|max| size > *max) {
        let message = format!("{path} in body should have at most {max} items");
        outcome.fail(What::TooMany(items.len(), max), path, None, message);
    }
    if schema.unique_items {
        let mut seen = HashSet::new();
        if !items.iter().all(|item| seen.insert(json(item))) {
            outcome.fail(What::Other, path, None, format!("{path} in body shouldn't contain duplicates"));
        }
    }
}

fn check_fields(
    value: &Value,
    schema: &Schema,
    update: Option<Correlation<'_>>,
    path: &str,
    outcome: &mut Outcome,
) {
    let Value::Object(fields) = value else { return };
    let size = i64::try_from(fields.len()).unwrap_or(i64::MAX);
    if let Some(min) = schema.min_properties.filter(|min| size < *min) {
        let message = format!("{path} in body should have at least {min} properties");
        outcome.fail(What::Other, path, Some(Value::from(size)), message);
    }
    if let Some(max) = schema.max_properties.filter(|max| size > *max) {
        let message = format!("{path} in body should have at most {max} properties");
        outcome.fail(What::TooMany(fields.len(), max), path, None, message);
    }
    let correlated = |name: &str| {
        // The server cannot see changes of these: it converts both objects to one version.
        let is_type = path.is_empty() && (name == "apiVersion" || name == "kind");
        update.filter(|_| !is_type).and_then(|update| update.key(name))
    };
    for (name, value) in fields {
        if schema.properties.contains_key(name) {
            continue;
        }
        match &schema.additional {
            Some(Additional::Allowed(false)) => {
                let message = format!("{path}.{name} in body is a forbidden property");
                outcome.fail(What::Other, path, Some(Value::from(name.as_str())), message);
            }
            Some(Additional::Schema(schema)) => {
                outcome.merge(below(value, schema, correlated(name), &format!("{path}.{name}")));
            }
            _ => {}
        }
    }
    for (name, schema) in &schema.properties {
        if let Some(value) = fields.get(name) {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            outcome.merge(below(value, schema, correlated(name), &path));
        }
    }
    for name in &schema.required {
        if !fields.contains_key(name) {
            let path = format!("{path}.{name}");
            outcome.fail(What::Required, &path, None, format!("{path} in body is required"));
        }
    }
}

/// `anyOf`, `oneOf`, `allOf` and `not`.
fn combinations(value: &Value, schema: &Schema, path: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let quoted = quote(path);
    if !schema.any_of.is_empty() {
        let mut best: Option<Outcome> = None;
        let mut valid = false;
        for alternative in &schema.any_of {
            let result = node(value, alternative, None, path);
            if result.is_valid() {
                best = Some(result);
                valid = true;
                break;
            }
            if best.as_ref().is_none_or(|best| result.matches > best.matches) {
                best = Some(result);
            }
        }
        if !valid {
            outcome.fail_nowhere(format!("{quoted} must validate at least one schema (anyOf)"));
        }
        if let Some(best) = best {
            outcome.merge(best);
        }
    }
    if !schema.one_of.is_empty() {
        let mut best: Option<Outcome> = None;
        let mut first: Option<Outcome> = None;
        let mut valid = 0;
        for alternative in &schema.one_of {
            let result = node(value, alternative, None, path);
            if result.is_valid() {
                valid += 1;
                best = None;
                first.get_or_insert(result);
            } else if valid == 0 && best.as_ref().is_none_or(|best| result.matches > best.matches) {
                best = Some(result);
            }
        }
        if valid == 1 {
            outcome.merge(first.unwrap_or_default());
        } else {
            let found = match valid {
                0 => "Found none valid".to_owned(),
                valid => format!("Found {valid} valid alternatives"),
            };
            outcome.fail_nowhere(format!("{quoted} must validate one and only one schema (oneOf). {found}"));
            outcome.merge(best.unwrap_or_default());
        }
    }
    if !schema.all_of.is_empty() {
        let mut valid = 0;
        for part in &schema.all_of {
            let result = node(value, part, None, path);
            valid += usize::from(result.is_valid());
            outcome.merge(result);
        }
        if valid != schema.all_of.len() {
            let none = if valid == 0 { ". None validated" } else { "" };
            outcome.fail_nowhere(format!("{quoted} must validate all the schemas (allOf){none}"));
        }
    }
    if let Some(not) = &schema.not
        && node(value, not, None, path).is_valid()
    {
        outcome.fail_nowhere(format!("{quoted} must not validate the schema (not)"));
    }
    outcome.matches += 1;
    outcome
}
