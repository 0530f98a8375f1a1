//! The schemas of Kubernetes' own kinds.
//!
//! `kubernetes.txt` has a line for each definition: its name, the `apiVersion` if it is a kind, and the schema.
//! It holds what [`open_api`] reads of the OpenAPI documents, version 3, of an API server that serves everything
//! it knows. A test in `tests/e2e/tests/clientset/kinds/schemas.rs` compares it with such a server, and writes it.

use std::{
    collections::BTreeMap,
    sync::{LazyLock, OnceLock},
};

use serde_json::Value;

use super::{Schema, open_api};

static KUBERNETES: LazyLock<Kubernetes> = LazyLock::new(|| Kubernetes::index(include_str!("kubernetes.txt")));

/// Returns the schema of a kind, which the first call reads.
pub(super) fn schema(api_version: &str, kind: &str) -> Option<Schema> {
    let kind = KUBERNETES.kinds.get(&(api_version, kind))?;
    kind.schema.get_or_init(|| KUBERNETES.read(kind.definition)).clone()
}

/// Returns the name of the definition of a kind, and with it all that it refers to.
pub(super) fn definitions(
    api_version: &str,
    kind: &str,
) -> Option<(&'static str, serde_json::Map<String, Value>)> {
    let definition = KUBERNETES.kinds.get(&(api_version, kind))?.definition;
    Some((definition, KUBERNETES.with_references(definition)?))
}

/// Where the definitions are.
struct Kubernetes {
    /// The text of each definition.
    definitions: BTreeMap<&'static str, &'static str>,
    /// The kinds, by their `apiVersion` and name.
    kinds: BTreeMap<(&'static str, &'static str), Kind>,
}

struct Kind {
    definition: &'static str,
    schema: OnceLock<Option<Schema>>,
}

impl Kubernetes {
    fn index(text: &'static str) -> Self {
        let (mut definitions, mut kinds) = (BTreeMap::new(), BTreeMap::new());
        for (name, api_version, schema) in text.lines().filter_map(parse) {
            definitions.insert(name, schema);
            if let (Some(api_version), Some((_, kind))) = (api_version, name.rsplit_once('.')) {
                kinds.insert((api_version, kind), Kind { definition: name, schema: OnceLock::new() });
            }
        }
        Self { definitions, kinds }
    }

    /// Reads the schema of a definition. There is one for every definition of the file.
    fn read(&self, definition: &str) -> Option<Schema> {
        open_api::from_definitions(&self.with_references(definition)?, definition).ok()
    }

    /// Returns a definition with all those that it refers to.
    fn with_references(&self, definition: &str) -> Option<serde_json::Map<String, Value>> {
        let mut found = serde_json::Map::new();
        let mut wanted = vec![definition.to_owned()];
        while let Some(name) = wanted.pop() {
            if !found.contains_key(&name) {
                let schema = serde_json::from_str(self.definitions.get(name.as_str())?).ok()?;
                add_references(&schema, &mut wanted);
                found.insert(name, schema);
            }
        }
        Some(found)
    }
}

/// Splits a line into the name of the definition, the `apiVersion` if it is a kind, and the schema.
fn parse(line: &str) -> Option<(&str, Option<&str>, &str)> {
    let (name, rest) = line.split_once(' ').filter(|_| !line.starts_with('#'))?;
    match rest.split_once(' ') {
        Some((api_version, schema)) if !rest.starts_with('{') => Some((name, Some(api_version), schema)),
        _ => Some((name, None, rest)),
    }
}

/// Adds the names of the definitions that a schema refers to.
fn add_references(schema: &Value, names: &mut Vec<String>) {
    match schema {
        Value::Object(parts) => {
            for (key, part) in parts {
                match part {
                    Value::String(name) if key == "$ref" => names.push(name.clone()),
                    _ => add_references(part, names),
                }
            }
        }
        Value::Array(parts) => parts.iter().for_each(|part| add_references(part, names)),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
