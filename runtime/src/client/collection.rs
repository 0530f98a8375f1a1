//! Requests for many objects at once.

use std::{future::IntoFuture, marker::PhantomData, time::Duration};

use futures::future::BoxFuture;
use http::Method;
use kube::api::{DeleteParams, ListParams, PropagationPolicy, VersionMatch};
use serde::de::DeserializeOwned;

use super::{ApiObject, TypedClient, object::delete_options, options::timeout_option};
use crate::{
    error::{InvalidRequest, Result},
    wire::{Call, JSON, METADATA_LIST, Query, decode, fetch},
};

/// Writes the selectors of a list into a query.
pub(super) fn populate_selectors(params: &ListParams, query: &mut Query) {
    query.push_some("labelSelector", params.label_selector.as_deref());
    query.push_some("fieldSelector", params.field_selector.as_deref());
}

/// Writes all that a list can be asked for into a query.
pub(super) fn populate_list(params: &ListParams, query: &mut Query) {
    populate_selectors(params, query);
    if let Some(limit) = params.limit {
        query.push("limit", &limit.to_string());
    }
    match (&params.continue_token, &params.resource_version) {
        // The token carries the version of the list that it continues.
        (Some(token), _) => query.push("continue", token),
        (None, Some(version)) => {
            query.push("resourceVersion", version);
            query.push_some(
                "resourceVersionMatch",
                params.version_match.as_ref().map(|rule| match rule {
                    VersionMatch::NotOlderThan => "NotOlderThan",
                    VersionMatch::Exact => "Exact",
                }),
            );
        }
        (None, None) => {}
    }
}

/// Lists objects when awaited; see [`TypedClient::list`].
#[derive(Debug)]
#[must_use = "a request is sent when it is awaited"]
pub struct List<'a, K: ApiObject, L> {
    client: &'a TypedClient<K>,
    params: &'a ListParams,
    timeout: Option<Duration>,
    list: PhantomData<fn() -> L>,
}

impl<'a, K: ApiObject, L> List<'a, K, L> {
    pub(super) fn new(client: &'a TypedClient<K>, params: &'a ListParams) -> Self {
        Self { client, params, timeout: None, list: PhantomData }
    }

    timeout_option!();

    fn call(&self) -> Result<Call, InvalidRequest> {
        let mut call = Call::new(Method::GET, self.client.collection_path()?);
        call.accept = if K::metadata_api() { METADATA_LIST } else { JSON };
        populate_list(self.params, &mut call.query);
        Ok(call)
    }
}

impl<'a, K: ApiObject, L: DeserializeOwned + 'a> IntoFuture for List<'a, K, L> {
    type Output = Result<L>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let operation = self.client.operation("list", None, None);
        let (call, client, timeout) = (self.call(), self.client.client.clone(), self.timeout);
        Box::pin(async move {
            let body = fetch(client, &operation, call, timeout).await?;
            decode(&operation, &body)
        })
    }
}

/// Deletes many objects when awaited; see [`TypedClient::delete_collection`].
#[derive(Debug)]
#[must_use = "a request is sent when it is awaited"]
pub struct DeleteCollection<'a, K: ApiObject> {
    client: &'a TypedClient<K>,
    params: &'a ListParams,
    options: DeleteParams,
    timeout: Option<Duration>,
}

impl<'a, K: ApiObject> DeleteCollection<'a, K> {
    pub(super) fn new(client: &'a TypedClient<K>, params: &'a ListParams) -> Self {
        Self { client, params, options: DeleteParams::default(), timeout: None }
    }

    delete_options!();
    timeout_option!();

    fn call(&self) -> Result<Call, InvalidRequest> {
        let path = self.client.collection_path()?;
        let mut call = Call::new(Method::DELETE, path).body(JSON, &self.options)?;
        populate_list(self.params, &mut call.query);
        Ok(call)
    }
}

impl<'a, K: ApiObject> IntoFuture for DeleteCollection<'a, K> {
    type Output = Result<()>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let operation = self.client.operation("delete collection of", None, None);
        let (call, client, timeout) = (self.call(), self.client.client.clone(), self.timeout);
        Box::pin(async move { fetch(client, &operation, call, timeout).await.map(drop) })
    }
}
