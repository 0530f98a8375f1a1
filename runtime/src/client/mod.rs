//! The typed client: one implementation under every generated client.
//!
//! - A verb gives a request; awaiting it sends it. Options are methods of the request, so a call
//!   without options stays one short line, and an option that a verb does not have does not compile.
//! - A request that cannot succeed (a namespace that is no DNS label, a name that would change the
//!   path, an apply configuration without a kind) is a typed error, and is never sent.
//! - Every error says which verb was tried on which object.
//! - Requests go through the [`kube::Client`] as it was configured. kube's default configuration
//!   retries what the server answers with 429, 503 or 504, up to 15 times: a `timeout` covers all of
//!   it. [`TypedClient::watch`] decides for itself when to try again and is not retried underneath.

mod collection;
mod object;
mod options;
mod subresource;
mod watch;

use std::fmt::{self, Debug};

use kube::{
    Api, Client, Resource,
    api::{ListParams, Patch},
    core::NamespaceScope,
};
use serde::{Serialize, de::DeserializeOwned};

pub use collection::{DeleteCollection, List};
pub use object::{Apply, Create, Delete, Deleted, Get, PatchRequest, Update};
use options::WriteOptions;
pub use subresource::{
    SubresourceApply, SubresourceCreate, SubresourceGet, SubresourceList, SubresourcePatch, SubresourceUpdate,
};
pub use watch::{WatchEvent, WatchStream};

use crate::{
    error::{InvalidRequest, Operation},
    wire::{JSON, METADATA, check_namespace},
};

/// What a typed client needs of a kind. Every API type has it already.
pub trait ApiObject:
    Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static
{
}

impl<K> ApiObject for K where
    K: Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static
{
}

/// A client of one kind, in one namespace or in the whole cluster. Cheap to clone.
///
/// ```no_run
/// # use genclient_runtime::{PropagationPolicy, Result, TypedClient};
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// # async fn example(client: kube::Client) -> Result<()> {
/// let config_maps = TypedClient::<ConfigMap>::namespaced(client, "default");
/// let found = config_maps.get("example").await?;
/// config_maps.update(&found).field_manager("example").dry_run().await?;
/// config_maps.delete("example").propagation(PropagationPolicy::Foreground).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct TypedClient<K> {
    api: Api<K>,
    client: Client,
    namespace: Option<String>,
}

impl<K: ApiObject> TypedClient<K> {
    /// The client of a cluster-scoped kind, or of all namespaces of a namespaced one, where the
    /// server offers only `list` and `watch`.
    pub fn cluster(client: Client) -> Self {
        Self { api: Api::all(client.clone()), client, namespace: None }
    }

    /// The client of a namespaced kind in one namespace.
    ///
    /// A namespace that is not a DNS label is an error of each request, and nothing is sent.
    pub fn namespaced(client: Client, namespace: &str) -> Self
    where
        K::Scope: NamespaceScope,
    {
        Self {
            api: Api::all(client.clone()).constrain(namespace),
            client,
            namespace: Some(namespace.to_owned()),
        }
    }

    /// The way out: kube's own client of the same kind and namespace.
    pub fn api(&self) -> &Api<K> {
        &self.api
    }

    /// The namespace, or `None` for the whole cluster.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Creates an object, and answers with it as the server holds it.
    pub fn create<'a>(&'a self, object: &'a K) -> Create<'a, K> {
        Create::new(self, object)
    }

    /// Replaces an object. The server refuses with a conflict where it was changed since it was read.
    pub fn update<'a>(&'a self, object: &'a K) -> Update<'a, K> {
        Update::new(self, object, None)
    }

    /// Replaces the status of an object, and nothing else of it.
    pub fn update_status<'a>(&'a self, object: &'a K) -> Update<'a, K> {
        Update::new(self, object, Some("status"))
    }

    /// Deletes an object.
    pub fn delete<'a>(&'a self, name: &'a str) -> Delete<'a, K> {
        Delete::new(self, name)
    }

