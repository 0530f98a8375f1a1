//! Requests for one object.

use std::{fmt::Debug, future::IntoFuture, marker::PhantomData, time::Duration};

use futures::future::BoxFuture;
use http::{HeaderValue, Method, header};
use kube::{
    api::{DeleteParams, Patch, PatchParams, Preconditions, PropagationPolicy},
    core::Status,
};
use serde::{Deserialize, Serialize};

use super::{
    ApiObject, TypedClient, WriteOptions,
    options::{field_manager_option, force_option, timeout_option, write_options},
};
use crate::{
    error::{InvalidRequest, Result},
    wire::{Call, JSON, decode, fetch},
};

/// Creates an object when awaited; see [`TypedClient::create`].
#[derive(Debug)]
#[must_use = "a request is sent when it is awaited"]
pub struct Create<'a, K: ApiObject> {
    client: &'a TypedClient<K>,
    object: &'a K,
    options: WriteOptions,
    timeout: Option<Duration>,
}

impl<'a, K: ApiObject> Create<'a, K> {
    pub(super) fn new(client: &'a TypedClient<K>, object: &'a K) -> Self {
        Self { client, object, options: WriteOptions::default(), timeout: None }
    }

    write_options!();
    field_manager_option!();
    timeout_option!();

    fn call(&self) -> Result<Call, InvalidRequest> {
        let mut call = Call::new(Method::POST, self.client.collection_path()?).body(JSON, self.object)?;
        call.accept = self.client.accept();
        self.options.populate(&mut call.query)?;
        Ok(call)
    }
}

impl<'a, K: ApiObject> IntoFuture for Create<'a, K> {
    type Output = Result<K>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let meta = self.object.meta();
        let name = meta.name.as_deref().or(meta.generate_name.as_deref());
        let operation = self.client.operation("create", name, None);
        let (call, client, timeout) = (self.call(), self.client.client.clone(), self.timeout);
        Box::pin(async move {
            let body = fetch(client, &operation, call, timeout).await?;
            decode(&operation, &body)
        })
    }
}

/// Replaces an object or its status when awaited; see [`TypedClient::update`].
#[derive(Debug)]
#[must_use = "a request is sent when it is awaited"]
pub struct Update<'a, K: ApiObject> {
    client: &'a TypedClient<K>,
    object: &'a K,
    subresource: Option<&'static str>,
    options: WriteOptions,
    timeout: Option<Duration>,
}

impl<'a, K: ApiObject> Update<'a, K> {
    pub(super) fn new(client: &'a TypedClient<K>, object: &'a K, subresource: Option<&'static str>) -> Self {
        Self { client, object, subresource, options: WriteOptions::default(), timeout: None }
    }

    write_options!();
    field_manager_option!();
    timeout_option!();

    fn call(&self) -> Result<Call, InvalidRequest> {
        let name = self.object.meta().name.as_deref().ok_or(InvalidRequest::NameMissing)?;
        let path = self.client.object_path(name, self.subresource)?;
        let mut call = Call::new(Method::PUT, path).body(JSON, self.object)?;
        call.accept = self.client.accept();
        self.options.populate(&mut call.query)?;
        Ok(call)
    }
}

impl<'a, K: ApiObject> IntoFuture for Update<'a, K> {
    type Output = Result<K>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let name = self.object.meta().name.as_deref();
        let operation = self.client.operation("update", name, self.subresource);
        let (call, client, timeout) = (self.call(), self.client.client.clone(), self.timeout);
        Box::pin(async move {
            let body = fetch(client, &operation, call, timeout).await?;
            decode(&operation, &body)
        })
    }
}

/// Reads an object when awaited; see [`TypedClient::get`].
#[derive(Debug)]
#[must_use = "a request is sent when it is awaited"]
pub struct Get<'a, K: ApiObject> {
    client: &'a TypedClient<K>,
    name: &'a str,
    resource_version: Option<String>,
    timeout: Option<Duration>,
}

impl<'a, K: ApiObject> Get<'a, K> {
    pub(super) fn new(client: &'a TypedClient<K>, name: &'a str) -> Self {
        Self { client, name, resource_version: None, timeout: None }
    }

    /// Allows a state that is not older than this version; `"0"` allows any state that the server
    /// has at hand.
    pub fn resource_version(mut self, version: impl Into<String>) -> Self {
        self.resource_version = Some(version.into());
        self
    }

    timeout_option!();

    fn call(&self) -> Result<Call, InvalidRequest> {
        let mut call = Call::new(Method::GET, self.client.object_path(self.name, None)?);
        call.accept = self.client.accept();
        call.query.push_some("resourceVersion", self.resource_version.as_deref());
        Ok(call)
    }
}

impl<'a, K: ApiObject> IntoFuture for Get<'a, K> {
    type Output = Result<K>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let operation = self.client.operation("get", Some(self.name), None);
        let (call, client, timeout) = (self.call(), self.client.client.clone(), self.timeout);
        Box::pin(async move {
            let body = fetch(client, &operation, call, timeout).await?;
            decode(&operation, &body)
        })
    }
}

