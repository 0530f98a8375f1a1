//! Predicates that decide which updates of an object a controller reconciles.
//!
//! A predicate compares the old and the new state of an updated object. It is not asked about other events:
//!
//! - **An object that is added is always reconciled**, also by the first list after a start.
//! - **A deletion is always reconciled**: the event of a deleted object, and the update that sets
//!   `metadata.deletionTimestamp`.
//!
//! ```
//! use genclient_runtime::predicate::{self, Predicate};
//! use k8s_openapi::api::apps::v1::Deployment;
//!
//! // The spec or the labels changed. A changed status is not reconciled.
//! let changed: Predicate<Deployment> = predicate::generation().or(predicate::labels());
//! // Any comparison of the two states.
//! let scaled = Predicate::new(|old: &Deployment, new: &Deployment| {
//!     let replicas = |deployment: &Deployment| deployment.spec.replicas;
//!     replicas(old) != replicas(new)
//! });
//! ```

use std::{fmt, sync::Arc};

use kube::Resource;

use crate::finalizer;

/// Decides whether an update is reconciled; see [the module](self).
pub struct Predicate<K>(Arc<Compare<K>>);

type Compare<K> = dyn Fn(&K, &K) -> bool + Send + Sync;

impl<K: 'static> Predicate<K> {
    /// Creates a predicate from a function of the old and the new state.
    pub fn new(changed: impl Fn(&K, &K) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(changed))
    }

    /// Holds if this predicate or the other one holds.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self::new(move |old, new| self.holds(old, new) || other.holds(old, new))
    }

    /// Holds if both predicates hold.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self::new(move |old, new| self.holds(old, new) && other.holds(old, new))
    }

    /// Returns whether the predicate holds for an update.
    pub fn holds(&self, old: &K, new: &K) -> bool {
        (self.0)(old, new)
    }
}

impl<K: Resource + 'static> Predicate<K> {
    /// Holds also for the update that begins a deletion.
    pub(crate) fn or_begins_deletion(self) -> Self {
        self.or(Self::new(|old, new| finalizer::is_deleted(new) && !finalizer::is_deleted(old)))
    }
}

impl<K: 'static> std::ops::Not for Predicate<K> {
    type Output = Self;

    fn not(self) -> Self {
        Self::new(move |old, new| !self.holds(old, new))
    }
}

impl<K> Clone for Predicate<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> fmt::Debug for Predicate<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Predicate").finish_non_exhaustive()
    }
}

/// Holds if `metadata.generation` changed, which the server raises with each change of the spec.
///
/// Kinds without a generation, such as ConfigMap, have no such change: the predicate then holds for every
/// update.
pub fn generation<K: Resource + 'static>() -> Predicate<K> {
    Predicate::new(|old: &K, new: &K| {
        let generation = new.meta().generation;
        generation.is_none() || old.meta().generation != generation
    })
}

/// Holds if the labels changed.
pub fn labels<K: Resource + 'static>() -> Predicate<K> {
    Predicate::new(|old: &K, new: &K| {
        old.meta().labels.iter().flatten().ne(new.meta().labels.iter().flatten())
    })
}

/// Holds if the annotations changed.
pub fn annotations<K: Resource + 'static>() -> Predicate<K> {
    Predicate::new(|old: &K, new: &K| {
        old.meta().annotations.iter().flatten().ne(new.meta().annotations.iter().flatten())
    })
}

/// Holds if the finalizers changed.
pub fn finalizers<K: Resource + 'static>() -> Predicate<K> {
    Predicate::new(|old: &K, new: &K| {
        old.meta().finalizers.iter().flatten().ne(new.meta().finalizers.iter().flatten())
    })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::{api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::ObjectMeta};

    use super::*;

    fn object(change: impl FnOnce(&mut ObjectMeta)) -> ConfigMap {
        let mut object = ConfigMap::default();
        object.metadata.generation = Some(1);
        change(&mut object.metadata);
        object
    }

    #[test]
    fn each_predicate_looks_at_its_own_field() {
        let old = object(|_| {});
        let changes = [
            object(|meta| meta.generation = Some(2)),
            object(|meta| meta.labels = Some([("a".into(), "b".into())].into())),
            object(|meta| meta.annotations = Some([("a".into(), "b".into())].into())),
            object(|meta| meta.finalizers = Some(vec!["example.com/a".into()])),
        ];
        let predicates = [generation(), labels(), annotations(), finalizers()];
        for (field, predicate) in predicates.iter().enumerate() {
            for (changed, new) in changes.iter().enumerate() {
                assert_eq!(
                    predicate.holds(&old, new),
                    field == changed,
                    "predicate {field}, change {changed}"
                );
            }
            assert!(!predicate.holds(&old, &old));
        }
    }

    #[test]
    fn an_absent_map_equals_an_empty_one() {
        let empty = object(|meta| {
            meta.labels = Some([].into());
            meta.annotations = Some([].into());
            meta.finalizers = Some(vec![]);
        });
        for predicate in [labels(), annotations(), finalizers()] {
            assert!(!predicate.holds(&object(|_| {}), &empty));
        }
    }

    #[test]
    fn every_update_of_a_kind_without_a_generation_is_a_change() {
        let [old, new] = [(); 2].map(|()| object(|meta| meta.generation = None));
        assert!(generation().holds(&old, &new));
    }

    #[test]
    fn predicates_combine() {
        let (yes, no) = (Predicate::new(|_: &(), _: &()| true), Predicate::new(|_: &(), _: &()| false));
        assert!(yes.clone().or(no.clone()).holds(&(), &()));
        assert!(!yes.clone().and(no.clone()).holds(&(), &()));
        assert!(yes.and(!no).holds(&(), &()));
    }
}
