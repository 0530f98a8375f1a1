//! The suite: every scenario and random sequences on the real server and on the fake.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `GENCLIENT_SCENARIO` | runs only the scenarios whose names contain this text, and prints the real answers |
//! | `GENCLIENT_SEED` | a number that chooses other random sequences |
//! | `GENCLIENT_LONG` | with `1`, runs twenty times as many random sequences |

use std::time::Instant;

use genclient_parity::{
    Scenario, Target,
    compare::{compare_all, compare_all_by, compare_by, judge, report},
    differences::accepted,
    garbage, random,
    run::{Exchange, run},
    scenarios,
    sequences::{Sequence, sequences},
};
use genclient_testenv::require_servers;

const SEQUENCES: random::Check<Sequence> =
    random::Check { scenario: Sequence::scenario, view: serde_json::Value::clone, shows_all: true };
const GARBAGE: random::Check<Scenario> =
    random::Check { scenario: Scenario::clone, view: garbage::essence, shows_all: false };

/// The text that chooses scenarios by their names.
fn chosen() -> Option<String> {
    std::env::var("GENCLIENT_SCENARIO").ok().filter(|text| !text.is_empty())
}

fn chosen_scenarios() -> Vec<Scenario> {
    let wanted = chosen().unwrap_or_default();
    scenarios::all().into_iter().filter(|scenario| scenario.name.contains(&wanted)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_scenario_gives_the_same_answers_on_both_servers() {
    require_servers!(ControlPlane);
    let (real, fake) = (Target::real("real").await, Target::fake().await);
    let scenarios = chosen_scenarios();
    if chosen().is_some() {
        for scenario in &scenarios {
            for Exchange { shown, answer } in run(&real, scenario).await.1 {
                eprintln!("{shown}\n{answer:#}\n");
            }
        }
    }
    let started = Instant::now();
    let (unequal, stale) = judge(compare_all(&real, &fake, &scenarios).await, &accepted());
    eprintln!("{} scenarios in {:.0?}", scenarios.len(), started.elapsed());
    assert!(unequal.is_empty(), "{} steps differ (- real, + fake):\n{}", unequal.len(), report(&unequal));
    if chosen().is_none() {
        assert!(stale.is_empty(), "these accepted differences are none any more: {stale:#?}");
        real.answers.require(&[
            ("create", 140),
            ("update", 16),
            ("apply-patch+yaml", 35),
            ("merge-patch+json", 30),
            ("json-patch+json", 7),
            ("strategic-merge-patch+json", 5),
            ("delete", 20),
            ("delete collection", 4),
            ("get", 25),
            ("list", 50),
            ("400 BadRequest", 70),
            ("403 Forbidden", 1),
            ("404 NotFound", 25),
            ("405 MethodNotAllowed", 5),
            ("406 NotAcceptable", 2),
            ("409 AlreadyExists", 2),
            ("409 Conflict", 13),
            ("413 RequestEntityTooLarge", 1),
            ("415 UnsupportedMediaType", 4),
            ("422 Invalid", 85),
            ("event ADDED", 9),
            ("event MODIFIED", 4),
            ("event DELETED", 4),
            ("event BOOKMARK", 1),
        ]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_forgotten_is_gone_on_both_servers() {
    require_servers!(ControlPlane);
    let (real, fake) = (Target::real_without_cache().await, Target::fake().await);
    let mut found = Vec::new();
    for scenario in scenarios::compaction::scenarios() {
        found.extend(compare_by(&real, &fake, &scenario, scenarios::compaction::essence).await);
    }
    let unequal = judge(found, &accepted()).0;
    assert!(unequal.is_empty(), "{} steps differ (- real, + fake):\n{}", unequal.len(), report(&unequal));
    real.answers.require(&[
        ("410 Expired", 1),
        ("504 Timeout", 1),
        ("event ERROR", 1),
        ("event ADDED", 1),
        ("create", 5),
        ("list", 1),
        ("merge-patch+json", 1),
    ]);
}

#[tokio::test(flavor = "multi_thread")]
async fn random_sequences_give_the_same_answers_on_both_servers() {
    require_servers!(ControlPlane);
    let (real, fake) = (Target::real("real").await, Target::fake().await);
    let started = Instant::now();
    let count = random::count(1000);
    let checked = SEQUENCES.run(&real, &fake, sequences(), count).await;
    eprintln!("{count} sequences in {:.0?}", started.elapsed());
    if let Err(report) = checked {
        panic!("(- real, + fake) {report}");
    }
    real.answers.require(&[
        ("create", 1400),
        ("update", 190),
        ("apply-patch+yaml", 800),
        ("merge-patch+json", 190),
        ("json-patch+json", 40),
        ("strategic-merge-patch+json", 10),
        ("delete", 110),
        ("delete collection", 140),
        ("get", 100),
        ("list", 1100),
        ("dry run of create", 45),
        ("dry run of update", 15),
        ("dry run of apply-patch+yaml", 90),
        ("dry run of delete", 12),
        ("configmaps", 1400),
        ("widgets", 1400),
        ("widgets/status", 70),
        ("widgets/scale", 14),
        ("gadgets", 1400),
        ("400 BadRequest", 70),
        ("404 NotFound", 2000),
        ("409 AlreadyExists", 270),
        ("409 Conflict", 70),
        ("415 UnsupportedMediaType", 100),
        ("422 Invalid", 170),
        ("event ADDED", 2000),
        ("event MODIFIED", 600),
        ("event DELETED", 140),
    ]);
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_is_answered_with_the_same_status_on_both_servers() {
    require_servers!(ControlPlane);
    let (real, fake) = (Target::real("real").await, Target::fake().await);
    if let Err(report) = GARBAGE.run(&real, &fake, garbage::scenarios(), random::count(100)).await {
        panic!("(- real, + fake) {report}");
    }
    real.answers.require(&[
        ("list", 1),
        ("400 BadRequest", 8),
        ("404 NotFound", 90),
        ("404 without a reason", 50),
        ("405 MethodNotAllowed", 20),
        ("406 NotAcceptable", 2),
        ("415 UnsupportedMediaType", 12),
        ("422 Invalid", 1),
    ]);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_method_on_every_path_is_answered_with_the_same_status_on_both_servers() {
    require_servers!(ControlPlane);
    let (real, fake) = (Target::real("real").await, Target::fake().await);
    let started = Instant::now();
    let scenarios = garbage::every_path();
    let found = compare_all_by(&real, &fake, &scenarios, garbage::essence).await;
    eprintln!("{} scenarios of paths in {:.0?}", scenarios.len(), started.elapsed());
    let unequal = judge(found, &accepted()).0;
    assert!(unequal.is_empty(), "{} steps differ (- real, + fake):\n{}", unequal.len(), report(&unequal));
    real.answers.require(&[
        ("create", 20),
        ("merge-patch+json", 5),
        ("delete", 14),
        ("delete collection", 1),
        ("get", 18),
        ("list", 2),
        ("HEAD", 13),
        ("400 BadRequest", 90),
        ("404 NotFound", 1000),
        ("404 without a reason", 600),
        ("405 MethodNotAllowed", 240),
        ("409 AlreadyExists", 9),
        ("422 Invalid", 7),
    ]);
}

/// Shows that nothing random is left in the answers, and that no scenario depends on chance.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "it checks the suite, not the fake, and takes minutes"]
async fn the_real_server_gives_the_same_answers_twice() {
    require_servers!(ControlPlane);
    let (first, second) = (Target::real("real").await, Target::real("real again").await);
    let unequal = compare_all(&first, &second, &chosen_scenarios()).await;
    assert!(unequal.is_empty(), "{} steps differ:\n{}", unequal.len(), report(&unequal));
    if let Err(report) = SEQUENCES.run(&first, &second, sequences(), 100).await {
        panic!("{report}");
    }
    if let Err(report) = GARBAGE.run(&first, &second, garbage::scenarios(), 20).await {
        panic!("{report}");
    }
}

#[test]
fn every_scenario_has_its_own_name() {
    let mut names: Vec<_> = scenarios::all().into_iter().map(|scenario| scenario.name).collect();
    assert!(names.len() >= 200, "there are only {} scenarios", names.len());
    names.sort();
    let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| &pair[0]).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

#[test]
fn every_accepted_difference_is_documented_and_has_a_scenario() {
    let documentation = include_str!("../../../fake/src/lib.rs");
    let scenarios = scenarios::all();
    for entry in accepted() {
        assert!(
            documentation.contains(&format!("//! | {} | ", entry.topic)),
            "{} is not documented",
            entry.topic
        );
        assert!(
            scenarios.iter().any(|scenario| scenario.name == entry.scenario),
            "{entry:?} has no scenario"
        );
        assert!(entry.reason.len() > 20, "{entry:?} says too little");
    }
}
