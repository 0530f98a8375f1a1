//! Runs scenarios on two servers and reports where the answers differ.

use std::fmt::{self, Write};

use futures::{StreamExt, stream};
use serde_json::Value;

use crate::{
    Scenario, Target,
    diff::{Difference, diff},
    differences::{Accepted, accepted},
    normal::normalised,
    run::{Exchange, run},
};

/// How many scenarios run at once.
const PARALLEL: usize = 12;

/// How often a scenario is run until its answers are equal.
const ATTEMPTS: usize = 3;

/// A step whose answers differ.
#[derive(Clone, Debug)]
pub struct Unequal {
    /// The scenario's name.
    pub scenario: String,
    /// The step, counted from 1.
    pub step: usize,
    /// The request as the first server was sent it.
    pub shown: String,
    /// The normalised answers.
    pub answers: [Value; 2],
    /// The fields that differ.
    pub fields: Vec<Difference>,
}

impl fmt::Display for Unequal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?}, step {}:", self.scenario, self.step)?;
        for line in self.shown.lines() {
            writeln!(f, "    {line}")?;
        }
        for field in &self.fields {
            writeln!(f, "    {field}")?;
        }
        Ok(())
    }
}

/// Runs a scenario on both servers and returns the steps of whose answers some part differs.
///
/// The controllers and caches of the real server lag behind its answers, the more the busier the machine is. What
/// differs for that reason does not differ every time, so a scenario with differences that are not accepted is run
/// again.
pub async fn compare_by(
    left: &Target,
    right: &Target,
    scenario: &Scenario,
    view: fn(&Value) -> Value,
) -> Vec<Unequal> {
    let accepted = accepted();
    let mut attempt = 1;
    loop {
        let found = compare_once(left, right, scenario, view).await;
        if attempt == ATTEMPTS || judge(found.clone(), &accepted).0.is_empty() {
            return found;
        }
        attempt += 1;
    }
}

async fn compare_once(
    left: &Target,
    right: &Target,
    scenario: &Scenario,
    view: fn(&Value) -> Value,
) -> Vec<Unequal> {
    let (left, right) = tokio::join!(run(left, scenario), run(right, scenario));
    let [lefts, rights] = [&left, &right].map(|(id, exchanges)| {
        let answers: Vec<_> = exchanges.iter().map(|exchange| exchange.answer.clone()).collect();
        normalised(id, &answers)
    });
    let steps = left.1.iter().zip(lefts.into_iter().zip(rights)).enumerate();
    let unequal = steps.filter_map(|(place, (Exchange { shown, .. }, (left, right)))| {
        let fields = diff(&view(&left), &view(&right));
        (!fields.is_empty()).then(|| Unequal {
            scenario: scenario.name.clone(),
            step: place + 1,
            shown: shown.clone(),
            answers: [left, right],
            fields,
        })
    });
    unequal.collect()
}

/// Runs scenarios at the same time on both servers and returns the steps whose answers differ, in the
/// scenarios' order.
pub async fn compare_all(left: &Target, right: &Target, scenarios: &[Scenario]) -> Vec<Unequal> {
    compare_all_by(left, right, scenarios, Value::clone).await
}

/// Runs scenarios at the same time on both servers and returns the steps of whose answers some part differs, in the
/// scenarios' order.
pub async fn compare_all_by(
    left: &Target,
    right: &Target,
    scenarios: &[Scenario],
    view: fn(&Value) -> Value,
) -> Vec<Unequal> {
    let runs = scenarios
        .iter()
        .enumerate()
        .map(async |(place, scenario)| (place, compare_by(left, right, scenario, view).await));
    // Not in order, so that a slow scenario does not hold others back.
    let mut found: Vec<_> = stream::iter(runs).buffer_unordered(PARALLEL).collect().await;
    found.sort_by_key(|(place, _)| *place);
    found.into_iter().flat_map(|(_, unequal)| unequal).collect()
}

/// What is left after the accepted differences are taken away, and the entries that took nothing away.
pub fn judge(found: Vec<Unequal>, accepted: &[Accepted]) -> (Vec<Unequal>, Vec<Accepted>) {
    let mut used = vec![false; accepted.len()];
    let mut left = Vec::new();
    for mut unequal in found {
        unequal.fields.retain(|difference| {
            let mut covered = false;
            for (entry, used) in accepted.iter().zip(&mut used) {
                if entry.covers(&unequal.scenario, unequal.step, &difference.field) {
                    covered = true;
                    *used = true;
                }
            }
            !covered
        });
        if !unequal.fields.is_empty() {
            left.push(unequal);
        }
    }
    let stale = accepted.iter().zip(used).filter(|(_, used)| !used).map(|(entry, _)| *entry).collect();
    (left, stale)
}

/// The report for people: `-` is the first server's value, `+` the second one's.
pub fn report(unequal: &[Unequal]) -> String {
    let mut text = String::new();
    for unequal in unequal {
        let _ = writeln!(text, "{unequal}");
    }
    text
}
