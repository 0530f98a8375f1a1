//! Support for the code that the derives write. Not a public API.

use std::{fmt, marker::PhantomData};

pub use genclient_macros::__group_version as group_version;
pub use k8s_openapi::{
    self,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::apis::meta::v1::{ListMeta, ObjectMeta},
};
pub use kube;
pub use schemars;
pub use serde;
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};

pub use crate::crd::{CrdOptions, PrintColumn, Scale, crd};

/// The group and version of a module. `group_version!` implements it for a marker in the module.
#[diagnostic::on_unimplemented(
    message = "this module has no `group_version!`",
    label = "the group and the version of this type are not known",
    note = "add `genclient_runtime::group_version!(\"samplecrd.k8s.io/v1\");` to the module, or `genclient_runtime::group_version!(super);` to share its parent's"
)]
pub trait GroupVersion {
    const GROUP: &'static str;
    const VERSION: &'static str;
    const API_VERSION: &'static str;
}

/// The group and version of the parent module, for a module that shares them.
#[diagnostic::on_unimplemented(
    message = "the parent module has no `group_version!`",
    label = "the group and the version of the parent module are not known",
    note = "name the group and the version here, as in `group_version!(\"samplecrd.k8s.io/v1\")`"
)]
pub trait ParentGroupVersion {
    type GroupVersion: GroupVersion;
}

/// The marker of a module without `group_version!`. It is imported by a glob, so the marker that
/// `group_version!` defines in the module takes precedence.
pub mod fallback {
    pub mod __genclient_group_version {
        pub struct Marker;
    }
}

/// Deserializes `apiVersion` and rejects all values but that of the type.
pub struct ApiVersion<K>(PhantomData<fn() -> K>);

/// Deserializes `kind` and rejects all values but that of the type.
pub struct Kind<K>(PhantomData<fn() -> K>);

impl<K> Default for ApiVersion<K> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<K> Default for Kind<K> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<'de, K: k8s_openapi::Resource> Deserialize<'de> for ApiVersion<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Exactly { field: "apiVersion", value: K::API_VERSION })?;
        Ok(Self(PhantomData))
    }
}

impl<'de, K: k8s_openapi::Resource> Deserialize<'de> for Kind<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Exactly { field: "kind", value: K::KIND })?;
        Ok(Self(PhantomData))
    }
}

/// Accepts one string only.
struct Exactly {
    field: &'static str,
    value: &'static str,
}

impl serde::de::Visitor<'_> for Exactly {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {} `{}`", self.field, self.value)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        match text == self.value {
            true => Ok(()),
            false => {
                Err(E::custom(format_args!("expected the {} `{}`, found `{text}`", self.field, self.value)))
            }
        }
    }
}

/// An API type must be `Clone`: the objects of a cache are shared, so a change starts with a copy.
#[diagnostic::on_unimplemented(
    message = "the API type `{Self}` is not `Clone`",
    label = "`Clone` is missing",
    note = "add `Clone` to its `#[derive(…)]`"
)]
pub trait IsClone {}
impl<T: Clone> IsClone for T {}

/// An API type must be `Debug`.
#[diagnostic::on_unimplemented(
    message = "the API type `{Self}` is not `Debug`",
    label = "`Debug` is missing",
    note = "add `Debug` to its `#[derive(…)]`"
)]
pub trait IsDebug {}
impl<T: fmt::Debug> IsDebug for T {}

pub const fn api_type_is_clone<T: IsClone>() {}

pub const fn api_type_is_debug<T: IsDebug>() {}

pub const fn method_input<T: Serialize + Sync>() {}

pub const fn method_result<T: DeserializeOwned + Send>() {}

/// Checks at compile time that a list type belongs to its item type.
pub const fn list_belongs_to_item(list_kind_of_item: &str, list: &str) {
    assert!(
        equal(list_kind_of_item.as_bytes(), list.as_bytes()),
        "the items of this list belong to another list type"
    );
}

const fn equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// Whether the API server takes CRDs in this group.
pub const fn has_dot(group: &str) -> bool {
    let mut i = 0;
    while i < group.len() {
        if group.as_bytes()[i] == b'.' {
            return true;
        }
        i += 1;
    }
    false
}

/// Concatenates `a.b` at compile time.
pub const fn join_with_dot<const LENGTH: usize>(a: &str, b: &str) -> [u8; LENGTH] {
    let mut out = [b'.'; LENGTH];
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() {
        out[i] = a[i];
        i += 1;
    }
    let mut i = 0;
    while i < b.len() {
        out[a.len() + 1 + i] = b[i];
        i += 1;
    }
    out
}

/// Converts the bytes of joined strings back to a string.
pub const fn utf8(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("two strings and a dot are valid UTF-8"),
    }
}
