//! Requests with an input and a result of their own: subresources, and verbs on another type.
//!
//! Input and result need nothing but serde, so types without `ObjectMeta` pass as well.

use std::{future::IntoFuture, marker::PhantomData, time::Duration};

use futures::future::BoxFuture;
use http::Method;
use kube::api::{ListParams, Patch};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    ApiObject, TypedClient, WriteOptions,
    collection::populate_list,
    object::{apply_call, patch_call},
    options::{field_manager_option, force_option, timeout_option, write_options},
};
use crate::{
    error::{InvalidRequest, Result},
    wire::{Call, JSON, decode, fetch},
};

/// Writes the future of a request that decodes its answer into `R`.
macro_rules! answer_with_result {
    ($request:ident < $($generic:ident),* > where $($bound:tt)*) => {
        impl<'a, $($generic,)* R> IntoFuture for $request<'a, $($generic,)* R>
        where
            $($bound)*
            R: DeserializeOwned + 'a,
        {
            type Output = Result<R>;
            type IntoFuture = BoxFuture<'a, Self::Output>;

            fn into_future(self) -> Self::IntoFuture {
                let operation = self.client.operation(Self::VERB, self.name(), self.subresource());
                let (call, client, timeout) = (self.call(), self.client.client.clone(), self.timeout);
                Box::pin(async move {
                    let body = fetch(client, &operation, call, timeout).await?;
                    decode(&operation, &body)
                })
            }
        }
    };
}

/// Reads a subresource when awaited; see [`TypedClient::get_subresource`].
#[derive(Debug)]
#[must_use = "a request is sent when it is awaited"]
pub struct SubresourceGet<'a, K: ApiObject, R> {
    client: &'a TypedClient<K>,
    name: &'a str,
    subresource: Option<&'a str>,
    resource_version: Option<String>,
    timeout: Option<Duration>,
    result: PhantomData<fn() -> R>,
}

impl<'a, K: ApiObject, R> SubresourceGet<'a, K, R> {
    const VERB: &'static str = "get";

    pub(super) fn new(client: &'a TypedClient<K>, name: &'a str, subresource: Option<&'a str>) -> Self {
        Self { client, name, subresource, resource_version: None, timeout: None, result: PhantomData }
    }

    /// Allows a state that is not older than this version; `"0"` allows any state that the server
    /// has at hand.
    pub fn resource_version(mut self, version: impl Into<String>) -> Self {
        self.resource_version = Some(version.into());
        self
    }

    timeout_option!();

    fn name(&self) -> Option<&str> {
        Some(self.name)
    }

    fn subresource(&self) -> Option<&str> {
        self.subresource
    }

    fn call(&self) -> Result<Call, InvalidRequest> {
        let mut call = Call::new(Method::GET, self.client.object_path(self.name, self.subresource)?);
        call.query.push_some("resourceVersion", self.resource_version.as_deref());
        Ok(call)
    }
}

answer_with_result!(SubresourceGet<K> where K: ApiObject,);

/// Lists a subresource when awaited; see [`TypedClient::list_subresource`].
#[derive(Debug)]
#[must_use = "a request is sent when it is awaited"]
pub struct SubresourceList<'a, K: ApiObject, R> {
    client: &'a TypedClient<K>,
    name: &'a str,
    subresource: &'a str,
    params: &'a ListParams,
    timeout: Option<Duration>,
    result: PhantomData<fn() -> R>,
}

impl<'a, K: ApiObject, R> SubresourceList<'a, K, R> {
    const VERB: &'static str = "list";

    pub(super) fn new(
        client: &'a TypedClient<K>,
        name: &'a str,
        subresource: &'a str,
        params: &'a ListParams,
    ) -> Self {
        Self { client, name, subresource, params, timeout: None, result: PhantomData }
    }

    timeout_option!();

    fn name(&self) -> Option<&str> {
        Some(self.name)
    }

    fn subresource(&self) -> Option<&str> {
        Some(self.subresource)
    }

    fn call(&self) -> Result<Call, InvalidRequest> {
        let mut call = Call::new(Method::GET, self.client.object_path(self.name, Some(self.subresource))?);
        populate_list(self.params, &mut call.query);
        Ok(call)
    }
}

answer_with_result!(SubresourceList<K> where K: ApiObject,);

/// Posts to a subresource when awaited; see [`TypedClient::create_subresource`].
#[derive(Debug)]
#[must_use = "a request is sent when it is awaited"]
pub struct SubresourceCreate<'a, K: ApiObject, I, R> {
    client: &'a TypedClient<K>,
    /// The object's name and the subresource, or the whole collection.
    target: Option<(&'a str, &'a str)>,
    input: &'a I,
    options: WriteOptions,
    timeout: Option<Duration>,
    result: PhantomData<fn() -> R>,
}

impl<'a, K: ApiObject, I: Serialize, R> SubresourceCreate<'a, K, I, R> {
    const VERB: &'static str = "create";

    pub(super) fn new(client: &'a TypedClient<K>, target: Option<(&'a str, &'a str)>, input: &'a I) -> Self {
        Self { client, target, input, options: WriteOptions::default(), timeout: None, result: PhantomData }
    }

    write_options!();
    field_manager_option!();
    timeout_option!();

    fn name(&self) -> Option<&str> {
        self.target.map(|(name, _)| name)
    }

