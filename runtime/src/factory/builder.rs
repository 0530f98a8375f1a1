//! What a factory is told before it makes informers.

use std::{
    any::{Any, TypeId, type_name},
    collections::HashMap,
    marker::PhantomData,
    sync::Arc,
    time::Duration,
};

use super::{FactoryError, InformerFactory};
use crate::{
    delta::Scope,
    error::Error,
    informer::checked_resync,
    object::Watched,
    reflector::{ErrorHook, ReflectorConfig, Transform},
    selector::{Selector, is_dns_label},
    wire::Selectors,
};

/// How informers list and watch: what [`tweak_list_options`](InformerFactoryBuilder::tweak_list_options)
/// can change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InformerListOptions {
    /// Only objects whose labels match, in Kubernetes' grammar; the server evaluates it.
    pub label_selector: Option<String>,
    /// Only objects whose fields match, such as `metadata.name=example`; the server evaluates it.
    pub field_selector: Option<String>,
    /// How many objects a page of a list has.
    pub page_size: u32,
    /// Whether the first state is asked for as a stream where the server offers that.
    pub streaming_lists: bool,
}

impl Default for InformerListOptions {
    fn default() -> Self {
        Self { label_selector: None, field_selector: None, page_size: 500, streaming_lists: true }
    }
}

/// Builds an [`InformerFactory`], or a generated factory around one.
///
/// Bad values (a namespace that is no DNS label, a resync period under a second, a label selector
/// that does not parse) are typed errors of [`try_build`](Self::try_build). [`build`](Self::build)
/// gives the factory in any case, for a chain without `?`: a factory with a bad value starts
/// nothing, logs why, and gives the same error from
/// [`wait_for_cache_sync`](InformerFactory::wait_for_cache_sync) at once.
pub struct InformerFactoryBuilder<F = InformerFactory> {
    client: kube::Client,
    settings: Settings,
    factory: PhantomData<fn() -> F>,
}

/// What the informers of a factory have in common, and what is special to a type.
#[derive(Clone, Default)]
pub(super) struct Settings {
    resync: Duration,
    resync_for: HashMap<TypeId, (&'static str, Duration)>,
    namespaces: Vec<String>,
    options: InformerListOptions,
    keep_managed_fields: bool,
    /// Each is a [`Transform`] of the type that it is filed under.
    transforms: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
    on_error: Option<ErrorHook>,
}

impl<F: From<InformerFactory>> InformerFactoryBuilder<F> {
    /// Begins with a client and nothing special: every namespace, no resync.
    pub fn new(client: impl Into<kube::Client>) -> Self {
        Self { client: client.into(), settings: Settings::default(), factory: PhantomData }
    }

    /// Tells the handlers of every informer of every object again after each such time. At least a
    /// second; zero, which is the default, means never.
    #[must_use]
    pub fn resync(mut self, period: Duration) -> Self {
        self.settings.resync = period;
        self
    }

    /// Another resync period for one type.
    #[must_use]
    pub fn resync_for<K: Watched>(mut self, period: Duration) -> Self {
        self.settings.resync_for.insert(TypeId::of::<K>(), (type_name::<K>(), period));
        self
    }

    /// Follows this namespace instead of all; called again, one more. Each has a watch of its own.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.settings.namespaces.push(namespace.into());
        self
    }

    /// Changes how every informer lists and watches, such as by a selector.
    #[must_use]
    pub fn tweak_list_options(mut self, tweak: impl FnOnce(&mut InformerListOptions)) -> Self {
        tweak(&mut self.settings.options);
        self
    }

    /// Changes each object of one type once, before it is cached: typically to drop what nobody
    /// reads. It must leave name, namespace, uid and resource version as they are.
    #[must_use]
    pub fn transform<K: Watched>(mut self, transform: impl Fn(&mut K) + Send + Sync + 'static) -> Self {
        let transform: Transform<K> = Arc::new(transform);
        self.settings.transforms.insert(TypeId::of::<K>(), Arc::new(transform));
        self
    }

    /// Keeps `metadata.managedFields`, which are skipped while decoding otherwise.
    #[must_use]
    pub fn keep_managed_fields(mut self, keep: bool) -> Self {
        self.settings.keep_managed_fields = keep;
        self
    }

    /// Is told of each failed attempt to list or to watch; the log has each change of state once.
    #[must_use]
    pub fn on_error(mut self, hook: impl Fn(&Error) + Send + Sync + 'static) -> Self {
        self.settings.on_error = Some(Arc::new(hook));
        self
    }

    /// The factory; a bad value is told by [`wait_for_cache_sync`](InformerFactory::wait_for_cache_sync).
    pub fn build(self) -> F {
        let fault = self.settings.check().err();
        F::from(InformerFactory::new(self.client, self.settings, fault))
    }

    /// The factory, or what is wrong with the values.
    pub fn try_build(self) -> Result<F, FactoryError> {
        self.settings.check()?;
        Ok(F::from(InformerFactory::new(self.client, self.settings, None)))
    }
}

impl Settings {
    fn check(&self) -> Result<(), FactoryError> {
        if let Some(bad) = self.namespaces.iter().find(|namespace| !is_dns_label(namespace)) {
            return Err(FactoryError::Namespace(bad.clone()));
        }
        if let Err(error) = checked_resync(self.resync) {
            return Err(FactoryError::Resync { of: None, error });
        }
        for (name, period) in self.resync_for.values() {
            if let Err(error) = checked_resync(*period) {
                return Err(FactoryError::Resync { of: Some(name), error });
            }
        }
        if let Some(selector) = &self.options.label_selector {
            Selector::parse(selector).map_err(FactoryError::Selector)?;
        }
        Ok(())
    }

    /// The resync period of a type. Bad ones were found before.
    pub(super) fn resync<K: Watched>(&self) -> Option<Duration> {
        let own = self.resync_for.get(&TypeId::of::<K>()).map(|(_, period)| *period);
        checked_resync(own.unwrap_or(self.resync)).unwrap_or_default()
    }

    /// The parts of a kind that are followed. A cluster-scoped kind has no parts.
    pub(super) fn scopes<K: Watched>(&self) -> Vec<Scope> {
        if self.namespaces.is_empty() || !K::is_namespaced() {
            return vec![Scope::All];
        }
        let mut scopes: Vec<_> =
            self.namespaces.iter().map(|namespace| Scope::Namespace(namespace.as_str().into())).collect();
        let mut seen = std::collections::HashSet::new();
        scopes.retain(|scope| seen.insert(scope.clone()));
        scopes
    }

    /// How one scope of a type is listed and watched.
    pub(super) fn reflector<K: Watched>(&self, scope: Scope) -> ReflectorConfig<K> {
        let transform = self.transforms.get(&TypeId::of::<K>());
        ReflectorConfig {
            scope,
            selectors: Selectors {
                labels: self.options.label_selector.clone(),
                fields: self.options.field_selector.clone(),
            },
            metadata_only: K::is_metadata_only(),
            keep_managed_fields: self.keep_managed_fields,
            transform: transform.and_then(|any| any.downcast_ref::<Transform<K>>()).cloned(),
            on_error: self.on_error.clone(),
            streaming_lists: self.options.streaming_lists,
            page_size: self.options.page_size,
            ..ReflectorConfig::default()
        }
    }
}