    /// Deletes all objects that the selectors of `params` choose.
    pub fn delete_collection<'a>(&'a self, params: &'a ListParams) -> DeleteCollection<'a, K> {
        DeleteCollection::new(self, params)
    }

    /// Reads an object.
    pub fn get<'a>(&'a self, name: &'a str) -> Get<'a, K> {
        Get::new(self, name)
    }

    /// Lists the objects that `params` choose, as the kind's own list type.
    pub fn list<'a, L: DeserializeOwned>(&'a self, params: &'a ListParams) -> List<'a, K, L> {
        List::new(self, params)
    }

    /// Follows the changes of the objects that the selectors of `params` choose, from the version
    /// that `params` names, or from the whole state where they name none; see [`WatchStream`].
    pub fn watch(&self, params: &ListParams) -> WatchStream<K> {
        WatchStream::open(self, params)
    }

    /// Changes an object by a patch.
    pub fn patch<'a, P: Serialize + Debug>(
        &'a self,
        name: &'a str,
        patch: &'a Patch<P>,
    ) -> PatchRequest<'a, K, P> {
        PatchRequest::new(self, name, patch)
    }

    /// Applies a configuration on the server's side: `field_manager` owns the fields that it names.
    ///
    /// The configuration must serialize with `apiVersion`, `kind` and `metadata.name`.
    pub fn apply<'a, A: Serialize>(&'a self, config: &'a A, field_manager: &'a str) -> Apply<'a, K, A> {
        Apply::new(self, config, field_manager, None)
    }

    /// Applies a configuration's status on the server's side, and nothing else of it.
    pub fn apply_status<'a, A: Serialize>(
        &'a self,
        config: &'a A,
        field_manager: &'a str,
    ) -> Apply<'a, K, A> {
        Apply::new(self, config, field_manager, Some("status"))
    }

    /// Reads a subresource of an object, as `R`.
    pub fn get_subresource<'a, R>(&'a self, name: &'a str, subresource: &'a str) -> SubresourceGet<'a, K, R> {
        SubresourceGet::new(self, name, Some(subresource))
    }

    /// Lists a subresource of an object, as `R`.
    pub fn list_subresource<'a, R>(
        &'a self,
        name: &'a str,
        subresource: &'a str,
        params: &'a ListParams,
    ) -> SubresourceList<'a, K, R> {
        SubresourceList::new(self, name, subresource, params)
    }

    /// Posts to a subresource of an object, and answers with `R`.
    pub fn create_subresource<'a, I: Serialize, R>(
        &'a self,
        name: &'a str,
        subresource: &'a str,
        input: &'a I,
    ) -> SubresourceCreate<'a, K, I, R> {
        SubresourceCreate::new(self, Some((name, subresource)), input)
    }

    /// Replaces a subresource of an object, and answers with `R`.
    pub fn update_subresource<'a, I: Serialize, R>(
        &'a self,
        name: &'a str,
        subresource: &'a str,
        input: &'a I,
    ) -> SubresourceUpdate<'a, K, I, R> {
        SubresourceUpdate::new(self, name, Some(subresource), input)
    }

    /// Changes a subresource of an object by a patch, and answers with `R`.
    pub fn patch_subresource<'a, P: Serialize, R>(
        &'a self,
        name: &'a str,
        subresource: &'a str,
        patch: &'a Patch<P>,
    ) -> SubresourcePatch<'a, K, P, R> {
        SubresourcePatch::new(self, name, Some(subresource), patch)
    }

    /// Applies a configuration to a subresource of an object on the server's side, and answers with `R`.
    ///
    /// The configuration must serialize with `apiVersion` and `kind`; these may be another kind's.
    pub fn apply_subresource<'a, A: Serialize, R>(
        &'a self,
        name: &'a str,
        subresource: &'a str,
        config: &'a A,
        field_manager: &'a str,
    ) -> SubresourceApply<'a, K, A, R> {
        SubresourceApply::new(self, name, Some(subresource), config, field_manager)
    }

    /// Reads an object as another type, such as one with only the fields that are needed.
    ///
    /// This and the other `…_as` methods carry the extension methods that name a verb with an input
    /// or a result of their own, and no subresource. [`TypedClient::list`] needs no such twin.
    pub fn get_as<'a, R>(&'a self, name: &'a str) -> SubresourceGet<'a, K, R> {
        SubresourceGet::new(self, name, None)
    }

    /// Posts another type to the collection, and answers with `R`.
    pub fn create_as<'a, I: Serialize, R>(&'a self, input: &'a I) -> SubresourceCreate<'a, K, I, R> {
        SubresourceCreate::new(self, None, input)
    }

    /// Replaces an object by a value of another type, and answers with `R`.
    pub fn update_as<'a, I: Serialize, R>(
        &'a self,
        name: &'a str,
        input: &'a I,
    ) -> SubresourceUpdate<'a, K, I, R> {
        SubresourceUpdate::new(self, name, None, input)
    }

    /// Changes an object by a patch, and answers with `R`.
    pub fn patch_as<'a, P: Serialize, R>(
        &'a self,
        name: &'a str,
        patch: &'a Patch<P>,
    ) -> SubresourcePatch<'a, K, P, R> {
        SubresourcePatch::new(self, name, None, patch)
    }

    /// Applies a configuration on the server's side, and answers with `R`.
    pub fn apply_as<'a, A: Serialize, R>(
        &'a self,
        name: &'a str,
        config: &'a A,
        field_manager: &'a str,
    ) -> SubresourceApply<'a, K, A, R> {
        SubresourceApply::new(self, name, None, config, field_manager)
    }

    fn operation(&self, verb: &'static str, name: Option<&str>, subresource: Option<&str>) -> Operation {
        Operation {
            verb,
            kind: K::kind(&()).into_owned(),
            namespace: self.namespace.clone(),
            name: name.map(str::to_owned),
            subresource: subresource.map(str::to_owned),
        }
    }

    /// The path of the collection.
    fn collection_path(&self) -> Result<String, InvalidRequest> {
        if let Some(namespace) = self.namespace.as_deref() {
            check_namespace(namespace)?;
        }
        Ok(K::url_path(&(), self.namespace.as_deref()))
    }

    /// The path of an object or of a subresource of it.
    fn object_path(&self, name: &str, subresource: Option<&str>) -> Result<String, InvalidRequest> {
        let mut path = self.collection_path()?;
        if !is_path_segment(name) {
            return Err(InvalidRequest::Name(name.to_owned()));
        }
        path.push('/');
        path.push_str(&encode_segment(name));
        if let Some(subresource) = subresource {
            if !is_path_segment(subresource) {
                return Err(InvalidRequest::Subresource(subresource.to_owned()));
            }
            path.push('/');
            path.push_str(&encode_segment(subresource));
        }
        Ok(path)
    }

    fn accept(&self) -> &'static str {
        if K::metadata_api() { METADATA } else { JSON }
    }
}

impl<K: ApiObject> Debug for TypedClient<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedClient")
            .field("kind", &K::kind(&()))
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

/// Kubernetes' own rule for a name that becomes a segment of a path. Kinds have stricter rules of
/// their own, which the server knows.
fn is_path_segment(text: &str) -> bool {
    !text.is_empty() && text != "." && text != ".." && !text.contains(['/', '%'])
}

/// Names like `system:node` pass as they are; what a URI cannot carry is escaped.
fn encode_segment(segment: &str) -> String {
    let mut encoded = String::with_capacity(segment.len());
    for byte in segment.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' | b'@' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_change_the_path() {
        for invalid in ["", ".", "..", "a/b", "%2e%2e"] {
            assert!(!is_path_segment(invalid), "{invalid}");
        }
        assert_eq!(encode_segment("system:node-1.2"), "system:node-1.2");
        assert_eq!(encode_segment("a?b#c d"), "a%3Fb%23c%20d");
    }
}
