//! Finalizers, which hold a deleted object back until a controller has cleaned up.
//!
//! A [`Controller`](crate::Controller) with a [`finalizer`](crate::Controller::finalizer) calls these functions
//! itself.

use std::sync::Arc;

use kube::Resource;

use crate::{
    client::{ApiObject, RestClient, TypedClient},
    error::Result,
};

/// Returns whether an object has a finalizer.
pub fn has<K: Resource>(object: &K, finalizer: &str) -> bool {
    object.meta().finalizers.iter().flatten().any(|name| name == finalizer)
}

/// Returns whether the deletion of an object has begun.
pub fn is_deleted<K: Resource>(object: &K) -> bool {
    object.meta().deletion_timestamp.is_some()
}

/// Adds a finalizer to an object, and returns the object as the server has it. An object whose deletion has begun
/// is not changed.
pub async fn add<K>(client: impl Into<RestClient>, object: Arc<K>, finalizer: &str) -> Result<Arc<K>>
where
    K: ApiObject + Resource<DynamicType = ()>,
{
    let add = |object: &mut K| {
        if !is_deleted(object) && !has(object, finalizer) {
            object.meta_mut().finalizers.get_or_insert_default().push(finalizer.to_owned());
        }
    };
    update(client.into(), object, add).await.map(Arc::new)
}

/// Removes a finalizer from an object. It is no error if the object does not exist.
pub async fn remove<K>(client: impl Into<RestClient>, object: Arc<K>, finalizer: &str) -> Result<()>
where
    K: ApiObject + Resource<DynamicType = ()>,
{
    let remove = |object: &mut K| {
        if let Some(finalizers) = &mut object.meta_mut().finalizers {
            finalizers.retain(|name| name != finalizer);
        }
    };
    match update(client.into(), object, remove).await {
        Err(error) if error.is_not_found() => Ok(()),
        outcome => outcome.map(drop),
    }
}

async fn update<K>(client: RestClient, object: Arc<K>, change: impl FnMut(&mut K) + Send) -> Result<K>
where
    K: ApiObject + Resource<DynamicType = ()>,
{
    let (name, namespace) = (object.meta().name.clone(), object.meta().namespace.clone());
    let client = TypedClient::<K>::at(client, namespace.as_deref());
    client.update_with(&name.unwrap_or_default(), change).from(object).await
}
