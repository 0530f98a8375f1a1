//! The typed client: one implementation behind every generated client.
//!
//! - A verb returns a request, which is sent when it is awaited.
//! - The options of a request are its methods. An option that a verb does not have does not compile:
//!   ```compile_fail,E0599
//!   # use genclient_runtime::TypedClient;
//!   # use k8s_openapi::api::core::v1::ConfigMap;
//!   # fn example(config_maps: TypedClient<ConfigMap>) {
//!   config_maps.get("example").dry_run();
//!   # }
//!   ```
//! - A request that cannot succeed is not sent. A namespace that is not a DNS label, a name that would change
//!   the path and an apply configuration without a kind are [typed errors](InvalidRequest).
//! - Every error names the verb, the kind and the object.
//! - Every request has a timeout: 60 seconds, unless the [`RestClient`] or the request sets another one.
//! - The connections of [`connect`] detect a dead peer within 45 seconds.
//!
//! Requests are sent by the configured [`kube::Client`]. By default kube retries a response with status 429,
//! 503 or 504 up to 15 times; the timeout covers the retries. kube does not retry [`TypedClient::watch`],
//! which has its own rules.

mod apply;
mod connect;
mod delete;
mod kind;
mod pages;
mod patch;
mod path;
mod read;
mod request;
mod rest;
mod subresource;
mod transport;
mod update_with;
mod watch;
mod write;

use std::fmt::{self, Debug};

use http::Method;
use kube::{Api, Resource, api::ListParams, core::NamespaceScope};
use serde::{Serialize, de::DeserializeOwned};

pub use apply::Apply;
pub use connect::{builder, connect, try_default};
pub use delete::{Delete, DeleteCollection, Deleted};
pub use kind::KindOf;
pub(crate) use kind::sealed;
pub use pages::Pages;
pub use patch::PatchRequest;
pub use read::{Get, List};
pub(crate) use request::fetch_path;
pub use rest::RestClient;
pub use update_with::UpdateWith;
pub use watch::{WatchEvent, WatchStream};
pub use write::Write;

pub use crate::object::ApiObject;

use crate::{
    apply::ApplyConfiguration,
    error::InvalidRequest,
    patch::Patch,
    wire::{Call, JSON, METADATA, METADATA_LIST},
};
use apply::Configuration;
use path::Target;
use request::Request;
use write::WriteOptions;

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
///
/// The methods `…_subresource` and `…_as` take and return other types than `K`, which need only serde. The
/// former address a subresource of an object, the latter the object itself.
///
/// `D` provides the kind: `()` if `K` determines it, or a value, as in a
/// [`DynamicClient`](crate::dynamic::DynamicClient).
#[derive(Clone)]
pub struct TypedClient<K, D = ()> {
    api: Api<K>,
    rest: RestClient,
    namespace: Option<String>,
    kind: D,
}

impl<K: ApiObject + Resource<DynamicType = ()>> TypedClient<K> {
    /// Creates a client of a cluster-scoped kind, or of all namespaces of a namespaced kind. Across all
    /// namespaces the server supports only `list` and `watch`.
    pub fn cluster(client: impl Into<RestClient>) -> Self {
        Self::with_kind(client.into(), (), &())
    }

    /// Creates a client of a namespaced kind in one namespace.
    ///
    /// If the namespace is not a DNS label, each request fails without being sent.
    pub fn namespaced(client: impl Into<RestClient>, namespace: &str) -> Self
    where
        K::Scope: NamespaceScope,
    {
        Self::cluster(client).constrained(namespace)
    }
}

impl<K: ApiObject + Resource<DynamicType = ()>> TypedClient<K> {
    /// Creates a client of the objects in a namespace, or of a cluster-scoped kind without one.
    pub(crate) fn at(client: RestClient, namespace: Option<&str>) -> Self {
        Self { namespace: namespace.map(str::to_owned), ..Self::cluster(client) }
    }
}

impl<K: ApiObject, D: KindOf<K>> TypedClient<K, D> {
    /// Creates a client of the whole cluster.
    pub(crate) fn with_kind(rest: RestClient, kind: D, dynamic: &K::DynamicType) -> Self {
        Self { api: Api::all_with(rest.client().clone(), dynamic), rest, namespace: None, kind }
    }

