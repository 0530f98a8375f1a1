//! How the values of a kind merge.
//!
//! A [`Schema`] says for every field whether it is a scalar, an object or a list, and how writers share it:
//!
//! | value | shared as |
//! | --- | --- |
//! | scalar | a whole |
//! | object | field by field, or as a whole with `x-kubernetes-map-type: atomic` |
//! | list | as a whole, or item by item with `x-kubernetes-list-type: set` or `map` |
//!
//! It also holds the merge keys and the strategies of strategic merge patches. The rules by which they are
//! read from OpenAPI are those of the API server.

#[cfg(feature = "kubernetes")]
mod kubernetes;
mod object_meta;
mod open_api;
mod shape;

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

pub use shape::{ScalarShape, Shape};

/// How the values of a kind merge.
///
/// Copies share their content.
///
/// ```
/// use genclient_merge::Schema;
/// use serde_json::json;
///
/// let schema = Schema::from_crd(&json!({
///     "type": "object",
///     "properties": {
///         "spec": {
///             "type": "object",
///             "properties": {
///                 "ports": {
///                     "type": "array",
///                     "x-kubernetes-list-type": "map",
///                     "x-kubernetes-list-map-keys": ["port", "protocol"],
///                     "items": {
///                         "type": "object",
///                         "properties": {
///                             "port": { "type": "integer" },
///                             "protocol": { "type": "string", "default": "TCP" },
///                         },
///                     },
///                 },
///             },
///         },
///     },
/// }))?;
/// # Ok::<(), genclient_merge::schema::SchemaError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Schema {
    /// Types refer to each other by their position, so a type can contain itself.
    types: Arc<[Type]>,
    root: TypeId,
}

/// The position of a type in its schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TypeId(usize);

impl TypeId {
    /// The type of values that nothing is known about, and that are shared as a whole.
    const UNTYPED: Self = Self(0);
    /// The type of values that nothing is known about: objects are shared field by field, lists as a whole.
    pub(crate) const DEDUCED: Self = Self(1);
}

/// What a value may be. A value of an unknown type may be any of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Type {
    pub(crate) scalar: Option<Scalar>,
    pub(crate) list: Option<List>,
    pub(crate) map: Option<Map>,
    /// Whether null is a value of the type, not the absence of one.
    pub(crate) nullable: bool,
}

/// A scalar type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    Number,
    String,
    Boolean,
    Any,
}

/// A list type.
#[derive(Clone, Debug)]
pub(crate) struct List {
    pub(crate) items: TypeId,
    pub(crate) sharing: ListSharing,
}

/// How writers share a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListSharing {
    /// The list has one owner.
    Atomic,
    /// Each value has its owners.
    Set,
    /// Each item has its owners. An item is identified by these fields.
    Map(Vec<String>),
}

/// An object type.
#[derive(Clone, Debug)]
pub(crate) struct Map {
    pub(crate) fields: BTreeMap<String, Field>,
    /// The type of fields that have no entry in `fields`. Without it they are not allowed.
    pub(crate) others: Option<TypeId>,
    /// Whether the object has one owner.
    pub(crate) atomic: bool,
}

/// A field of an object type.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) schema: TypeId,
    pub(crate) default: Option<Value>,
    pub(crate) patch: PatchRules,
}

/// How a strategic merge patch changes a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PatchRules {
    pub(crate) strategy: PatchStrategy,
    pub(crate) merge_key: Option<String>,
    /// Whether a patch lists the fields of the object that stay.
    pub(crate) retain_keys: bool,
}

/// What a strategic merge patch does with a field by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PatchStrategy {
    /// Objects are merged and lists are replaced.
    #[default]
    Unset,
    Merge,
    Replace,
}

/// Why a schema cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {problem}")]
pub struct SchemaError {
    at: String,
    problem: SchemaProblem,
}

impl SchemaError {
    /// Returns where in the schema the problem is: the name of a definition and the properties that lead
    /// there.
    pub fn at(&self) -> &str {
        &self.at
    }

    /// Returns what is wrong.
    pub fn problem(&self) -> &SchemaProblem {
        &self.problem
    }
}

/// What is wrong with a schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaProblem {
    /// A part of the schema has the wrong JSON type.
    #[error("`{key}` must be {expected}")]
    WrongType {
        /// The key of the part.
        key: String,
        /// What it must be.
        expected: &'static str,
    },
    /// The `type` is not one of OpenAPI.
    #[error("unknown type `{0}`")]
    UnknownType(String),
    /// The `x-kubernetes-list-type` is not `atomic`, `set` or `map`.
    #[error("unknown list type `{0}`")]
    UnknownListType(String),
    /// The `x-kubernetes-map-type` is not `atomic` or `granular`.
    #[error("unknown map type `{0}`")]
    UnknownMapType(String),
    /// The `x-kubernetes-patch-strategy` is not known.
    #[error("unknown patch strategy `{0}`")]
    UnknownPatchStrategy(String),
    /// A list of type `map` has no `x-kubernetes-list-map-keys`.
    #[error("a list of type `map` needs `x-kubernetes-list-map-keys`")]
    NoMapKeys,
    /// An array has no `items`.
    #[error("an array needs `items`")]
    NoItems,
    /// A `$ref` leads nowhere.
    #[error("there is no definition `{0}`")]
    UnknownDefinition(String),
    /// The schema is nested too deep.
    #[error("the schema is nested more than {} levels deep", crate::MAX_DEPTH)]
    TooDeep,
}

