//! What a reflector lists and watches, and how.

use std::{fmt, sync::Arc};

use crate::{backoff::BackoffConfig, delta::Scope, error::Error, wire::Selectors};

/// A change made to each object once, before it is cached.
pub type Transform<K> = Arc<dyn Fn(&mut K) + Send + Sync>;

/// Told of each failed attempt.
pub type ErrorHook = Arc<dyn Fn(&Error) + Send + Sync>;

/// How a reflector works. `ReflectorConfig::default()` follows a whole kind.
pub struct ReflectorConfig<K> {
    /// All namespaces, or one.
    pub scope: Scope,
    /// Which objects are followed.
    pub selectors: Selectors,
    /// Asks the server for the objects' metadata only. The kind must decode from that:
    /// kube's `PartialObjectMeta<K>` does.
    pub metadata_only: bool,
    /// Keeps `metadata.managedFields`, which are skipped while decoding otherwise: they are often
    /// the larger half of an object, and few read them.
    pub keep_managed_fields: bool,
    /// A change made to each object once, before it is cached.
    pub transform: Option<Transform<K>>,
    /// Told of each failed attempt. The log has each change of state once.
    pub on_error: Option<ErrorHook>,
    /// Asks for the first state as a stream (`sendInitialEvents`) and falls back to a paged list
    /// where the server does not offer that. Without it the list is always paged.
    pub streaming_lists: bool,
    /// How many objects a page of a list has.
    pub page_size: u32,
    /// The pauses between failed attempts.
    pub backoff: BackoffConfig,
}

impl<K> Default for ReflectorConfig<K> {
    fn default() -> Self {
        Self {
            scope: Scope::All,
            selectors: Selectors::default(),
            metadata_only: false,
            keep_managed_fields: false,
            transform: None,
            on_error: None,
            streaming_lists: true,
            page_size: 500,
            backoff: BackoffConfig::default(),
        }
    }
}

impl<K> Clone for ReflectorConfig<K> {
    fn clone(&self) -> Self {
        Self {
            scope: self.scope.clone(),
            selectors: self.selectors.clone(),
            metadata_only: self.metadata_only,
            keep_managed_fields: self.keep_managed_fields,
            transform: self.transform.clone(),
            on_error: self.on_error.clone(),
            streaming_lists: self.streaming_lists,
            page_size: self.page_size,
            backoff: self.backoff,
        }
    }
}

impl<K> fmt::Debug for ReflectorConfig<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReflectorConfig")
            .field("scope", &self.scope)
            .field("selectors", &self.selectors)
            .field("metadata_only", &self.metadata_only)
            .field("keep_managed_fields", &self.keep_managed_fields)
            .field("transform", &self.transform.is_some())
            .field("on_error", &self.on_error.is_some())
            .field("streaming_lists", &self.streaming_lists)
            .field("page_size", &self.page_size)
            .field("backoff", &self.backoff)
            .finish()
    }
}
