//! Reading schemas from OpenAPI.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    Field, List, ListSharing, Map, PatchRules, PatchStrategy, Scalar, Schema, SchemaError, SchemaProblem,
    Type, TypeId, common_types, object_meta,
};

/// Definitions that the API server reads in a way that their schema does not tell.
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const RAW_EXTENSION: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";

const PRESERVE_UNKNOWN: &str = "x-kubernetes-preserve-unknown-fields";

type Result<T> = std::result::Result<T, SchemaError>;

pub(super) fn from_crd(schema: &Value) -> Result<Schema> {
    check_depth(schema)?;
    let definitions = serde_json::Map::from_iter([(object_meta::NAME.to_owned(), object_meta::definition())]);
    let mut reader = Reader::new(&definitions, true);
    let root = reader.read(&with_object_fields(schema), false)?;
    let root = reader.add(root);
    reader.finish(root)
}

pub(super) fn from_document(document: &Value, definition: &str) -> Result<Schema> {
    check_depth(document)?;
    let definitions = document.pointer("/components/schemas").or_else(|| document.get("definitions"));
    let Some(Value::Object(definitions)) = definitions else {
        let problem = SchemaProblem::WrongType {
            key: "components.schemas".to_owned(),
            expected: "an object, or `definitions` in version 2",
        };
        return Err(SchemaError { at: "the document".to_owned(), problem });
    };
    from_definitions(definitions, definition)
}

pub(super) fn from_definitions(
    definitions: &serde_json::Map<String, Value>,
    definition: &str,
) -> Result<Schema> {
    let mut reader = Reader::new(definitions, false);
    reader.at.push(definition.to_owned());
    let root = reader.named(definition)?;
    reader.finish(root)
}

fn check_depth(document: &Value) -> Result<()> {
    crate::json::check_depth(document)
        .map_err(|_| SchemaError { at: "the document".to_owned(), problem: SchemaProblem::TooDeep })
}

/// Reads one schema.
struct Reader<'d> {
    definitions: &'d serde_json::Map<String, Value>,
    /// Whether the schema is one of a CRD.
    crd: bool,
    types: Vec<Type>,
    /// The types of the definitions that something refers to, whether they are read or not.
    named: BTreeMap<&'d str, TypeId>,
    /// The definitions that are to be read.
    unread: Vec<&'d str>,
    /// Types that are like another one except for being shared as a whole or not.
    overridden: BTreeMap<(TypeId, bool), TypeId>,
    /// Where the reader is, for errors.
    at: Vec<String>,
}

impl<'d> Reader<'d> {
    fn new(definitions: &'d serde_json::Map<String, Value>, crd: bool) -> Self {
        Self {
            definitions,
            crd,
            types: common_types(),
            named: BTreeMap::new(),
            unread: Vec::new(),
            overridden: BTreeMap::new(),
            at: Vec::new(),
        }
    }

    /// Reads the definitions that are left.
    fn finish(mut self, root: TypeId) -> Result<Schema> {
        self.at.clear();
        while let Some(name) = self.unread.pop() {
            self.at.push(name.to_owned());
            let id = self.named[name];
            self.types[id.0] = match name {
                QUANTITY => Type { scalar: Some(Scalar::Any), ..Type::default() },
                RAW_EXTENSION => self.types[TypeId::UNTYPED.0].clone(),
                _ => {
                    let definitions = self.definitions;
                    self.read(&definitions[name], false)?
                }
            };
            self.at.pop();
        }
        for ((original, atomic), id) in self.overridden {
            let mut copy = self.types[original.0].clone();
            if let Some(map) = &mut copy.map {
                map.atomic = atomic;
            }
            self.types[id.0] = copy;
        }
        Ok(Schema { types: self.types.into(), root })
    }

    fn add(&mut self, new: Type) -> TypeId {
        self.types.push(new);
        TypeId(self.types.len() - 1)
    }

    /// Returns the type of a definition, which is read later.
    fn named(&mut self, name: &str) -> Result<TypeId> {
        let Some((name, _)) = self.definitions.get_key_value(name) else {
            return Err(self.error(SchemaProblem::UnknownDefinition(name.to_owned())));
        };
        if let Some(id) = self.named.get(name.as_str()) {
            return Ok(*id);
        }
        let id = self.add(Type::default());
        self.named.insert(name, id);
        self.unread.push(name);
        Ok(id)
    }

