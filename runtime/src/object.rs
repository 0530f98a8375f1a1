//! What the cache needs to know about an object, and how objects are named.

use std::{
    any::{Any, TypeId},
    fmt,
    str::FromStr,
};

use kube::core::ApiResource;
use serde::de::DeserializeOwned;

use crate::selector::LabelDigest;

/// The few facts of an object that the store, the indexes and the selectors read.
///
/// Every type with Kubernetes' `ObjectMeta` implements it already. A cache that must be smaller than
/// `ObjectMeta` allows implements it for a compact type of its own.
///
/// The trait is object-safe: a [`GenericInformer`](crate::informer::GenericInformer) gives out
/// `Arc<dyn CacheObject>`, which coerces to `Arc<dyn Any + Send + Sync>` to get the type back.
pub trait CacheObject: Any + Send + Sync {
    /// The object's name.
    fn name(&self) -> &str;

    /// The object's namespace, or `None` where the kind is cluster-scoped.
    fn namespace(&self) -> Option<&str>;

    /// The object's uid, empty where the server gave none.
    fn uid(&self) -> &str;

    /// The object's resource version, empty where the server gave none.
    fn resource_version(&self) -> &str;

    /// The value of one label.
    fn label(&self, key: &str) -> Option<&str>;

    /// A digest of the object's labels, by which selectors skip objects without reading them.
    ///
    /// Selectors work without it, only more slowly.
    fn label_digest(&self) -> LabelDigest {
        LabelDigest::UNKNOWN
    }
}

impl<K: kube::Resource + Send + Sync + 'static> CacheObject for K {
    fn name(&self) -> &str {
        self.meta().name.as_deref().unwrap_or_default()
    }

    fn namespace(&self) -> Option<&str> {
        self.meta().namespace.as_deref()
    }

    fn uid(&self) -> &str {
        self.meta().uid.as_deref().unwrap_or_default()
    }

    fn resource_version(&self) -> &str {
        self.meta().resource_version.as_deref().unwrap_or_default()
    }

    fn label(&self, key: &str) -> Option<&str> {
        self.meta().labels.as_ref()?.get(key).map(String::as_str)
    }

    fn label_digest(&self) -> LabelDigest {
        let labels = self.meta().labels.iter().flatten();
        LabelDigest::of(labels.map(|(key, value)| (key.as_str(), value.as_str())))
    }
}

/// An object that can be listed and watched by a reflector and cached by an informer.
pub trait Watched: CacheObject + DeserializeOwned {
    /// Whether objects of the kind are in namespaces:
    /// [`NamespaceResourceScope`](k8s_openapi::NamespaceResourceScope) or
    /// [`ClusterResourceScope`](k8s_openapi::ClusterResourceScope).
    ///
    /// A cluster-scoped kind is always followed whole, even by a factory that is bound to namespaces.
    type Scope: 'static;

    /// Where the API server serves the kind.
    fn api_resource() -> ApiResource;

    /// Whether objects of the kind are in namespaces.
    fn is_namespaced() -> bool {
        TypeId::of::<Self::Scope>() != TypeId::of::<k8s_openapi::ClusterResourceScope>()
    }

    /// Whether the type decodes from metadata alone, as kube's `PartialObjectMeta` does.
    fn is_metadata_only() -> bool {
        false
    }
}

impl<K> Watched for K
where
    K: kube::Resource<DynamicType = (), Scope: 'static> + DeserializeOwned + Send + Sync + 'static,
{
    type Scope = K::Scope;

    fn api_resource() -> ApiResource {
        ApiResource::erase::<K>(&())
    }

    fn is_metadata_only() -> bool {
        K::metadata_api()
    }
}

/// The name of an object within its kind: `namespace/name`, or `name` where there is no namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    /// The namespace, or `None` for a cluster-scoped object.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

impl ObjectKey {
    /// The key of a namespaced object.
    pub fn namespaced(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: Some(namespace.into()), name: name.into() }
    }

    /// The key of a cluster-scoped object.
    pub fn cluster(name: impl Into<String>) -> Self {
        Self { namespace: None, name: name.into() }
    }

    /// The key of this object.
    pub fn of<K: CacheObject + ?Sized>(object: &K) -> Self {
        Self { namespace: object.namespace().map(str::to_owned), name: object.name().to_owned() }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// A text that is neither `name` nor `namespace/name`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an object key: it must read `name` or `namespace/name`")]
pub struct ParseObjectKeyError(String);

impl FromStr for ObjectKey {
    type Err = ParseObjectKeyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split('/').collect::<Vec<_>>()[..] {
            [name] if !name.is_empty() => Ok(Self::cluster(name)),
            [namespace, name] if !namespace.is_empty() && !name.is_empty() => {
                Ok(Self::namespaced(namespace, name))
            }
            _ => Err(ParseObjectKeyError(text.to_owned())),
        }
    }
}
