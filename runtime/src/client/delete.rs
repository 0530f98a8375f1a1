//! Requests that delete objects.

use std::time::Duration;

use kube::{
    api::{DeleteParams, ListParams, Preconditions, PropagationPolicy},
    core::Status,
};
use serde::{Deserialize, de::DeserializeOwned};

use super::{
    read::write_list_params,
    request::{Request, request},
};
use crate::{
    error::{Operation, Result},
    wire::{JSON, decode},
};

/// The response of the server to a delete.
#[derive(Clone, Debug, PartialEq)]
pub enum Deleted<K> {
    /// The object. If it has a `deletionTimestamp`, it still exists and waits for its finalizers or its grace
    /// period. Otherwise this is its last state.
    Object(Box<K>),
    /// The object was deleted, and the server does not return it.
    Status(Box<Status>),
}

impl<K> Deleted<K> {
    /// Returns the object, if the server returned it.
    pub fn object(&self) -> Option<&K> {
        match self {
            Self::Object(object) => Some(object),
            Self::Status(_) => None,
        }
    }
}

impl<K: DeserializeOwned> Deleted<K> {
    pub(super) fn decode(operation: &Operation, body: &[u8]) -> Result<Self> {
        #[derive(Deserialize)]
        struct Kind {
            #[serde(default)]
            kind: String,
        }
        let answer: Kind = decode(operation, body)?;
        match answer.kind.as_str() {
            "Status" => decode(operation, body).map(Self::Status),
            _ => decode(operation, body).map(Self::Object),
        }
    }
}

/// The options of deleting one object and of deleting many.
macro_rules! delete_options {
    () => {
        /// Validates the request on the server without deleting anything.
        pub fn dry_run(mut self) -> Self {
            self.options.dry_run = true;
            self
        }

        /// Sets how the server deletes the objects that the deleted object owns.
        pub fn propagation(mut self, policy: PropagationPolicy) -> Self {
            self.options.propagation_policy = Some(policy);
            self
        }

        /// Sets the grace period in whole seconds. Zero deletes the object at once.
        pub fn grace_period(mut self, period: Duration) -> Self {
            self.options.grace_period_seconds = Some(u32::try_from(period.as_secs()).unwrap_or(u32::MAX));
            self
        }
    };
}

/// Deletes an object when awaited; see [`TypedClient::delete`](super::TypedClient::delete).
#[derive(Debug)]
#[must_use = "a request is sent when it is awaited"]
pub struct Delete<K> {
    request: Request<Deleted<K>>,
    options: DeleteParams,
}

impl<K> Delete<K> {
    pub(super) fn new(request: Request<Deleted<K>>) -> Self {
        Self { request, options: DeleteParams::default() }
    }

    delete_options!();

    /// Deletes the object only if it has this uid, and not a later object with the same name.
    pub fn precondition_uid(mut self, uid: impl Into<String>) -> Self {
        self.preconditions().uid = Some(uid.into());
        self
    }

    /// Deletes the object only if it has this resource version.
    pub fn precondition_resource_version(mut self, version: impl Into<String>) -> Self {
        self.preconditions().resource_version = Some(version.into());
        self
    }

    fn preconditions(&mut self) -> &mut Preconditions {
        self.options.preconditions.get_or_insert_default()
    }

    fn finish(self) -> Request<Deleted<K>> {
        self.request.with(|call| call.body(JSON, &self.options))
    }
}

request!(Delete<K> -> Deleted<K>);

/// Deletes many objects when awaited; see
/// [`TypedClient::delete_collection`](super::TypedClient::delete_collection).
#[derive(Debug)]
#[must_use = "a request is sent when it is awaited"]
pub struct DeleteCollection {
    request: Request<()>,
    options: DeleteParams,
}

impl DeleteCollection {
    pub(super) fn new(request: Request<()>, params: &ListParams) -> Self {
        let request = request.with(|mut call| {
            write_list_params(params, &mut call.query);
            Ok(call)
        });
        Self { request, options: DeleteParams::default() }
    }

    delete_options!();

    fn finish(self) -> Request<()> {
        self.request.with(|call| call.body(JSON, &self.options))
    }
}

request!(DeleteCollection -> ());