impl Schema {
    /// Reads the `openAPIV3Schema` of a CRD.
    ///
    /// As on the API server, the object gets the metadata that all kinds have, whatever the schema says of
    /// it, and so does every part with `x-kubernetes-embedded-resource`.
    pub fn from_crd(schema: &Value) -> Result<Self, SchemaError> {
        open_api::from_crd(schema)
    }

    /// Reads a definition of an OpenAPI document, with all those that it refers to.
    ///
    /// The document is one that an API server serves: version 3 from `/openapi/v3/apis/apps/v1`, or version 2
    /// from `/openapi/v2`. A definition has a name such as `io.k8s.api.apps.v1.Deployment`. Prefer version 3:
    /// version 2 has no defaults, and the keys of lists such as the ports of a container depend on them.
    pub fn from_open_api(document: &Value, definition: &str) -> Result<Self, SchemaError> {
        open_api::from_document(document, definition)
    }

    /// Returns the schema of one of Kubernetes' own kinds, or `None` for any other kind.
    ///
    /// The kinds are those of Kubernetes 1.36, with every version that an API server can serve, whether it does
    /// by default or not. The schemas are part of the program: the first call for a kind reads its schema, and
    /// later ones only look it up.
    ///
    /// ```
    /// use genclient_merge::{Schema, strategic};
    /// use serde_json::json;
    ///
    /// let schema = Schema::kubernetes("v1", "Service").expect("it is one of Kubernetes' own kinds");
    /// let service = json!({ "spec": { "ports": [{ "port": 80 }] } });
    /// let patch = json!({ "spec": { "ports": [{ "port": 443 }] } });
    /// assert_eq!(
    ///     strategic::apply(&service, &patch, &schema)?,
    ///     json!({ "spec": { "ports": [{ "port": 443 }, { "port": 80 }] } }),
    /// );
    /// assert!(Schema::kubernetes("samplecrd.k8s.io/v1", "Network").is_none());
    /// # Ok::<(), genclient_merge::strategic::StrategicError>(())
    /// ```
    #[cfg(feature = "kubernetes")]
    pub fn kubernetes(api_version: &str, kind: &str) -> Option<Self> {
        kubernetes::schema(api_version, kind)
    }

    /// Returns the OpenAPI definitions from which [`Schema::kubernetes`] is read: the name of that of the kind, and
    /// with it all that it refers to, by their names.
    ///
    /// A definition has types, defaults, and how its fields merge, but no descriptions. A `$ref` is the bare name of
    /// another definition.
    ///
    /// ```
    /// use genclient_merge::Schema;
    ///
    /// let (name, definitions) =
    ///     Schema::kubernetes_definitions("v1", "Service").expect("it is one of Kubernetes' own kinds");
    /// assert_eq!(name, "io.k8s.api.core.v1.Service");
    /// let ports = &definitions["io.k8s.api.core.v1.ServiceSpec"]["properties"]["ports"];
    /// assert_eq!(ports["items"]["$ref"], "io.k8s.api.core.v1.ServicePort");
    /// ```
    #[cfg(feature = "kubernetes")]
    pub fn kubernetes_definitions(
        api_version: &str,
        kind: &str,
    ) -> Option<(&'static str, serde_json::Map<String, serde_json::Value>)> {
        kubernetes::definitions(api_version, kind)
    }

    /// Returns the schema for objects that nothing is known about: objects are shared field by field, lists
    /// as a whole. The API server uses it for kinds without a schema.
    pub fn deduced() -> Self {
        Self { types: common_types().into(), root: TypeId::DEDUCED }
    }

    pub(crate) fn root(&self) -> TypeId {
        self.root
    }

    pub(crate) fn get(&self, id: TypeId) -> &Type {
        &self.types[id.0]
    }
}

impl Map {
    /// Returns the type of a field, or `None` if the field is not allowed.
    pub(crate) fn type_of(&self, name: &str) -> Option<TypeId> {
        self.fields.get(name).map(|field| field.schema).or(self.others)
    }
}

/// The types that every schema begins with: [`TypeId::UNTYPED`] and [`TypeId::DEDUCED`].
fn common_types() -> Vec<Type> {
    let any = |others, atomic| Type {
        scalar: Some(Scalar::Any),
        list: Some(List { items: TypeId::UNTYPED, sharing: ListSharing::Atomic }),
        map: Some(Map { fields: BTreeMap::new(), others: Some(others), atomic }),
        nullable: true,
    };
    vec![any(TypeId::UNTYPED, true), any(TypeId::DEDUCED, false)]
}

#[cfg(test)]
mod tests;
