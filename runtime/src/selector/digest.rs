//! Digests of labels, which rule out most objects without reading them.

use std::{hash::BuildHasher, sync::LazyLock};

use hashbrown::DefaultHashBuilder;

use super::{Condition, Selector};

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

    fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The requirements of a selector that a digest can rule out.
pub(crate) struct Sieve {
    /// An object must have at least one label of each group.
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

    /// Returns whether the selector may match an object with this digest.
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
        fn a_digest_never_rules_out_a_match(
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
    fn most_objects_that_a_selector_does_not_match_are_ruled_out() {
        let digests: Vec<_> = (0..2_000)
            .map(|number| {
                let (app, team) = (format!("a{}", number % 1000), format!("t{}", number % 20));
                LabelDigest::of([("app", app.as_str()), ("team", &team), ("tier", "back")])
            })
            .collect();
        // Hashes are seeded at random, and a value can share its bits with a label that all objects have.
        // One value proves little, a hundred of them are enough.
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