    /// Restricts the client to one namespace.
    pub(crate) fn constrained(self, namespace: &str) -> Self
    where
        K::Scope: NamespaceScope,
    {
        Self { api: self.api.constrain(namespace), namespace: Some(namespace.to_owned()), ..self }
    }

    pub(crate) fn known_kind(&self) -> &D {
        &self.kind
    }

    /// Returns kube's client of the same kind and namespace, which ignores the limits of the [`RestClient`].
    pub fn api(&self) -> &Api<K> {
        &self.api
    }

    /// Returns the namespace, or `None` for the whole cluster.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Creates an object and returns it as the server stored it.
    pub fn create(&self, object: &K) -> Write<K> {
        let meta = object.meta();
        let target = Target::New(meta.name.as_deref().or(meta.generate_name.as_deref()));
        self.post(target, object, accept::<K>())
    }

    /// Replaces an object. Fails with a conflict if the object has changed since it was read.
    pub fn update(&self, object: &K) -> Write<K> {
        let target = Target::Object { name: object.meta().name.as_deref(), subresource: None };
        self.put(target, object, accept::<K>())
    }

    /// Replaces the status of an object, and nothing else.
    pub fn update_status(&self, object: &K) -> Write<K> {
        let target = Target::Object { name: object.meta().name.as_deref(), subresource: Some("status") };
        self.put(target, object, accept::<K>())
    }

    /// Deletes an object.
    pub fn delete(&self, name: &str) -> Delete<K> {
        let target = Target::object(name);
        let call = self.path(target).map(|path| Call::new(Method::DELETE, path));
        let operation = self.operation("delete", target);
        Delete::new(Request::with_decoder(self.rest.clone(), operation, call, Deleted::decode))
    }

    /// Deletes all objects that `params` select.
    pub fn delete_collection(&self, params: &ListParams) -> DeleteCollection {
        let call = self.path(Target::Collection).map(|path| Call::new(Method::DELETE, path));
        let operation = self.operation("delete collection of", Target::Collection);
        let request = Request::with_decoder(self.rest.clone(), operation, call, |_, _| Ok(()));
        DeleteCollection::new(request, params)
    }

    /// Reads an object.
    pub fn get(&self, name: &str) -> Get<K> {
        Get::new(self.fetch("get", Target::object(name), accept::<K>()))
    }

    /// Lists the objects that `params` select, as the kind's own list type `L`.
    ///
    /// The whole list is one response, which must arrive within the timeout. [`pages`](Self::pages) reads a
    /// long list in parts.
    pub fn list<L: DeserializeOwned>(&self, params: &ListParams) -> List<L> {
        let accept = if K::metadata_api() { METADATA_LIST } else { JSON };
        List::new(self.fetch("list", Target::Collection, accept), params)
    }

    /// Lists the objects that `params` select, page by page; see [`Pages`].
    pub fn pages(&self, params: &ListParams) -> Pages<K, D> {
        Pages::new(self.clone(), params.clone())
    }

    /// Watches the objects that the selectors of `params` select; see [`WatchStream`].
    ///
    /// The watch starts after the resource version in `params`, or with the existing objects if there is
    /// none.
    pub fn watch(&self, params: &ListParams) -> WatchStream<K> {
        WatchStream::open(self, params)
    }

    /// Patches an object.
    pub fn patch(&self, name: &str, patch: &Patch) -> PatchRequest<K> {
        self.patch_target(Target::object(name), patch, accept::<K>())
    }

