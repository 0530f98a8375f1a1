//! The configuration of a factory.

use std::{
    any::{Any, TypeId, type_name},
    collections::HashMap,
    fmt::Display,
    marker::PhantomData,
    sync::Arc,
    time::Duration,
};

use super::{FactoryError, InformerFactory, member::Followed};
use crate::{
    delta::Scope,
    dynamic,
    error::Error,
    informer::{InformerConfig, checked_resync},
    object::Decodable,
    reflector::{ErrorHook, ListOptions, ReflectorConfig, Transform},
    selector::{Selector, is_dns_label},
};

/// Builds an [`InformerFactory`], or a generated factory around one.
///
/// Invalid values (a namespace that is not a DNS label, a resync period under a second, a label selector
/// that does not parse) are typed errors of [`try_build`](Self::try_build). [`build`](Self::build)
/// returns a factory even then: it starts nothing, logs why, and every call that waits for its caches returns
/// the error at once.
pub struct InformerFactoryBuilder<F = InformerFactory> {
    client: kube::Client,
    settings: Settings,
    factory: PhantomData<fn() -> F>,
}

/// Changes the list options of one type.
type Tweak = Arc<dyn Fn(&mut ListOptions) + Send + Sync>;

/// The settings of all informers of a factory, and of single types.
#[derive(Clone, Default)]
pub(super) struct Settings {
    resync: Duration,
    resync_for: HashMap<TypeId, (&'static str, Duration)>,
    namespaces: Vec<String>,
    name: Option<Arc<str>>,
    options: ListOptions,
    options_for: HashMap<TypeId, Tweak>,
    keep_managed_fields: bool,
    /// A [`Transform`] of each type.
    transforms: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
    on_error: Option<ErrorHook>,
}

impl<F: From<InformerFactory>> InformerFactoryBuilder<F> {
    /// Creates a builder with the default settings: all namespaces, no resync.
    pub fn new(client: impl Into<kube::Client>) -> Self {
        Self { client: client.into(), settings: Settings::default(), factory: PhantomData }
    }

    /// Names the factory. The name is a label of the metrics of its informers, and distinguishes them
    /// from those of other factories in the same program.
    #[must_use]
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.settings.name = Some(name.into());
        self
    }

    /// Sets the resync period, after which the handlers of every informer are called with every object
    /// again. It is at least one second; zero, the default, means never.
    ///
    /// The handlers of [`enqueue`](crate::enqueue) ignore resyncs. A reconciliation that must run again after
    /// some time returns [`Action::requeue`](crate::Action::requeue) instead.
    #[must_use]
    pub fn resync(mut self, period: Duration) -> Self {
        self.settings.resync = period;
        self
    }

    /// Sets the resync period of one type.
    ///
    /// Settings of a type that is used for several kinds, such as `DynamicObject`, apply to all of them.
    #[must_use]
    pub fn resync_for<K: Decodable>(mut self, period: Duration) -> Self {
        self.settings.resync_for.insert(TypeId::of::<K>(), (type_name::<K>(), period));
        self
    }

