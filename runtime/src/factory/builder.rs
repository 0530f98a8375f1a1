//! How a factory is configured.

use std::{
    any::{Any, TypeId, type_name},
    collections::HashMap,
    fmt::Display,
    marker::PhantomData,
    sync::Arc,
    time::Duration,
};

use super::{FactoryError, InformerFactory};
use crate::{
    delta::Scope,
    error::Error,
    informer::{InformerConfig, checked_resync},
    meta::GroupResource,
    object::Watched,
    reflector::{ErrorHook, ListOptions, ReflectorConfig, Transform},
    selector::{Selector, is_dns_label},
};

/// Builds an [`InformerFactory`], or a generated factory around one.
///
/// Bad values (a namespace that is no DNS label, a resync period under a second, a label selector
/// that does not parse) are typed errors of [`try_build`](Self::try_build). [`build`](Self::build)
/// returns the factory in any case, for a chain without `?`: a factory with a bad value starts nothing,
/// logs why, and returns the same error from
/// [`wait_for_cache_sync`](InformerFactory::wait_for_cache_sync) at once.
pub struct InformerFactoryBuilder<F = InformerFactory> {
    client: kube::Client,
    settings: Settings,
    factory: PhantomData<fn() -> F>,
}

/// A change of the list options for one type.
type Tweak = Arc<dyn Fn(&mut ListOptions) + Send + Sync>;

/// What the informers of a factory have in common, and what is special to a type.
#[derive(Clone, Default)]
pub(super) struct Settings {
    resync: Duration,
    resync_for: HashMap<TypeId, (&'static str, Duration)>,
    namespaces: Vec<String>,
    name: Option<Arc<str>>,
    options: ListOptions,
    options_for: HashMap<TypeId, Tweak>,
    keep_managed_fields: bool,
    /// Each is a [`Transform`] of the type that is its key.
    transforms: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
    on_error: Option<ErrorHook>,
}

impl<F: From<InformerFactory>> InformerFactoryBuilder<F> {
    /// Begins with a client and nothing special: every namespace, no resync.
    pub fn new(client: impl Into<kube::Client>) -> Self {
        Self { client: client.into(), settings: Settings::default(), factory: PhantomData }
    }

    /// Names the factory. The name is a label of its informers' metrics, which tells them from those of
    /// other factories in the same program.
    #[must_use]
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.settings.name = Some(name.into());
        self
    }

    /// Calls the handlers of every informer with every object again after each period. It is at least a
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

    /// Changes how every informer lists and watches: selectors, page size, backoff, timeouts.
    #[must_use]
    pub fn tweak_list_options(mut self, tweak: impl FnOnce(&mut ListOptions)) -> Self {
        tweak(&mut self.settings.options);
        self
    }

    /// Changes how the informer of one type lists and watches, after what
    /// [`tweak_list_options`](Self::tweak_list_options) changed for all.
    #[must_use]
    pub fn tweak_list_options_for<K: Watched>(
        mut self,
        tweak: impl Fn(&mut ListOptions) + Send + Sync + 'static,
    ) -> Self {
        self.settings.options_for.insert(TypeId::of::<K>(), Arc::new(tweak));
        self
    }

    /// Changes each object of one type once, before it is cached, typically to drop what is never read.
    /// It must leave name, namespace, uid and resource version as they are.
    #[must_use]
    pub fn transform<K: Watched>(self, transform: impl Fn(&mut K) + Send + Sync + 'static) -> Self {
        self.set_transform(Transform::new(transform))
    }

    /// The same with a transform that can fail. An object for which it fails counts as one that does
    /// not decode: it keeps its last good state, and is in [`SharedInformer::invalid`].
    ///
    /// [`SharedInformer::invalid`]: crate::SharedInformer::invalid
    #[must_use]
    pub fn try_transform<K: Watched, E: Display>(
        self,
        transform: impl Fn(&mut K) -> Result<(), E> + Send + Sync + 'static,
    ) -> Self {
        self.set_transform(Transform::fallible(transform))
    }

    fn set_transform<K: Watched>(mut self, transform: Transform<K>) -> Self {
        self.settings.transforms.insert(TypeId::of::<K>(), Arc::new(transform));
        self
    }

    /// Keeps `metadata.managedFields`, which are skipped while decoding otherwise.
    #[must_use]
    pub fn keep_managed_fields(mut self, keep: bool) -> Self {
        self.settings.keep_managed_fields = keep;
        self
    }

    /// Calls this with the error of each failed attempt to list or to watch; the log has each change of
    /// state once.
    #[must_use]
    pub fn on_error(mut self, hook: impl Fn(&Error) + Send + Sync + 'static) -> Self {
        self.settings.on_error = Some(Arc::new(hook));
        self
    }

    /// The factory. [`wait_for_cache_sync`](InformerFactory::wait_for_cache_sync) returns what is wrong
    /// with a bad value.
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
        let tweaked = self.options_for.values().map(|tweak| self.tweaked(Some(tweak)));
        for options in tweaked.chain([self.options.clone()]) {
            if let Some(selector) = &options.label_selector {
                Selector::parse(selector).map_err(FactoryError::Selector)?;
            }
        }
        Ok(())
    }

    /// The resync period of a type. Bad ones were found before.
    fn resync<K: Watched>(&self) -> Option<Duration> {
        let own = self.resync_for.get(&TypeId::of::<K>()).map(|(_, period)| *period);
        checked_resync(own.unwrap_or(self.resync)).unwrap_or_default()
    }

    /// The parts of a kind that are followed. A cluster-scoped kind has no parts.
    fn scopes<K: Watched>(&self) -> Vec<Scope> {
        if self.namespaces.is_empty() || !K::is_namespaced() {
            return vec![Scope::All];
        }
        let mut scopes: Vec<_> =
            self.namespaces.iter().map(|namespace| Scope::Namespace(namespace.as_str().into())).collect();
        let mut seen = std::collections::HashSet::new();
        scopes.retain(|scope| seen.insert(scope.clone()));
        scopes
    }

    /// What an informer of a type follows.
    pub(super) fn informer<K: Watched>(&self) -> InformerConfig {
        let mut config = InformerConfig::new(resource_name::<K>()).scopes(self.scopes::<K>());
        config.resync = self.resync::<K>();
        config.metadata_only = K::is_metadata_only();
        config.name = self.name.clone();
        config
    }

    /// How one scope of a type is listed and watched.
    pub(super) fn reflector<K: Watched>(&self, scope: Scope) -> ReflectorConfig<K> {
        let transform = self.transforms.get(&TypeId::of::<K>());
        let mut config =
            ReflectorConfig::new(scope).list(self.tweaked(self.options_for.get(&TypeId::of::<K>())));
        config.metadata_only = K::is_metadata_only();
        config.keep_managed_fields = self.keep_managed_fields;
        config.transform = transform.and_then(|any| any.downcast_ref::<Transform<K>>()).cloned();
        config.on_error = self.on_error.clone();
        config.name = self.name.clone();
        config
    }

    fn tweaked(&self, tweak: Option<&Tweak>) -> ListOptions {
        let mut options = self.options.clone();
        if let Some(tweak) = tweak {
            tweak(&mut options);
        }
        options
    }
}

/// Such as `networks.samplecrd.k8s.io`, or `pods` in the core group.
pub(super) fn resource_name<K: Watched>() -> String {
    let resource = K::api_resource();
    GroupResource::new(resource.group, resource.plural).to_string()
}