    /// Returns the type of a part of a schema, which may be a reference to a definition.
    fn type_of(&mut self, schema: &Value, preserve: bool) -> Result<TypeId> {
        let Some(reference) = reference(schema) else {
            let inline = if self.crd && is_true(schema, "x-kubernetes-embedded-resource") {
                self.read(&with_object_fields(schema), preserve)?
            } else {
                self.read(schema, preserve)?
            };
            return Ok(self.add(inline));
        };
        let name = reference.rsplit('/').next().unwrap_or(reference);
        let id = self.named(name)?;
        Ok(match self.map_is_atomic(schema)? {
            None => id,
            Some(atomic) => match self.overridden.get(&(id, atomic)) {
                Some(id) => *id,
                None => {
                    let copy = self.add(Type::default());
                    self.overridden.insert((id, atomic), copy);
                    copy
                }
            },
        })
    }

    fn read(&mut self, schema: &Value, preserve: bool) -> Result<Type> {
        let preserve = preserve || is_true(schema, PRESERVE_UNKNOWN);
        let scalar = |scalar| Type { scalar: Some(scalar), ..Type::default() };
        let format = self.text(schema, "format")?.unwrap_or_default();
        let mut read = match self.text(schema, "type")?.unwrap_or_default() {
            // Without a type, every value is allowed.
            "" => Type {
                scalar: Some(Scalar::Any),
                list: Some(self.list(schema, preserve, false)?),
                map: Some(self.map(schema, preserve)?),
                ..Type::default()
            },
            "object" => Type { map: Some(self.map(schema, preserve)?), ..Type::default() },
            "array" => Type { list: Some(self.list(schema, preserve, true)?), ..Type::default() },
            "integer" | "number" => scalar(Scalar::Number),
            "boolean" => scalar(Scalar::Boolean),
            "string" if matches!(format, "" | "byte") => scalar(Scalar::String),
            // int-or-string, and formats whose values the server may write in another way.
            "string" => scalar(Scalar::Any),
            other => return Err(self.error(SchemaProblem::UnknownType(other.to_owned()))),
        };
        read.nullable = is_true(schema, "nullable");
        Ok(read)
    }

    fn map(&mut self, schema: &Value, preserve: bool) -> Result<Map> {
        let mut fields = BTreeMap::new();
        if let Some(properties) = schema.get("properties").filter(|properties| !properties.is_null()) {
            let Value::Object(properties) = properties else {
                return Err(self.wrong_type("properties", "an object"));
            };
            for (name, property) in properties {
                self.at.push(format!(".{name}"));
                let patch = self.patch_rules(property)?;
                let default = property.get("default").filter(|default| !default.is_null()).cloned();
                let field = Field { schema: self.type_of(property, preserve)?, default, patch };
                self.at.pop();
                fields.insert(name.clone(), field);
            }
        }
        let others = match schema.get("additionalProperties") {
            None | Some(Value::Null) => (preserve || fields.is_empty()).then_some(TypeId::DEDUCED),
            Some(Value::Bool(allowed)) => allowed.then_some(TypeId::DEDUCED),
            Some(values) => {
                self.at.push("{}".to_owned());
                let values = self.type_of(values, preserve)?;
                self.at.pop();
                Some(values)
            }
        };
        Ok(Map { fields, others, atomic: self.map_is_atomic(schema)?.unwrap_or(false) })
    }

    fn list(&mut self, schema: &Value, preserve: bool, is_array: bool) -> Result<List> {
        let sharing = self.list_sharing(schema)?;
        let items = match schema.get("items") {
            Some(items @ Value::Object(_)) => {
                self.at.push("[]".to_owned());
                let items = self.type_of(items, preserve)?;
                self.at.pop();
                items
            }
            None | Some(Value::Null) if is_array => return Err(self.error(SchemaProblem::NoItems)),
            None | Some(Value::Null) => TypeId::UNTYPED,
            Some(_) => return Err(self.wrong_type("items", "an object")),
        };
        Ok(List { items, sharing })
    }

