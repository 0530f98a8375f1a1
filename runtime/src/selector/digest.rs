//! What a selector can be told of an object's labels without a look at the object.

use std::{hash::BuildHasher, sync::LazyLock};

use hashbrown::DefaultHashBuilder;

use super::{Condition, Selector};

/// An object's labels in eight bytes: which it has cannot be read from them, but nearly always which
/// it has not.
///
/// Each label sets two of the bits, by its key and value. The store keeps the digest beside the object,
/// and a selector with `key=value` or `key in (…)` looks only at objects that have those bits: of
/// objects with three labels each, at one in a hundred that it does not match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelDigest(u64);

static HASHER: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);

impl LabelDigest {
    /// For an object whose labels are not known: every selector looks at it.
    pub const UNKNOWN: Self = Self(u64::MAX);

    /// The digest of these labels.
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

    fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The part of a selector that digests can answer.
pub(crate) struct Sieve {
    /// Of each of these, an object must have at least one.
    wanted: Vec<Vec<LabelDigest>>,
}

impl Sieve {
    pub(crate) fn new(selector: &Selector) -> Self {
        let requirements = selector.requirements.iter().flatten();
        let wanted = requirements.filter_map(|requirement| {
            let digest = |value: &String| LabelDigest::of([(requirement.key.as_str(), value.as_str())]);
            match &requirement.condition {
                Condition::Equals(value) | Condition::DoubleEquals(value) => Some(vec![digest(value)]),
                Condition::In(values) => Some(values.iter().map(digest).collect()),
                _ => None,
            }
        });
        Self { wanted: wanted.collect() }
    }

    /// Whether the selector may match an object of this digest.
    pub(crate) fn passes(&self, digest: LabelDigest) -> bool {
        self.wanted.iter().all(|any| any.iter().any(|wanted| digest.contains(*wanted)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn digest(labels: &BTreeMap<String, String>) -> LabelDigest {
        LabelDigest::of(labels.iter().map(|(key, value)| (key.as_str(), value.as_str())))
    }

    proptest! {
        #[test]
        fn what_a_selector_matches_passes_its_sieve(
            labels in prop::collection::btree_map("[ab]", "[xyz]", 0..3),
            text in "([ab]=[xyz]|[ab]==[xyz]|[ab]!=[xyz]|[ab] in \\([xyz],[xyz]\\)|!?[ab])(,[ab]=[xyz])?",
        ) {
            let selector = Selector::parse(&text).unwrap();
            if selector.matches_labels(|key| labels.get(key).map(String::as_str)) {
                prop_assert!(Sieve::new(&selector).passes(digest(&labels)), "{text} {labels:?}");
            }
        }
    }

    #[test]
    fn most_others_do_not() {
        let digests: Vec<_> = (0..2_000)
            .map(|number| {
                let (app, team) = (format!("a{}", number % 1000), format!("t{}", number % 20));
                LabelDigest::of([("app", app.as_str()), ("team", &team), ("tier", "back")])
            })
            .collect();
        // Hashes are seeded at random, and a value can share its bits with a label that all objects have.
        // So one value says little, and a hundred of them say enough.
        let selective = (0..100).filter(|number| {
            let sieve = Sieve::new(&Selector::parse(&format!("app=a{number}")).unwrap());
            let passed = digests.iter().filter(|digest| sieve.passes(**digest)).count();
            assert!(passed >= 2, "the objects themselves pass");
            passed < digests.len() / 10
        });
        assert!(selective.count() >= 60);
        assert!(Sieve::new(&Selector::parse("app=a7").unwrap()).passes(LabelDigest::UNKNOWN));
    }
}
