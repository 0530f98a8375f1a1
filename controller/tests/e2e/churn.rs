//! Many writers, many changes, sudden deaths of the controller: in the end Neutron holds exactly what the
//! objects ask for, and what is another's is as it was.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use genclient_tally::usual_or_long;
use genclient_testenv::{Neutron, require_servers};
use http::Method;
use neutron_client::fake::Fake;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};

use crate::support::{Cluster, History, TestNeutron, Writers, by_uid, eventually, seed, settles};

/// A small Neutron in this process: fast enough for large numbers.
async fn churn_in_a_fake(name: &str, flags: &[&str], kills: usize) {
    let cluster = Cluster::shared(name).await;
    let names = usual_or_long(100, 1000);
    let fake = Fake::start().await;
    let mut args = vec!["--neutron-url", &fake.url, "--workers", "8", "--drift-interval", "5s"];
    args.extend(flags);

    let mut rng = StdRng::seed_from_u64(seed(name));
    let writers = Writers::start(&cluster, names, Duration::from_millis(20), &mut rng);
    let mut controller = cluster.controller(&args);
    for _ in 0..kills {
        // From before its first list until long after.
        tokio::time::sleep(Duration::from_millis(rng.random_range(20..1500))).await;
        writers.history.kill(&controller);
        controller.kill9().await;
        controller = cluster.controller(&args);
    }
    let found = async || {
        let state = fake.state.lock();
        let all = |kept: &BTreeMap<String, Value>| kept.values().cloned().collect::<Vec<_>>();
        by_uid(&all(&state.networks), &all(&state.subnets), &cluster.namespace)
    };
    let history = writers.finish(&cluster, names * 2, names / 2).await;
    history.see(&found().await);
    let left = settles(&cluster, vec![controller], &history, found).await;
    assert!(left >= names / 2 && left < names, "{left} objects are left");
    for request in &fake.state.lock().requests {
        history.tally.count(request.split(['?', ' ']).next().unwrap_or_default());
    }
    history.tally.require(&[
        ("create", 10),
        ("patch", 7),
        ("delete", 3),
        ("bad spec", 1),
        ("refused", 10),
        ("POST", 20),
        ("PUT", 5),
        ("DELETE", 5),
        ("kill after the first object", usize::from(kills > 0)),
    ]);
}

#[tokio::test]
async fn neutron_is_as_desired_after_churn() {
    require_servers!();
    churn_in_a_fake("churn", &[], 0).await;
}

#[tokio::test]
async fn neutron_is_as_desired_after_churn_without_the_finalizer() {
    require_servers!();
    churn_in_a_fake("churn-plain", &["--no-finalizer"], 0).await;
}

#[tokio::test]
async fn neutron_is_as_desired_after_churn_with_sudden_deaths() {
    require_servers!();
    churn_in_a_fake("churn-deaths", &[], usual_or_long(5, 50)).await;
}

#[tokio::test]
async fn neutron_is_as_desired_after_churn_with_sudden_deaths_without_the_finalizer() {
    require_servers!();
    // While the only controller is down, the writers delete more objects than a sweep may take for granted.
    let flags = ["--no-finalizer", "--allow-mass-deletion"];
    churn_in_a_fake("churn-plain-deaths", &flags, usual_or_long(5, 50)).await;
}

/// Notes which networks work, until it is aborted.
fn observe(
    neutron: Arc<TestNeutron<'static>>,
    installation: String,
    history: Arc<History>,
) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        loop {
            let (networks, subnets) = (neutron.networks().await, neutron.subnets().await);
            history.see(&by_uid(&networks, &subnets, &installation));
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
    })
}

/// Renames networks of this installation to the names of other objects, until it is aborted.
fn rename(
    neutron: Arc<TestNeutron<'static>>,
    names: usize,
    mut rng: StdRng,
    history: Arc<History>,
) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_millis(rng.random_range(100..2000))).await;
            let ours = neutron.networks().await;
            if !ours.is_empty() {
                let id = ours[rng.random_range(0..ours.len())]["id"].as_str().unwrap().to_owned();
                let name = format!("net-{}", rng.random_range(0..names));
                let body = json!({ "network": { "name": name } });
                // It can be gone already.
                neutron.request(Method::PUT, &format!("/networks/{id}"), Some(body)).await;
                history.tally.count("rename");
            }
        }
    })
}

/// The networks of everybody else, as Neutron tells them: with ids and revisions.
async fn foreign(neutron: &TestNeutron<'_>, installation: &str) -> Vec<Value> {
    let ours = format!(" installation={installation} ");
    let mut others = neutron.networks().await;
    others.retain(|network| !network["description"].as_str().unwrap().contains(&ours));
    others.sort_by_key(|network| network["id"].to_string());
    others
}

