//! Waiting until the cache has seen one's own write.

use std::time::Duration;

use super::{Phase, SharedInformer};
use crate::{delta::Scope, object::CacheObject, resource_version};

/// Why the cache did not catch up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CatchUpError {
    /// The resource version cannot be put in order: nobody can say when the cache has reached it.
    #[error("`{0}` is not a resource version that a cache can catch up to")]
    Malformed(String),
    /// The informer does not follow the namespace of the object.
    #[error("the informer does not follow namespace `{0}`")]
    NotFollowed(String),
    /// The time was over.
    #[error(
        "the cache did not reach resource version {wanted} in time: it is at {}",
        .reached.as_deref().unwrap_or("the very beginning")
    )]
    Deadline {
        /// What was waited for.
        wanted: String,
        /// How far the cache came.
        reached: Option<String>,
    },
    /// The informer was stopped.
    #[error("the informer was stopped before the cache reached resource version {wanted}")]
    Stopped {
        /// What was waited for.
        wanted: String,
    },
}

impl<K: CacheObject> SharedInformer<K> {
    /// Waits until the cache has seen this state of an object, or a later one, or its end.
    ///
    /// Give it what a create, an update or a patch returned, and the next read of the cache sees
    /// one's own write. An informer with a selector learns of a write that does not match it from
    /// the next change or bookmark only.
    pub async fn caught_up_to(&self, written: &K, deadline: Duration) -> Result<(), CatchUpError> {
        let scope = self.inner.core.lock().progress.scope_of(written.namespace());
        match &scope {
            Scope::Namespace(namespace) if !self.config().scopes.contains(&scope) => {
                Err(CatchUpError::NotFollowed(namespace.to_string()))
            }
            _ => self.reach(&[scope], written.resource_version(), deadline).await,
        }
    }

    /// Waits until the cache has reached this resource version of its resource.
    pub async fn caught_up_to_version(&self, version: &str, deadline: Duration) -> Result<(), CatchUpError> {
        self.reach(&self.config().scopes, version, deadline).await
    }

    async fn reach(&self, scopes: &[Scope], wanted: &str, deadline: Duration) -> Result<(), CatchUpError> {
        if !resource_version::is_ordered(wanted) {
            return Err(CatchUpError::Malformed(wanted.to_owned()));
        }
        let mut moved = self.inner.moved.subscribe();
        let has_reached = || {
            scopes.iter().all(|scope| {
                let reached = self.inner.store.scope_version(scope);
                reached.is_some_and(|reached| resource_version::has_reached(&reached, wanted))
            })
        };
        let waited = tokio::time::timeout(deadline, async {
            loop {
                if has_reached() {
                    return Ok(());
                }
                if self.inner.core.lock().phase == Phase::Ended || moved.changed().await.is_err() {
                    return Err(CatchUpError::Stopped { wanted: wanted.to_owned() });
                }
            }
        });
        waited.await.unwrap_or_else(|_| {
            Err(CatchUpError::Deadline { wanted: wanted.to_owned(), reached: self.resource_version() })
        })
    }
}