    /// Restricts the informers to a namespace. Call it again to add another. Each namespace has its own
    /// watch.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.settings.namespaces.push(namespace.into());
        self
    }

    /// Restricts the informers to these namespaces. An empty list means all.
    #[must_use]
    pub fn namespaces(mut self, namespaces: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.settings.namespaces.extend(namespaces.into_iter().map(Into::into));
        self
    }

    /// Changes the list options of every informer: selectors, page size, backoff, timeouts.
    #[must_use]
    pub fn tweak_list_options(mut self, tweak: impl FnOnce(&mut ListOptions)) -> Self {
        tweak(&mut self.settings.options);
        self
    }

    /// Changes the list options of one type, on top of the changes that
    /// [`tweak_list_options`](Self::tweak_list_options) makes for all types.
    #[must_use]
    pub fn tweak_list_options_for<K: Decodable>(
        mut self,
        tweak: impl Fn(&mut ListOptions) + Send + Sync + 'static,
    ) -> Self {
        self.settings.options_for.insert(TypeId::of::<K>(), Arc::new(tweak));
        self
    }

    /// Sets a function that changes each object of one type before it is cached, typically to drop fields
    /// that are never read. It must not change the name, namespace, uid and resource version. It must not
    /// block: small batches are decoded and transformed on the runtime's async threads.
    #[must_use]
    pub fn transform<K: Decodable>(self, transform: impl Fn(&mut K) + Send + Sync + 'static) -> Self {
        self.set_transform(Transform::new(transform))
    }

    /// Sets a transform that can fail. An object for which it fails is treated like an object that does not
    /// decode: it keeps its last good state and is listed in [`SharedInformer::invalid`].
    ///
    /// [`SharedInformer::invalid`]: crate::SharedInformer::invalid
    #[must_use]
    pub fn try_transform<K: Decodable, E: Display>(
        self,
        transform: impl Fn(&mut K) -> Result<(), E> + Send + Sync + 'static,
    ) -> Self {
        self.set_transform(Transform::fallible(transform))
    }

    fn set_transform<K: Decodable>(mut self, transform: Transform<K>) -> Self {
        self.settings.transforms.insert(TypeId::of::<K>(), Arc::new(transform));
        self
    }

    /// Sets whether to keep `metadata.managedFields`, which are skipped while decoding by default.
    #[must_use]
    pub fn keep_managed_fields(mut self, keep: bool) -> Self {
        self.settings.keep_managed_fields = keep;
        self
    }

    /// Sets a function that is called with the error of every failed attempt to list or watch. The log shows
    /// only changes of state.
    #[must_use]
    pub fn on_error(mut self, hook: impl Fn(&Error) + Send + Sync + 'static) -> Self {
        self.settings.on_error = Some(Arc::new(hook));
        self
    }

    /// Builds the factory. Calls that wait for its caches return an error if a value is invalid.
    pub fn build(self) -> F {
        let fault = self.settings.check().err();
        F::from(InformerFactory::new(self.client, self.settings, fault))
    }

    /// Builds the factory, or returns an error if a value is invalid.
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

    /// The resync period of a type. Invalid ones were reported by `check`.
    fn resync<K: Decodable>(&self) -> Option<Duration> {
        let own = self.resync_for.get(&TypeId::of::<K>()).map(|(_, period)| *period);
        checked_resync(own.unwrap_or(self.resync)).unwrap_or_default()
    }

    /// The scopes of a kind that are watched. A cluster-scoped kind has only one.
    fn scopes(&self, followed: &Followed) -> Vec<Scope> {
        if self.namespaces.is_empty() || !followed.kind.is_namespaced() {
            return vec![Scope::All];
        }
        let mut scopes: Vec<_> =
            self.namespaces.iter().map(|namespace| Scope::Namespace(namespace.as_str().into())).collect();
        let mut seen = std::collections::HashSet::new();
        scopes.retain(|scope| seen.insert(scope.clone()));
        scopes
    }

    /// The configuration of the informer of a type.
    pub(super) fn informer<K: Decodable>(&self, followed: &Followed) -> InformerConfig {
        let name = followed.kind.group_resource().to_string();
        let mut config = InformerConfig::new(name).scopes(self.scopes(followed));
        config.kind = followed.is_dynamic.then(|| followed.kind.clone());
        config.resync = self.resync::<K>();
        config.metadata_only = followed.metadata_only;
        config.name = self.name.clone();
        config
    }

    /// The configuration of the reflector of one scope of a type.
    pub(super) fn reflector<K: Decodable>(&self, followed: &Followed, scope: Scope) -> ReflectorConfig<K> {
        let transform = self.transforms.get(&TypeId::of::<K>());
        let mut config =
            ReflectorConfig::new(scope).list(self.tweaked(self.options_for.get(&TypeId::of::<K>())));
        config.metadata_only = followed.metadata_only;
        config.is_dynamic = followed.is_dynamic;
        config.keep_managed_fields = self.keep_managed_fields;
        config.transform = transform.and_then(|any| any.downcast_ref::<Transform<K>>()).cloned();
        if let Some(complete) = dynamic::completion::<K>(&followed.kind) {
            let transform = config.transform.unwrap_or_else(|| Transform::new(|_| {}));
            config.transform = Some(transform.after(complete));
        }
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