    fn list_sharing(&self, schema: &Value) -> Result<ListSharing> {
        if let Some(list_type) = self.text(schema, "x-kubernetes-list-type")? {
            return match list_type {
                "atomic" => Ok(ListSharing::Atomic),
                "set" => Ok(ListSharing::Set),
                "map" => self.map_keys(schema).map(ListSharing::Map),
                other => Err(self.error(SchemaProblem::UnknownListType(other.to_owned()))),
            };
        }
        let rules = self.patch_rules(schema)?;
        Ok(match (rules.strategy, rules.merge_key) {
            (PatchStrategy::Merge, Some(key)) => ListSharing::Map(vec![key]),
            (PatchStrategy::Merge, None) => ListSharing::Set,
            _ => ListSharing::Atomic,
        })
    }

    fn map_keys(&self, schema: &Value) -> Result<Vec<String>> {
        let Some(keys) = schema.get("x-kubernetes-list-map-keys") else {
            return Err(self.error(SchemaProblem::NoMapKeys));
        };
        let wrong_type = || self.wrong_type("x-kubernetes-list-map-keys", "a list of strings");
        let keys = keys.as_array().ok_or_else(wrong_type)?;
        let keys = keys.iter().map(|key| key.as_str().map(str::to_owned).ok_or_else(wrong_type));
        let keys: Vec<String> = keys.collect::<Result<_>>()?;
        if keys.is_empty() { Err(self.error(SchemaProblem::NoMapKeys)) } else { Ok(keys) }
    }

    /// Returns whether an object is shared as a whole, or `None` if the schema does not say.
    fn map_is_atomic(&self, schema: &Value) -> Result<Option<bool>> {
        match self.text(schema, "x-kubernetes-map-type")? {
            None => Ok(None),
            Some("atomic") => Ok(Some(true)),
            Some("granular") => Ok(Some(false)),
            Some(other) => Err(self.error(SchemaProblem::UnknownMapType(other.to_owned()))),
        }
    }

    fn patch_rules(&self, schema: &Value) -> Result<PatchRules> {
        let merge_key = self.text(schema, "x-kubernetes-patch-merge-key")?.map(str::to_owned);
        let mut rules = PatchRules { merge_key, ..PatchRules::default() };
        let Some(strategies) = self.text(schema, "x-kubernetes-patch-strategy")? else { return Ok(rules) };
        for strategy in strategies.split(',') {
            match strategy {
                "merge" => rules.strategy = PatchStrategy::Merge,
                "replace" => rules.strategy = PatchStrategy::Replace,
                "retainKeys" => rules.retain_keys = true,
                other => {
                    return Err(self.error(SchemaProblem::UnknownPatchStrategy(other.to_owned())));
                }
            }
        }
        Ok(rules)
    }

    fn text<'v>(&self, schema: &'v Value, key: &str) -> Result<Option<&'v str>> {
        match schema.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.wrong_type(key, "a string")),
        }
    }

    fn wrong_type(&self, key: &str, expected: &'static str) -> SchemaError {
        self.error(SchemaProblem::WrongType { key: key.to_owned(), expected })
    }

    fn error(&self, problem: SchemaProblem) -> SchemaError {
        let at = if self.at.is_empty() { "the schema".to_owned() } else { self.at.concat() };
        SchemaError { at, problem }
    }
}

/// Returns the schema of an object with the fields that all objects have, in place of what it says of them.
fn with_object_fields(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(schema) = &mut schema
        && let Value::Object(properties) = schema.entry("properties").or_insert_with(|| json!({}))
    {
        properties.insert("apiVersion".to_owned(), json!({ "type": "string" }));
        properties.insert("kind".to_owned(), json!({ "type": "string" }));
        properties.insert("metadata".to_owned(), json!({ "$ref": object_meta::NAME }));
    }
    schema
}

fn is_true(schema: &Value, key: &str) -> bool {
    schema.get(key) == Some(&Value::Bool(true))
}

/// Returns the target of a reference. Version 3 puts it into an `allOf` if it has a default or a description.
fn reference(schema: &Value) -> Option<&str> {
    let direct = schema.get("$ref").and_then(Value::as_str);
    direct.or_else(|| match schema.get("allOf")?.as_array()?.as_slice() {
        [only] => only.get("$ref").and_then(Value::as_str),
        _ => None,
    })
}
