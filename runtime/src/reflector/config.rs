//! The configuration of a reflector.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use crate::{
    backoff::BackoffConfig,
    delta::Scope,
    error::Error,
    panics,
    wire::{Selectors, Timeouts},
};

/// A function that changes each object once, before it is cached.
///
/// It must not change the name, namespace, uid and resource version. If it fails or panics, the object is
/// treated like an object that does not decode. It must not block: small batches are transformed on async
/// threads, and the number of large batches transformed at once is limited to the number of processors.
pub struct Transform<K>(Arc<Change<K>>);

type Change<K> = dyn Fn(&mut K) -> Result<(), String> + Send + Sync;

impl<K> Transform<K> {
    /// Creates a transform that cannot fail.
    pub fn new(change: impl Fn(&mut K) + Send + Sync + 'static) -> Self {
        Self(Arc::new(move |object| {
            change(object);
            Ok(())
        }))
    }

    /// Creates a transform that can fail.
    pub fn fallible<E: fmt::Display>(
        change: impl Fn(&mut K) -> Result<(), E> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(move |object| change(object).map_err(|error| error.to_string())))
    }

    /// Returns a transform that makes another change first. That change cannot fail.
    pub(crate) fn after(self, first: impl Fn(&mut K) + Send + Sync + 'static) -> Self
    where
        K: 'static,
    {
        let Self(then) = self;
        Self(Arc::new(move |object| {
            first(object);
            then(object)
        }))
    }

    /// Changes an object, or returns what went wrong.
    pub(super) fn apply(&self, object: &mut K) -> Result<(), String> {
        match catch_unwind(AssertUnwindSafe(|| (self.0)(object))) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(format!("the transform failed: {error}")),
            Err(panic) => Err(format!("the transform panicked: {}", panics::message(&*panic))),
        }
    }
}

impl<K> Clone for Transform<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> fmt::Debug for Transform<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Transform")
    }
}

/// Called with the error of each failed attempt to list or to watch.
pub type ErrorHook = Arc<dyn Fn(&Error) + Send + Sync>;

/// How a collection is listed and watched.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ListOptions {
    /// A label selector, such as `env in (dev,test),!legacy`.
    pub label_selector: Option<String>,
    /// A field selector, such as `metadata.name=example`.
    pub field_selector: Option<String>,
    /// Requests the list as a stream (`sendInitialEvents`), and falls back to pages if the server does not
    /// support it. If false, the list is always read in pages.
    pub streaming_lists: bool,
    /// The maximum number of objects in a page of a list.
    pub page_size: u32,
    /// The pauses between failed attempts.
    pub backoff: BackoffConfig,
    /// How long to wait for the server.
    pub timeouts: Timeouts,
}

impl Default for ListOptions {
    fn default() -> Self {
        Self {
            label_selector: None,
            field_selector: None,
            streaming_lists: true,
            page_size: 500,
            backoff: BackoffConfig::default(),
            timeouts: Timeouts::default(),
        }
    }
}

impl ListOptions {
    pub(super) fn selectors(&self) -> Selectors {
        Selectors { labels: self.label_selector.clone(), fields: self.field_selector.clone() }
    }
}

/// The configuration of a reflector. `ReflectorConfig::default()` covers a whole kind.
#[non_exhaustive]
pub struct ReflectorConfig<K> {
    /// All namespaces, or one.
    pub scope: Scope,
    /// How the collection is listed and watched.
    pub list: ListOptions,
    /// Requests only the metadata of the objects. The type `K` must decode from it, as kube's
    /// `PartialObjectMeta<K>` does.
    pub metadata_only: bool,
    /// Keeps `metadata.managedFields`. By default they are skipped while decoding, because they are often the
    /// larger half of an object and few programs read them.
    pub keep_managed_fields: bool,
    /// A function that changes each object once, before it is cached.
    pub transform: Option<Transform<K>>,
    /// Called with the error of each failed attempt. The log contains each change of state once.
    pub on_error: Option<ErrorHook>,
    /// A name that distinguishes the metrics of this reflector from those of others of the same resource.
    pub name: Option<Arc<str>>,
    /// Whether the kind is not known at compile time. It is a label of the metrics.
    pub(crate) is_dynamic: bool,
}

impl<K> ReflectorConfig<K> {
    /// Creates the default configuration for a scope.
    pub fn new(scope: Scope) -> Self {
        Self { scope, ..Self::default() }
    }

    /// Sets the list options.
    #[must_use]
    pub fn list(mut self, list: ListOptions) -> Self {
        self.list = list;
        self
    }
}

impl<K> Default for ReflectorConfig<K> {
    fn default() -> Self {
        Self {
            scope: Scope::All,
            list: ListOptions::default(),
            metadata_only: false,
            keep_managed_fields: false,
            transform: None,
            on_error: None,
            name: None,
            is_dynamic: false,
        }
    }
}

// Derived impls would require `K: Clone` and `K: Debug`.
impl<K> Clone for ReflectorConfig<K> {
    fn clone(&self) -> Self {
        Self {
            scope: self.scope.clone(),
            list: self.list.clone(),
            metadata_only: self.metadata_only,
            keep_managed_fields: self.keep_managed_fields,
            transform: self.transform.clone(),
            on_error: self.on_error.clone(),
            name: self.name.clone(),
            is_dynamic: self.is_dynamic,
        }
    }
}

impl<K> fmt::Debug for ReflectorConfig<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReflectorConfig")
            .field("scope", &self.scope)
            .field("list", &self.list)
            .field("metadata_only", &self.metadata_only)
            .field("keep_managed_fields", &self.keep_managed_fields)
            .field("transform", &self.transform.is_some())
            .field("on_error", &self.on_error.is_some())
            .field("name", &self.name)
            .finish()
    }
}