/// Held by a large crash run: one keeps Neutron busy, and a machine has few processors.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Everything at once on a real Neutron: two controllers that are killed and frozen, writers with good and bad
/// specs, somebody who renames networks, another installation with the same names, and networks of nobody.
async fn crash_run(name: &str, flags: &[&str]) {
    // Half of the names have an object in the end, or more.
    let (names, deaths) = (usual_or_long(20, 1000), usual_or_long(8, 50));
    let _alone = if names > 100 { Some(ALONE.lock().await) } else { None };
    let server: &'static Neutron = Box::leak(Box::new(Neutron::start().await.unwrap()));
    let (everything, url) = (TestNeutron::of(server).await, server.url());
    let cluster = Cluster::shared(name).await;
    let ours = Arc::new(TestNeutron::part_of(server, &cluster.namespace));
    let mut rng = StdRng::seed_from_u64(seed(name));

    // The neighbours.
    let beside = Cluster::shared("beside").await;
    let neighbour = beside.controller(&["--neutron-url", &url, "--drift-interval", "10s"]);
    for n in 0..5 {
        beside.create(&format!("net-{n}"), "10.0.0.0/24", "10.0.0.1").await;
        let body = json!({ "network": { "name": format!("net-{n}"), "description": "somebody's" } });
        everything.request(Method::POST, "/networks", Some(body)).await;
    }
    eventually(
        "the neighbours are there",
        async || foreign(&everything, &cluster.namespace).await.len(),
        |n| *n == 10,
    )
    .await;
    neighbour.says_times(5, &["successfully synced"]).await;
    let before = foreign(&everything, &cluster.namespace).await;

    // Neutron must have time for more than looking for drift.
    let drift = if names > 100 { "300s" } else { "5s" };
    let mut args = vec!["--neutron-url", &url, "--workers", "4", "--drift-interval", drift];
    args.extend(flags);
    let start = || cluster.controller(&args);
    let mut controllers = vec![start(), start()];
    let writers = Writers::start(&cluster, names, Duration::from_millis(400), &mut rng);
    let observer = observe(ours.clone(), cluster.namespace.clone(), writers.history.clone());
    let renamer = rename(ours.clone(), names, StdRng::seed_from_u64(rng.random()), writers.history.clone());
    let (mut kills, mut freezes) = (0, 0);
    while kills < deaths {
        tokio::time::sleep(Duration::from_millis(rng.random_range(20..4000))).await;
        let victim = rng.random_range(0..controllers.len());
        let kind = rng.random_range(0..10);
        if kind < 4 {
            freezes += 1;
            controllers[victim].signal("STOP").await;
            tokio::time::sleep(Duration::from_millis(rng.random_range(100..4000))).await;
            if kind < 2 {
                controllers[victim].signal("CONT").await;
                continue;
            }
        }
        kills += 1;
        let victim = controllers.swap_remove(victim);
        writers.history.kill(&victim);
        victim.kill9().await;
        controllers.push(start());
    }
    let history = writers.finish(&cluster, names, names / 2).await;
    renamer.abort();
    observer.abort();
    history.tally.add("freeze", freezes);
    history.tally.add("network seen working", history.seen.lock().len());
    let found = async || {
        let (networks, subnets) = (everything.networks().await, everything.subnets().await);
        by_uid(&networks, &subnets, &cluster.namespace)
    };
    let left = settles(&cluster, controllers, &history, found).await;
    assert!(left >= names / 2, "{left} objects are left");
    assert_eq!(foreign(&everything, &cluster.namespace).await, before, "what is another's is as it was");
    neighbour.stop().await;
    history.tally.require(&[
        ("create", 10),
        ("patch", 10),
        ("delete", 5),
        ("bad spec", 1),
        ("refused", 10),
        ("rename", 1),
        ("network seen working", 2),
        ("kill after the first object", 1),
    ]);
}

#[tokio::test]
async fn a_crash_run_ends_as_desired_and_touches_nothing_of_others() {
    require_servers!(Kubernetes, Neutron);
    crash_run("crash", &[]).await;
}

#[tokio::test]
async fn a_crash_run_without_the_finalizer_ends_as_desired_and_touches_nothing_of_others() {
    require_servers!(Kubernetes, Neutron);
    // While both controllers are dead or frozen, more objects can go than a sweep may take for granted.
    crash_run("crash-plain", &["--no-finalizer", "--allow-mass-deletion"]).await;
}
