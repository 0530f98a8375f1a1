//! JSON values as rules see them: with the types that the schema declares.

use std::collections::HashMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use cel::common::{
    types::{
        CelBool, CelBytes, CelDouble, CelDuration, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString,
        CelTimestamp,
    },
    value::Val,
};
use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, TimeDelta};
use serde_json::Value;

use super::{
    super::model::{Additional, Schema},
    types::escape,
};

/// A value of a rule, which owns what it holds.
pub(super) type Owned = Box<dyn Val>;

/// A JSON value as a value of CEL. Fields that the schema does not declare cannot be seen.
pub(super) fn convert(value: &Value, schema: &Schema, is_resource: bool) -> Owned {
    match value {
        Value::Null => Box::new(CelNull),
        Value::Bool(flag) => Box::new(CelBool::from(*flag)),
        Value::Number(number) => match number.as_i64() {
            Some(integer) if schema.kind != "number" => Box::new(CelInt::from(integer)),
            #[expect(clippy::cast_precision_loss, reason = "a number in JSON is a float")]
            Some(integer) => Box::new(CelDouble::from(integer as f64)),
            #[expect(clippy::cast_possible_truncation, reason = "an integer, as the schema says")]
            None if schema.kind == "integer" => {
                Box::new(CelInt::from(number.as_f64().unwrap_or_default() as i64))
            }
            None => Box::new(CelDouble::from(number.as_f64().unwrap_or_default())),
        },
        Value::String(text) => convert_text(text, schema),
        Value::Array(items) => {
            let schema = schema.items.as_deref();
            let items = items.iter().filter_map(|item| Some(convert(item, schema?, schema?.embedded)));
            Box::new(CelList::from(items.collect::<Vec<_>>()))
        }
        Value::Object(fields) => {
            let mut map: HashMap<CelMapKey<'static>, Owned> = HashMap::with_capacity(fields.len());
            let values = schema.additional.as_ref().and_then(Additional::schema);
            for (name, value) in fields {
                if is_resource && matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
                    map.insert(CelMapKey::from(name.clone()), convert_meta(name, value));
                } else if let Some(schema) = values.filter(|_| !is_resource) {
                    map.insert(CelMapKey::from(name.clone()), convert(value, schema, schema.embedded));
                } else if let (Some(schema), Some(name)) = (schema.properties.get(name), escape(name)) {
                    map.insert(CelMapKey::from(name), convert(value, schema, schema.embedded));
                }
            }
            Box::new(CelMap::from(map))
        }
    }
}

/// Of the metadata of an object, rules see the name and its prefix.
fn convert_meta(name: &str, value: &Value) -> Owned {
    let text =
        |value: &Value| -> Owned { Box::new(CelString::from(value.as_str().unwrap_or_default().to_owned())) };
    if name != "metadata" {
        return text(value);
    }
    let mut map: HashMap<CelMapKey<'static>, Owned> = HashMap::new();
    for name in ["name", "generateName"] {
        if let Some(value) = value.get(name) {
            map.insert(CelMapKey::from(name.to_owned()), text(value));
        }
    }
    Box::new(CelMap::from(map))
}

fn convert_text(text: &str, schema: &Schema) -> Owned {
    let plain = || -> Owned { Box::new(CelString::from(text.to_owned())) };
    if schema.kind != "string" {
        return plain();
    }
    match schema.format.as_str() {
        "byte" => match STANDARD.decode(text) {
            Ok(bytes) => Box::new(CelBytes::from(bytes)),
            Err(_) => plain(),
        },
        "duration" => duration(text).map_or_else(plain, |duration| Box::new(CelDuration::from(duration))),
        "date" | "date-time" => timestamp(text).map_or_else(plain, |time| Box::new(CelTimestamp::from(time))),
        _ => plain(),
    }
}

/// A duration as Go writes it.
pub(super) fn duration(text: &str) -> Option<TimeDelta> {
    let nanoseconds = super::super::formats::parse_go_duration(text)?;
    Some(TimeDelta::nanoseconds(i64::try_from(nanoseconds).ok()?))
}

/// A time as RFC 3339 writes it, or a date.
pub(super) fn timestamp(text: &str) -> Option<DateTime<FixedOffset>> {
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Some(time);
    }
    let naive = NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S").ok();
    let naive = naive.or_else(|| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?.and_hms_opt(0, 0, 0))?;
    Some(naive.and_utc().fixed_offset())
}
