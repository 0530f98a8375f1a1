//! Waits until the cache has seen a write.

use std::time::Duration;

use super::SharedInformer;
use crate::{
    delta::Scope,
    object::{CacheObject, ObjectKey},
    resource_version::{has_reached, is_older, is_ordered},
};

/// Why the cache did not catch up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CatchUpError {
    /// The resource version cannot be ordered, so it is unknown when the cache reaches it.
    #[error("`{0}` is not a resource version that a cache can catch up to")]
    Malformed(String),
    /// The informer does not watch the namespace of the object.
    #[error("the informer does not follow namespace `{0}`")]
    NotFollowed(String),
    /// The deadline passed.
    #[error(
        "the cache did not reach resource version {wanted} in time: it is at {}",
        .reached.as_deref().unwrap_or("no version yet")
    )]
    Deadline {
        /// The awaited resource version.
        wanted: String,
        /// The resource version of the cache.
        reached: Option<String>,
    },
    /// The informer ended.
    #[error("the informer ended before the cache reached resource version {wanted}")]
    Stopped {
        /// The awaited resource version.
        wanted: String,
    },
    /// The cache has reached the resource version, but the object does not decode and keeps its last good
    /// state.
    #[error("the written object does not decode: {error}")]
    Invalid {
        /// What is wrong with the object.
        error: String,
    },
}

impl<K: CacheObject> SharedInformer<K> {
    /// Waits until the cache has this state of an object, a later one, or has seen its deletion.
    ///
    /// Pass the object that a create, update or patch returned; the next read of the cache then sees that
    /// write. If the informer has a selector that the object does not match, this waits for the next
    /// change or bookmark.
    pub async fn caught_up_to(&self, written: &K, deadline: Duration) -> Result<(), CatchUpError> {
        let scopes = &self.config().scopes;
        let scope = match written.namespace() {
            Some(namespace) if !scopes.contains(&Scope::All) => {
                let Some(scope) = scopes.iter().find(|scope| scope.is_namespace(namespace)) else {
                    return Err(CatchUpError::NotFollowed(namespace.to_owned()));
                };
                scope
            }
            _ => &Scope::All,
        };
        self.reach(std::slice::from_ref(scope), written.resource_version(), deadline).await?;
        let key = ObjectKey::of(written);
        match self.store.invalid().iter().find(|invalid| invalid.key == key) {
            Some(invalid) if !is_older(&invalid.resource_version, written.resource_version()) => {
                Err(CatchUpError::Invalid { error: invalid.error.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Waits until the cache has reached a resource version.
    pub async fn caught_up_to_version(&self, version: &str, deadline: Duration) -> Result<(), CatchUpError> {
        self.reach(&self.config().scopes, version, deadline).await
    }

    async fn reach(&self, scopes: &[Scope], wanted: &str, deadline: Duration) -> Result<(), CatchUpError> {
        if !is_ordered(wanted) {
            return Err(CatchUpError::Malformed(wanted.to_owned()));
        }
        match self.moved_until(|| self.has_reached(scopes, wanted), deadline).await {
            Some(true) => Ok(()),
            Some(false) => Err(CatchUpError::Stopped { wanted: wanted.to_owned() }),
            None => {
                Err(CatchUpError::Deadline { wanted: wanted.to_owned(), reached: self.resource_version() })
            }
        }
    }

    /// Returns whether these parts of the cache have reached a resource version.
    pub(crate) fn has_reached(&self, scopes: &[Scope], wanted: &str) -> bool {
        scopes
            .iter()
            .all(|scope| self.store.scope_version(scope).is_some_and(|reached| has_reached(&reached, wanted)))
    }

    /// Waits until a condition holds, which is checked whenever the cache has changed or was confirmed. Returns
    /// `false` if the informer ends before, and `None` at the deadline.
    pub(crate) async fn moved_until(&self, holds: impl Fn() -> bool, deadline: Duration) -> Option<bool> {
        let mut moved = self.inner.moved.subscribe();
        let waited = tokio::time::timeout(deadline, async {
            loop {
                if holds() {
                    return true;
                }
                if self.is_stopped() || moved.changed().await.is_err() {
                    return false;
                }
            }
        });
        waited.await.ok()
    }
}
