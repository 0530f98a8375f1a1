//! Runs random scenarios, and makes one whose answers differ as small as possible.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fmt::{Debug, Write},
};

use futures::{StreamExt, stream};
use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::Value;

use crate::{
    Scenario, Target,
    compare::{Unequal, compare_by, judge, report},
    differences::accepted,
};

/// How many scenarios run at once.
const PARALLEL: usize = 24;

/// How many smaller scenarios are tried before a failing one is reported.
const ATTEMPTS: usize = 60;

/// After how many scenarios the progress is shown.
const PROGRESS: usize = 1000;

/// How many scenarios whose answers differ are reported.
const EXAMPLES: usize = 8;

/// How many scenarios are run: twenty times as many with `GENCLIENT_LONG=1`.
pub fn count(usual: usize) -> usize {
    genclient_tally::usual_or_long(usual, usual * 20)
}

/// What is random, and how it is compared.
#[derive(Debug)]
pub struct Check<T> {
    /// Turns a random value into a scenario.
    pub scenario: fn(&T) -> Scenario,
    /// Takes the part of an answer that must be equal.
    pub view: fn(&Value) -> Value,
    /// Whether what comes before a step that differs may be the cause, and so is reported.
    pub shows_all: bool,
}

impl<T: Debug> Check<T> {
    /// Runs random scenarios on both servers. One scenario for each way in which answers differ is made smaller and
    /// reported.
    ///
    /// The scenarios are the same for every run, unless `GENCLIENT_SEED` is a number.
    pub async fn run(
        &self,
        left: &Target,
        right: &Target,
        strategy: impl Strategy<Value = T>,
        count: usize,
    ) -> Result<(), String> {
        let seed =
            std::env::var("GENCLIENT_SEED").ok().and_then(|seed| seed.parse::<u64>().ok()).unwrap_or(1);
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let mut runner = TestRunner::new_with_rng(Config::default(), rng);
        let trees = std::iter::from_fn(move || strategy.new_tree(&mut runner).ok()).take(count);
        let mut runs = stream::iter(trees.enumerate())
            .map(|(number, tree)| async move {
                let unequal = self.unequal(left, right, &tree.current()).await;
                (number, tree, unequal)
            })
            .buffer_unordered(PARALLEL);
        // One example for each kind of difference says more than the first one alone.
        let mut examples = BTreeMap::new();
        let (mut failed, mut done) = (0, 0);
        while let Some((number, tree, unequal)) = runs.next().await {
            done += 1;
            if done % PROGRESS == 0 {
                eprintln!("{done} of {count}, {failed} differ");
            }
            if let Some(first) = unequal.first() {
                failed += 1;
                if let Entry::Vacant(entry) = examples.entry(signature(first)) {
                    eprintln!("number {number} differs:\n{}", report(&unequal));
                    entry.insert((number, tree, unequal));
                }
            }
        }
        drop(runs);
        if examples.is_empty() {
            return Ok(());
        }
        let mut text = format!("{failed} of {count} with seed {seed} differ, in {} ways", examples.len());
        for (number, tree, unequal) in examples.into_values().take(EXAMPLES) {
            let (smallest, unequal) = self.smallest(left, right, tree, unequal).await;
            let _ = write!(text, "\n\nnumber {number}:\n{}", report(&unequal));
            if self.shows_all {
                let _ = write!(text, "{smallest:#?}");
            }
        }
        Err(text)
    }

    /// Makes a value smaller as long as the answers differ.
    async fn smallest(
        &self,
        left: &Target,
        right: &Target,
        mut tree: impl ValueTree<Value = T>,
        mut unequal: Vec<Unequal>,
    ) -> (T, Vec<Unequal>) {
        let wanted = unequal.first().map(signature);
        let mut smallest = tree.current();
        let mut smaller = tree.simplify();
        for _ in 0..ATTEMPTS {
            if !smaller {
                break;
            }
            let found = self.unequal(left, right, &tree.current()).await;
            // What differs in another way is another example.
            if found.iter().any(|found| Some(signature(found)) == wanted) {
                unequal = found;
                smallest = tree.current();
                smaller = tree.simplify();
            } else {
                smaller = tree.complicate();
            }
        }
        (smallest, unequal)
    }

    async fn unequal(&self, left: &Target, right: &Target, value: &T) -> Vec<Unequal> {
        judge(compare_by(left, right, &(self.scenario)(value), self.view).await, &accepted()).0
    }
}

/// The fields that differ, without their places in lists, and the codes and reasons of the answers.
fn signature(unequal: &Unequal) -> String {
    let fields = unequal.fields.iter().map(|difference| difference.field.as_str()).collect::<Vec<_>>();
    let mut signature = fields.join(" ").replace(|char: char| char.is_ascii_digit(), "");
    for answer in &unequal.answers {
        let _ = write!(signature, " {} {}", answer["status"], answer["body"]["reason"]);
    }
    signature
}
