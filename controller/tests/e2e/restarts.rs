//! The controller killed between any two steps, and what is left to do done by the next one.

use std::sync::Arc;

use genclient_testenv::require_servers;
use tokio::sync::Notify;

use crate::support::{Cluster, Controller, Proxy, TestNeutron, Verdict, eventually, held};

const FINALIZER: &str = "samplecrd.k8s.io/provider-network";

/// Every step of an object's life happens while no controller runs, and the next one makes it real.
async fn every_step_while_it_is_down(name: &str, flags: &[&str]) {
    let cluster = Cluster::shared(name).await;
    let neutron = TestNeutron::shared(&cluster.namespace).await;
    let url = neutron.server.url();
    let mut args = vec!["--provider", "neutron", "--neutron-url", &url];
    args.extend(flags);
    let synced = ["successfully synced", "key="];

    let controller = cluster.controller(&args);
    controller.says(&["started workers"]).await;
    controller.kill9().await;
    cluster.create("a", "10.0.0.0/24", "10.0.0.1").await;
    cluster.create("b", "10.1.0.0/24", "10.1.0.1").await;

    let controller = cluster.controller(&args);
    neutron.holds(&[held("a", "10.0.0.0/24", "10.0.0.1"), held("b", "10.1.0.0/24", "10.1.0.1")]).await;
    controller.says_times(2, &synced).await;
    controller.kill9().await;
    cluster.change("a", "10.0.0.0/16", "10.0.7.1").await;

    let controller = cluster.controller(&args);
    neutron.holds(&[held("a", "10.0.0.0/16", "10.0.7.1"), held("b", "10.1.0.0/24", "10.1.0.1")]).await;
    controller.says_times(2, &synced).await;
    controller.kill9().await;
    // One is deleted, the other one deleted and made anew under its name, if nothing holds it back.
    cluster.delete("a").await;
    cluster.delete("b").await;
    let recreated = flags.contains(&"--no-finalizer");
    if recreated {
        cluster.create("b", "10.2.0.0/24", "10.2.0.1").await;
    }

    let controller = cluster.controller(&args);
    cluster.gone("a").await;
    if recreated {
        neutron.holds(&[held("b", "10.2.0.0/24", "10.2.0.1")]).await;
        assert!(
            controller.count(&["found an orphaned network", &format!("key={}/a", cluster.namespace)]) == 1
        );
        cluster.delete("b").await;
    }
    neutron.holds(&[]).await;
    cluster.gone("b").await;
    controller.stop().await;
}

#[tokio::test]
async fn what_happens_while_it_is_down_is_made_good_with_the_finalizer() {
    require_servers!(Kubernetes, Neutron);
    every_step_while_it_is_down("down", &[]).await;
}

#[tokio::test]
async fn what_happens_while_it_is_down_is_made_good_by_the_sweep() {
    require_servers!(Kubernetes, Neutron);
    every_step_while_it_is_down("sweep", &["--no-finalizer"]).await;
}

/// Holds the request that the script names, kills the controller there, and lets the request through.
async fn killed_at(
    cluster: &Cluster<'_>,
    proxy: &Proxy,
    controller: Controller,
    method: &'static str,
    path: &str,
) {
    let (go, path) = (Arc::new(Notify::new()), path.to_owned());
    let (held_back, reached) = (go.clone(), Arc::new(Notify::new()));
    let tell = reached.clone();
    proxy.script(move |m, p| {
        if m == method && p.contains(&path) {
            tell.notify_one();
            return Verdict::Hold(held_back.clone());
        }
        Verdict::Pass
    });
    // What the key waits for is a change; a controller that has just started looks by itself.
    let waited = tokio::time::timeout(std::time::Duration::from_secs(30), reached.notified()).await;
    assert!(waited.is_ok(), "{method} never came in {}", cluster.namespace);
    controller.kill9().await;
    proxy.script(|_, _| Verdict::Pass);
    go.notify_one();
}

#[tokio::test]
async fn a_death_in_the_middle_of_a_step_is_made_good_by_the_next_controller() {
    require_servers!(Kubernetes, Neutron);
    for flags in [&[][..], &["--no-finalizer"]] {
        let cluster = Cluster::shared("middle").await;
        let neutron = TestNeutron::shared(&cluster.namespace).await;
        let proxy = Proxy::start(neutron.server.url()).await;
        let mut args = vec!["--provider", "neutron", "--neutron-url", &proxy.url];
        args.extend(flags);
        let start = || cluster.controller(&args);

        // While it is made: at the network, at its subnet, at its tag.
        cluster.create("a", "10.0.0.0/24", "10.0.0.1").await;
        killed_at(&cluster, &proxy, start(), "POST", "/networks").await;
        killed_at(&cluster, &proxy, start(), "POST", "/subnets").await;
        let controller = start();
        neutron.holds(&[held("a", "10.0.0.0/24", "10.0.0.1")]).await;
        controller.says(&["successfully synced"]).await;
        assert_eq!(neutron.networks().await[0]["tags"], serde_json::json!(["samplecrd-controller"]));
        controller.kill9().await;

        // While it is changed: the old subnet goes, the new one comes.
        cluster.change("a", "10.0.0.0/16", "10.0.9.9").await;
        killed_at(&cluster, &proxy, start(), "DELETE", "/subnets").await;
        killed_at(&cluster, &proxy, start(), "POST", "/subnets").await;
        let controller = start();
        neutron.holds(&[held("a", "10.0.0.0/16", "10.0.9.9")]).await;
        controller.says(&["successfully synced"]).await;
        controller.kill9().await;

        // While it is deleted.
        cluster.delete("a").await;
        killed_at(&cluster, &proxy, start(), "DELETE", "/networks").await;
        let controller = start();
        neutron.holds(&[]).await;
        cluster.gone("a").await;
        controller.stop().await;
    }
}

#[tokio::test]
async fn the_way_of_deletion_can_be_changed_between_two_starts() {
    require_servers!(Kubernetes, Neutron);
    let cluster = Cluster::shared("switch").await;
    let neutron = TestNeutron::shared(&cluster.namespace).await;
    let url = neutron.server.url();
    let args = ["--provider", "neutron", "--neutron-url", &url];
    let finalizers = async |name: &str| {
        cluster.networks().get(name).await.unwrap().metadata.finalizers.unwrap_or_default()
    };

    cluster.create("with", "10.0.0.0/24", "10.0.0.1").await;
    let controller = cluster.controller(&args);
    controller.says(&["successfully synced", "/with"]).await;
    assert_eq!(finalizers("with").await, [FINALIZER]);
    controller.stop().await;

    // An object with the finalizer must not wait for it forever.
    let controller = cluster.controller(&[&args[..], &["--no-finalizer"]].concat());
    cluster.create("without", "10.1.0.0/24", "10.1.0.1").await;
    controller.says(&["successfully synced", "/without"]).await;
    assert!(finalizers("without").await.is_empty());
    cluster.delete("with").await;
    cluster.gone("with").await;
    neutron.holds(&[held("without", "10.1.0.0/24", "10.1.0.1")]).await;
    controller.stop().await;

    let controller = cluster.controller(&args);
    let held_back = async || finalizers("without").await;
    eventually("the finalizer comes back", held_back, |now| *now == [FINALIZER]).await;
    cluster.delete("without").await;
    cluster.gone("without").await;
    neutron.holds(&[]).await;
    controller.stop().await;
}
