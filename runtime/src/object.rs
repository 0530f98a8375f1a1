//! The traits of types that can be cached, and the keys of objects.

use std::{
    any::{Any, TypeId},
    fmt,
    str::FromStr,
};

use kube::core::ApiResource;
use serde::{Serialize, de::DeserializeOwned};

/// The metadata of an object that the store, the indexes and the selectors read.
///
/// Every [`kube::Resource`] implements it. To cache less than `ObjectMeta`, implement it for a compact
/// type; see [`factory`](crate::factory).
///
/// The trait is dyn-compatible: a [`GenericInformer`](crate::informer::GenericInformer) returns
/// `Arc<dyn CacheObject>`, which coerces to `Arc<dyn Any + Send + Sync>` and can then be downcast.
pub trait CacheObject: Any + Send + Sync {
    /// Returns the name of the object.
    fn name(&self) -> &str;

    /// Returns the namespace of the object, or `None` if the kind is cluster-scoped.
    fn namespace(&self) -> Option<&str>;

    /// Returns the uid of the object, or an empty string if it has none.
    fn uid(&self) -> &str;

    /// Returns the resource version of the object, or an empty string if it has none.
    fn resource_version(&self) -> &str;

    /// Returns the value of a label.
    fn label(&self, key: &str) -> Option<&str>;
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
}

/// The type of the objects of a typed client. Every API type implements it.
pub trait ApiObject:
    kube::Resource + Clone + fmt::Debug + Serialize + DeserializeOwned + Send + Sync + 'static
{
}

impl<K> ApiObject for K where
    K: kube::Resource + Clone + fmt::Debug + Serialize + DeserializeOwned + Send + Sync + 'static
{
}

/// A type that a reflector can decode and an informer can cache: every [`CacheObject`] that implements
/// `Deserialize`.
///
/// A [`Watched`] type determines the kind of the objects. For other types, a
/// [`DynamicKind`](crate::dynamic::DynamicKind) does.
pub trait Decodable: CacheObject + DeserializeOwned {}

impl<K: CacheObject + DeserializeOwned> Decodable for K {}

/// A type of objects of one kind, which can be listed and watched by a reflector and cached by an informer.
pub trait Watched: Decodable {
    /// The scope of the kind: [`NamespaceResourceScope`](k8s_openapi::NamespaceResourceScope) or
    /// [`ClusterResourceScope`](k8s_openapi::ClusterResourceScope).
    ///
    /// A factory that is restricted to namespaces still watches all objects of a cluster-scoped kind.
    type Scope: 'static;

    /// Returns the group, version, kind and plural under which the API server serves the kind.
    fn api_resource() -> ApiResource;

    /// Returns whether the kind is namespaced.
    fn is_namespaced() -> bool {
        TypeId::of::<Self::Scope>() != TypeId::of::<k8s_openapi::ClusterResourceScope>()
    }

    /// Returns whether the type decodes from metadata alone, as kube's `PartialObjectMeta` does.
    ///
    /// The reflector then requests only metadata.
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

/// The key of an object within its kind: `namespace/name`, or `name` if the kind is cluster-scoped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    /// The namespace, or `None` for a cluster-scoped object.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

impl ObjectKey {
    /// Creates the key of a namespaced object.
    pub fn namespaced(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: Some(namespace.into()), name: name.into() }
    }

    /// Creates the key of a cluster-scoped object.
    pub fn cluster(name: impl Into<String>) -> Self {
        Self { namespace: None, name: name.into() }
    }

    /// Returns the key of an object.
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

/// The error for a string that is neither `name` nor `namespace/name`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an object key: expected `name` or `namespace/name`")]
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