    /// Changes an object: reads it, calls `change` to edit it, and writes the difference. Starts over if
    /// another client changed the object meanwhile; see [`UpdateWith`].
    pub fn update_with<'f>(
        &self,
        name: &str,
        change: impl FnMut(&mut K) + Send + 'f,
    ) -> UpdateWith<'f, K, D> {
        UpdateWith::new(self, name, None, Box::new(change))
    }

    /// Changes the status of an object like [`update_with`](Self::update_with). A change of any other field
    /// is an [error](InvalidRequest::OutsideStatus).
    pub fn update_status_with<'f>(
        &self,
        name: &str,
        change: impl FnMut(&mut K) + Send + 'f,
    ) -> UpdateWith<'f, K, D> {
        UpdateWith::new(self, name, Some("status"), Box::new(change))
    }

    /// Applies a configuration on the server, which creates the object if it does not exist. The field
    /// manager then owns exactly the fields in the configuration. Fields that it owned before and no longer
    /// sets are removed.
    ///
    /// The field manager is the [client's](RestClient::field_manager) or the
    /// [request's](Apply::field_manager). If another manager owns a field with a different value, the request
    /// fails with a conflict, and [`conflicts`](crate::Error::conflicts) returns the field.
    /// [`force`](Apply::force) takes ownership of it.
    pub fn apply<A: ApplyConfiguration<Object = K>>(&self, config: &A) -> Apply<K> {
        self.apply_to(None, config, Some(&config.metadata().name))
    }

    /// Applies the status of a configuration on the server, and nothing else.
    pub fn apply_status<A: ApplyConfiguration<Object = K>>(&self, config: &A) -> Apply<K> {
        self.apply_to(Some("status"), config, Some(&config.metadata().name))
    }

    /// Applies any serializable value, such as a part of a manifest. The manager owns every field in it, so
    /// do not apply a whole object.
    ///
    /// The value must have the `apiVersion` and the `kind` of the client, and a `metadata.name`.
    pub fn apply_untyped<C: Serialize>(&self, config: &C) -> Apply<K> {
        self.apply_to(None, config, None)
    }

    /// Applies the status of any serializable value, and nothing else.
    pub fn apply_status_untyped<C: Serialize>(&self, config: &C) -> Apply<K> {
        self.apply_to(Some("status"), config, None)
    }

    fn fetch<R: DeserializeOwned>(
        &self,
        verb: &'static str,
        target: Target<'_>,
        accept: &'static str,
    ) -> Request<R> {
        self.request(verb, target, |path| Ok(Call::new(Method::GET, path).accept(accept)))
    }

    fn post<R: DeserializeOwned>(
        &self,
        target: Target<'_>,
        body: &impl Serialize,
        accept: &'static str,
    ) -> Write<R> {
        let call = |path| Call::new(Method::POST, path).accept(accept).body(JSON, body);
        Write::new(self.request("create", target, call), self.write_options())
    }

    fn put<R: DeserializeOwned>(
        &self,
        target: Target<'_>,
        body: &impl Serialize,
        accept: &'static str,
    ) -> Write<R> {
        let call = |path| Call::new(Method::PUT, path).accept(accept).body(JSON, body);
        Write::new(self.request("update", target, call), self.write_options())
    }

    fn patch_target<R: DeserializeOwned>(
        &self,
        target: Target<'_>,
        patch: &Patch,
        accept: &'static str,
    ) -> PatchRequest<R> {
        let request = self.request("patch", target, |path| Ok(patch.to_call(path)?.accept(accept)));
        PatchRequest::new(request, self.write_options())
    }

    /// Applies a configuration. `name` is for errors only; the configuration names the object.
    fn apply_to(
        &self,
        subresource: Option<&'static str>,
        config: &impl Serialize,
        name: Option<&str>,
    ) -> Apply<K> {
        let (api_version, kind) = (self.kind.api_version(), self.kind.kind());
        let (name, config) = match Configuration::of(config, &api_version, &kind, self.namespace()) {
            Ok((name, config)) => (Some(name), Ok(config)),
            Err(error) => (name.map(str::to_owned), Err(error)),
        };
        let target = Target::Object { name: name.as_deref(), subresource };
        let call = config.and_then(|config| Ok(config.into_call(self.path(target)?).accept(accept::<K>())));
        let request = Request::new(self.rest.clone(), self.operation("apply", target), call);
        Apply::new(request, self.write_options())
    }

    /// Creates a request from the call that `call` returns for the path.
    fn request<R: DeserializeOwned>(
        &self,
        verb: &'static str,
        target: Target<'_>,
        call: impl FnOnce(String) -> Result<Call, InvalidRequest>,
    ) -> Request<R> {
        let call = self.path(target).and_then(call);
        Request::new(self.rest.clone(), self.operation(verb, target), call)
    }

    /// Returns the default options of a write.
    fn write_options(&self) -> WriteOptions {
        let field_manager = self.rest.default_field_manager().map(str::to_owned);
        WriteOptions { field_manager, ..WriteOptions::default() }
    }
}

/// Returns the media type of objects of type `K`.
fn accept<K: ApiObject>() -> &'static str {
    if K::metadata_api() { METADATA } else { JSON }
}

impl<K: ApiObject, D: KindOf<K>> Debug for TypedClient<K, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedClient")
            .field("kind", &self.kind.kind())
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}
