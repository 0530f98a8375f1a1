//! Digests of labels, which rule out most objects without reading them.

use super::{Condition, Selector};
use crate::label_digest::LabelDigest;

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

    use genclient_tally::Tally;
    use proptest::{prelude::*, test_runner::TestRunner};

    use super::*;

    fn digest(labels: &BTreeMap<String, String>) -> LabelDigest {
        LabelDigest::of(labels.iter().map(|(key, value)| (key.as_str(), value.as_str())))
    }

    #[test]
    fn a_digest_never_rules_out_a_match() {
        let tally = Tally::new();
        let labels = prop::collection::btree_map("[ab]", "[xyz]", 0..3);
        let text = "([ab]=[xyz]|[ab]==[xyz]|[ab]!=[xyz]|[ab] in \\([xyz],[xyz]\\)|!?[ab])(,[ab]=[xyz])?";
        let config = ProptestConfig { cases: 1024, ..ProptestConfig::with_source_file(file!()) };
        let tried = TestRunner::new(config).run(&(labels, text), |(labels, text)| {
            let selector = Selector::parse(&text).unwrap();
            let matches = selector.matches_labels(|key| labels.get(key).map(String::as_str));
            let sieve = Sieve::new(&selector);
            let passes = sieve.passes(digest(&labels));
            prop_assert!(passes || !matches, "{text} {labels:?}");
            tally.count(match (matches, passes) {
                (true, _) if sieve.wanted.is_empty() => "match without a wanted label",
                (true, _) if text.contains(" in ") => "match of a set",
                (true, _) => "match of a value",
                (false, true) => "passed without a match",
                (false, false) => "ruled out",
            });
            Ok(())
        });
        tried.unwrap_or_else(|error| panic!("{error}"));
        tally.require(&[
            ("match without a wanted label", 40),
            ("match of a set", 8),
            ("match of a value", 12),
            ("ruled out", 200),
        ]);
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