    fn subresource(&self) -> Option<&str> {
        self.target.map(|(_, subresource)| subresource)
    }

    fn call(&self) -> Result<Call, InvalidRequest> {
        let path = match self.target {
            Some((name, subresource)) => self.client.object_path(name, Some(subresource))?,
            None => self.client.collection_path()?,
        };
        let mut call = Call::new(Method::POST, path).body(JSON, self.input)?;
        self.options.populate(&mut call.query)?;
        Ok(call)
    }
}

answer_with_result!(SubresourceCreate<K, I> where K: ApiObject, I: Serialize,);

/// Replaces a subresource when awaited; see [`TypedClient::update_subresource`].
#[derive(Debug)]
#[must_use = "a request is sent when it is awaited"]
pub struct SubresourceUpdate<'a, K: ApiObject, I, R> {
    client: &'a TypedClient<K>,
    name: &'a str,
    subresource: Option<&'a str>,
    input: &'a I,
    options: WriteOptions,
    timeout: Option<Duration>,
    result: PhantomData<fn() -> R>,
}

impl<'a, K: ApiObject, I: Serialize, R> SubresourceUpdate<'a, K, I, R> {
    const VERB: &'static str = "update";

    pub(super) fn new(
        client: &'a TypedClient<K>,
        name: &'a str,
        subresource: Option<&'a str>,
        input: &'a I,
    ) -> Self {
        let options = WriteOptions::default();
        Self { client, name, subresource, input, options, timeout: None, result: PhantomData }
    }

    write_options!();
    field_manager_option!();
    timeout_option!();

    fn name(&self) -> Option<&str> {
        Some(self.name)
    }

    fn subresource(&self) -> Option<&str> {
        self.subresource
    }

    fn call(&self) -> Result<Call, InvalidRequest> {
        let path = self.client.object_path(self.name, self.subresource)?;
        let mut call = Call::new(Method::PUT, path).body(JSON, self.input)?;
        self.options.populate(&mut call.query)?;
        Ok(call)
    }
}

answer_with_result!(SubresourceUpdate<K, I> where K: ApiObject, I: Serialize,);

/// Patches a subresource when awaited; see [`TypedClient::patch_subresource`].
#[derive(Debug)]
#[must_use = "a request is sent when it is awaited"]
pub struct SubresourcePatch<'a, K: ApiObject, P: Serialize, R> {
    client: &'a TypedClient<K>,
    name: &'a str,
    subresource: Option<&'a str>,
    patch: &'a Patch<P>,
    options: WriteOptions,
    force: bool,
    timeout: Option<Duration>,
    result: PhantomData<fn() -> R>,
}

impl<'a, K: ApiObject, P: Serialize, R> SubresourcePatch<'a, K, P, R> {
    const VERB: &'static str = "patch";

    pub(super) fn new(
        client: &'a TypedClient<K>,
        name: &'a str,
        subresource: Option<&'a str>,
        patch: &'a Patch<P>,
    ) -> Self {
        let options = WriteOptions::default();
        Self { client, name, subresource, patch, options, force: false, timeout: None, result: PhantomData }
    }

    write_options!();
    field_manager_option!();
    force_option!();
    timeout_option!();

    fn name(&self) -> Option<&str> {
        Some(self.name)
    }

    fn subresource(&self) -> Option<&str> {
        self.subresource
    }

    fn call(&self) -> Result<Call, InvalidRequest> {
        let path = self.client.object_path(self.name, self.subresource)?;
        patch_call(path, self.patch, &self.options, self.force)
    }
}

answer_with_result!(SubresourcePatch<K, P> where K: ApiObject, P: Serialize,);

/// Applies a configuration to a subresource when awaited; see [`TypedClient::apply_subresource`].
#[derive(Debug)]
#[must_use = "a request is sent when it is awaited"]
pub struct SubresourceApply<'a, K: ApiObject, A, R> {
    client: &'a TypedClient<K>,
    name: &'a str,
    subresource: Option<&'a str>,
    config: &'a A,
    options: WriteOptions,
    force: bool,
    timeout: Option<Duration>,
    result: PhantomData<fn() -> R>,
}

impl<'a, K: ApiObject, A: Serialize, R> SubresourceApply<'a, K, A, R> {
    const VERB: &'static str = "apply";

    pub(super) fn new(
        client: &'a TypedClient<K>,
        name: &'a str,
        subresource: Option<&'a str>,
        config: &'a A,
        field_manager: &'a str,
    ) -> Self {
        let options =
            WriteOptions { field_manager: Some(field_manager.to_owned()), ..WriteOptions::default() };
        Self { client, name, subresource, config, options, force: false, timeout: None, result: PhantomData }
    }

    write_options!();
    force_option!();
    timeout_option!();

    fn name(&self) -> Option<&str> {
        Some(self.name)
    }

    fn subresource(&self) -> Option<&str> {
        self.subresource
    }

    fn call(&self) -> Result<Call, InvalidRequest> {
        let path = self.client.object_path(self.name, self.subresource)?;
        let mut call = apply_call(path, self.name, self.config)?;
        self.options.populate(&mut call.query)?;
        if self.force {
            call.query.push("force", "true");
        }
        Ok(call)
    }
}

answer_with_result!(SubresourceApply<K, A> where K: ApiObject, A: Serialize,);