/// What the server answers to a delete.
#[derive(Clone, Debug, PartialEq)]
pub enum Deleted<K> {
    /// The object's last state, or the state in which it now waits for its finalizers or its grace
    /// period; in that case its `deletionTimestamp` is set.
    Object(Box<K>),
    /// The object is gone, and the server says no more than that.
    Status(Box<Status>),
}

impl<K> Deleted<K> {
    /// The object, where the server answered with it.
    pub fn object(&self) -> Option<&K> {
        match self {
            Self::Object(object) => Some(object),
            Self::Status(_) => None,
        }
    }
}

/// Deletes an object when awaited; see [`TypedClient::delete`].
#[derive(Debug)]
#[must_use = "a request is sent when it is awaited"]
pub struct Delete<'a, K: ApiObject> {
    client: &'a TypedClient<K>,
    name: &'a str,
    options: DeleteParams,
    timeout: Option<Duration>,
}

/// Writes the options that deleting one object and deleting many have in common.
macro_rules! delete_options {
    () => {
        /// Lets the server check and answer without deleting anything.
        pub fn dry_run(mut self) -> Self {
            self.options.dry_run = true;
            self
        }

        /// Says what becomes of what the object owns.
        pub fn propagation(mut self, policy: PropagationPolicy) -> Self {
            self.options.propagation_policy = Some(policy);
            self
        }

        /// The time that the object has to end by itself, in whole seconds; zero ends it at once.
        pub fn grace_period(mut self, period: Duration) -> Self {
            self.options.grace_period_seconds = Some(u32::try_from(period.as_secs()).unwrap_or(u32::MAX));
            self
        }
    };
}
pub(super) use delete_options;

impl<'a, K: ApiObject> Delete<'a, K> {
    pub(super) fn new(client: &'a TypedClient<K>, name: &'a str) -> Self {
        Self { client, name, options: DeleteParams::default(), timeout: None }
    }

    delete_options!();

    /// Deletes only the object with this uid, and not one that was created again under its name.
    pub fn precondition_uid(mut self, uid: impl Into<String>) -> Self {
        self.options.preconditions.get_or_insert_with(Preconditions::default).uid = Some(uid.into());
        self
    }

    /// Deletes the object only in this very version.
    pub fn precondition_resource_version(mut self, version: impl Into<String>) -> Self {
        self.options.preconditions.get_or_insert_with(Preconditions::default).resource_version =
            Some(version.into());
        self
    }

    timeout_option!();

    fn call(&self) -> Result<Call, InvalidRequest> {
        let path = self.client.object_path(self.name, None)?;
        Call::new(Method::DELETE, path).body(JSON, &self.options)
    }
}

impl<'a, K: ApiObject> IntoFuture for Delete<'a, K> {
    type Output = Result<Deleted<K>>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        #[derive(Deserialize)]
        struct Kind {
            #[serde(default)]
            kind: String,
        }
        let operation = self.client.operation("delete", Some(self.name), None);
        let (call, client, timeout) = (self.call(), self.client.client.clone(), self.timeout);
        Box::pin(async move {
            let body = fetch(client, &operation, call, timeout).await?;
            let answer: Kind = decode(&operation, &body)?;
            if answer.kind == "Status" {
                decode(&operation, &body).map(Deleted::Status)
            } else {
                decode(&operation, &body).map(Deleted::Object)
            }
        })
    }
}

/// Patches an object when awaited; see [`TypedClient::patch`].
#[derive(Debug)]
#[must_use = "a request is sent when it is awaited"]
pub struct PatchRequest<'a, K: ApiObject, P: Serialize + Debug> {
    client: &'a TypedClient<K>,
    name: &'a str,
    patch: &'a Patch<P>,
    options: WriteOptions,
    force: bool,
    timeout: Option<Duration>,
}

impl<'a, K: ApiObject, P: Serialize + Debug> PatchRequest<'a, K, P> {
    pub(super) fn new(client: &'a TypedClient<K>, name: &'a str, patch: &'a Patch<P>) -> Self {
        Self { client, name, patch, options: WriteOptions::default(), force: false, timeout: None }
    }

    write_options!();
    field_manager_option!();
    force_option!();
    timeout_option!();

    fn call(&self) -> Result<Call, InvalidRequest> {
        let path = self.client.object_path(self.name, None)?;
        let mut call = patch_call(path, self.patch, &self.options, self.force)?;
        call.accept = self.client.accept();
        Ok(call)
    }
}

impl<'a, K: ApiObject, P: Serialize + Debug> IntoFuture for PatchRequest<'a, K, P> {
    type Output = Result<K>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let operation = self.client.operation("patch", Some(self.name), None);
        let (call, client, timeout) = (self.call(), self.client.client.clone(), self.timeout);
        Box::pin(async move {
            let body = fetch(client, &operation, call, timeout).await?;
            decode(&operation, &body)
        })
    }
}

/// Applies a configuration when awaited; see [`TypedClient::apply`].
#[must_use = "a request is sent when it is awaited"]
pub struct Apply<'a, K: ApiObject, A: Serialize> {
    client: &'a TypedClient<K>,
    subresource: Option<&'static str>,
    configuration: Result<(String, Vec<u8>), InvalidRequest>,
    options: WriteOptions,
    force: bool,
    timeout: Option<Duration>,
    config: PhantomData<&'a A>,
}

