//! Labels in eight bytes. Objects have digests, and selectors read them.

use std::{
    hash::BuildHasher,
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

use hashbrown::DefaultHashBuilder;

/// A Bloom filter of an object's labels in eight bytes.
///
/// Each label sets two bits, by its key and value. The store keeps the digest beside the object, and a
/// selector with `key=value` or `key in (…)` reads only the objects whose digest has the bits of such a
/// label. Of objects with three labels each, about one in a hundred is read without being a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelDigest(u64);

static HASHER: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);

impl LabelDigest {
    /// The digest of an object whose labels are not known. Every selector reads such an object.
    pub const UNKNOWN: Self = Self(u64::MAX);

    /// Computes the digest of labels. Their order does not matter.
    ///
    /// ```
    /// # use genclient_runtime::selector::LabelDigest;
    /// let labels = [("app", "web"), ("tier", "front")];
    /// assert_eq!(LabelDigest::of(labels), LabelDigest::of([labels[1], labels[0]]));
    /// ```
    pub fn of<'l>(labels: impl IntoIterator<Item = (&'l str, &'l str)>) -> Self {
        labels.into_iter().fold(Self(0), |digest, (key, value)| {
            let hash = HASHER.hash_one((key, value));
            Self(digest.0 | 1 << (hash & 63) | 1 << (hash >> 6 & 63))
        })
    }

    /// Returns whether this digest has all bits of the other.
    pub(crate) fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// A digest that is computed when it is needed.
///
/// Most caches are never asked for objects by their labels, and computing the digests of a whole list takes a
/// third of the time in which the cache is filled.
pub(crate) struct LazyDigest(AtomicU64);

impl From<LabelDigest> for LazyDigest {
    fn from(digest: LabelDigest) -> Self {
        Self(AtomicU64::new(digest.0))
    }
}

impl Default for LazyDigest {
    fn default() -> Self {
        LabelDigest::UNKNOWN.into()
    }
}

impl Clone for LazyDigest {
    fn clone(&self) -> Self {
        Self(AtomicU64::new(self.0.load(Ordering::Relaxed)))
    }
}

impl LazyDigest {
    /// Returns the digest. Readers that need it at the same time may all compute it, with the same result.
    pub(crate) fn get(&self, compute: impl FnOnce() -> LabelDigest) -> LabelDigest {
        match LabelDigest(self.0.load(Ordering::Relaxed)) {
            LabelDigest::UNKNOWN => {
                let digest = compute();
                self.0.store(digest.0, Ordering::Relaxed);
                digest
            }
            digest => digest,
        }
    }
}