impl<'a, K: ApiObject, A: Serialize> Apply<'a, K, A> {
    pub(super) fn new(
        client: &'a TypedClient<K>,
        config: &'a A,
        field_manager: &'a str,
        subresource: Option<&'static str>,
    ) -> Self {
        let configuration = serde_json::to_vec(config)
            .map_err(InvalidRequest::Body)
            .and_then(|body| Ok((applied_name::<K>(&body)?, body)));
        let options =
            WriteOptions { field_manager: Some(field_manager.to_owned()), ..WriteOptions::default() };
        Self { client, subresource, configuration, options, force: false, timeout: None, config: PhantomData }
    }

    write_options!();
    force_option!();
    timeout_option!();
}

impl<'a, K: ApiObject, A: Serialize> IntoFuture for Apply<'a, K, A> {
    type Output = Result<K>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let name = self.configuration.as_ref().ok().map(|(name, _)| name.as_str());
        let operation = self.client.operation("apply", name, self.subresource);
        let (options, force, accept) = (self.options, self.force, self.client.accept());
        let call = self.configuration.and_then(|(name, body)| {
            let mut call = Call::new(Method::PATCH, self.client.object_path(&name, self.subresource)?);
            call.body = body;
            call.content_type = Some(HeaderValue::from_static(APPLY_PATCH));
            call.accept = accept;
            options.populate(&mut call.query)?;
            if force {
                call.query.push("force", "true");
            }
            Ok(call)
        });
        let (client, timeout) = (self.client.client.clone(), self.timeout);
        Box::pin(async move {
            let body = fetch(client, &operation, call, timeout).await?;
            decode(&operation, &body)
        })
    }
}

/// JSON is YAML, so the one media type that every server knows carries it.
const APPLY_PATCH: &str = "application/apply-patch+yaml";

/// The facts that the server needs of an apply configuration.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Applied {
    api_version: Option<String>,
    kind: Option<String>,
    metadata: Option<AppliedMeta>,
}

#[derive(Deserialize)]
struct AppliedMeta {
    name: Option<String>,
}

/// The name of the object that a configuration speaks of, if it speaks of a `K`.
fn applied_name<K: ApiObject>(body: &[u8]) -> Result<String, InvalidRequest> {
    let applied: Applied = serde_json::from_slice(body).map_err(InvalidRequest::Body)?;
    expect("apiVersion", applied.api_version, &K::api_version(&()))?;
    expect("kind", applied.kind, &K::kind(&()))?;
    applied.metadata.and_then(|meta| meta.name).ok_or(InvalidRequest::FieldMissing("metadata.name"))
}

/// A configuration for a subresource must say what it is; a name in it must be the object's.
fn check_applied(body: &[u8], name: &str) -> Result<(), InvalidRequest> {
    let applied: Applied = serde_json::from_slice(body).map_err(InvalidRequest::Body)?;
    applied.api_version.ok_or(InvalidRequest::FieldMissing("apiVersion"))?;
    applied.kind.ok_or(InvalidRequest::FieldMissing("kind"))?;
    match applied.metadata.and_then(|meta| meta.name) {
        Some(found) => expect("metadata.name", Some(found), name),
        None => Ok(()),
    }
}

fn expect(field: &'static str, found: Option<String>, expected: &str) -> Result<(), InvalidRequest> {
    match found {
        None => Err(InvalidRequest::FieldMissing(field)),
        Some(found) if found == expected => Ok(()),
        Some(found) => Err(InvalidRequest::FieldMismatch { field, expected: expected.to_owned(), found }),
    }
}

/// A request that carries an apply configuration for a subresource, or as another type.
pub(super) fn apply_call<A: Serialize>(path: String, name: &str, config: &A) -> Result<Call, InvalidRequest> {
    let call = Call::new(Method::PATCH, path).body(APPLY_PATCH, config)?;
    check_applied(&call.body, name)?;
    Ok(call)
}

/// A request that carries a patch.
pub(super) fn patch_call<P: Serialize>(
    path: String,
    patch: &Patch<P>,
    options: &WriteOptions,
    force: bool,
) -> Result<Call, InvalidRequest> {
    // Only kube knows the media type and the body of every patch, so they are taken from its request.
    let params = PatchParams { force, ..PatchParams::default() };
    let request = kube::core::Request::new("").patch("_", &params, patch).map_err(|error| match error {
        kube::core::request::Error::SerializeBody(error) => InvalidRequest::Body(error),
        kube::core::request::Error::BuildRequest(error) => InvalidRequest::Http(error),
        kube::core::request::Error::Validation(message) => InvalidRequest::Patch(message),
    })?;
    let mut call = Call::new(Method::PATCH, path);
    call.content_type = request.headers().get(header::CONTENT_TYPE).cloned();
    call.body = request.into_body();
    options.populate(&mut call.query)?;
    if force {
        call.query.push("force", "true");
    }
    Ok(call)
}
