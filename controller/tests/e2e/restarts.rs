//! The controller killed between any two steps, and what is left to do done by the next one.

use genclient_testenv::require_servers;
use samplecrd_controller::FINALIZER;

use crate::support::{Cluster, Controller, Gate, Proxy, Setup, TestNeutron, Verdict, eventually, held};

/// Every step of an object's life happens while no controller runs, and the next one makes it real.
async fn every_step_while_it_is_down(name: &str, flags: &[&str]) {
    let Setup { cluster, neutron } = Setup::new(name, flags).await;
    let synced = ["successfully synced", "key="];

    let controller = cluster.controller(&[]);
    controller.says(&["started workers"]).await;
    controller.kill9().await;
    cluster.create("a", "10.0.0.0/24", "10.0.0.1").await;
    cluster.create("b", "10.1.0.0/24", "10.1.0.1").await;

    let controller = cluster.controller(&[]);
    neutron.holds(&[held("a", "10.0.0.0/24", "10.0.0.1"), held("b", "10.1.0.0/24", "10.1.0.1")]).await;
    controller.says_times(2, &synced).await;
    controller.kill9().await;
    cluster.change("a", "10.0.0.0/16", "10.0.7.1").await;

    let controller = cluster.controller(&[]);
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

    let controller = cluster.controller(&[]);
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

/// Holds the next request of this kind, and kills the controller while it is on its way. The request is
/// carried out when the gate opens, although its sender is dead.
async fn killed_at(proxy: &Proxy, controller: Controller, method: &'static str, path: &'static str) -> Gate {
    let gate = Gate::default();
    let held = gate.clone();
    proxy.script(
        move |m, p| {
            if m == method && p.contains(path) { Verdict::Hold(held.clone()) } else { Verdict::Pass }
        },
    );
    gate.reached().await;
    controller.kill9().await;
    proxy.script(|_, _| Verdict::Pass);
    gate
}

#[tokio::test]
async fn a_step_that_is_carried_out_although_its_sender_is_dead_is_found_by_the_next_controller() {
    require_servers!(Kubernetes, Neutron);
    for flags in [&[][..], &["--no-finalizer"]] {
        let cluster = Cluster::shared("middle").await;
        let neutron = TestNeutron::shared(&cluster.namespace).await;
        let proxy = Proxy::start(neutron.server.url()).await;
        let mut args = vec!["--neutron-url", &proxy.url];
        args.extend(flags);
        let start = || cluster.controller(&args);
        let killed_at =
            async |method, path| killed_at(&proxy, start(), method, path).await.let_one_through().await;

        // While it is made: at the network, at its subnet, at its tag.
        cluster.create("a", "10.0.0.0/24", "10.0.0.1").await;
        killed_at("POST", "/networks").await;
        assert_eq!(neutron.all().await, [("a".to_owned(), vec![])], "it was carried out");
        killed_at("POST", "/subnets").await;
        neutron.holds(&[held("a", "10.0.0.0/24", "10.0.0.1")]).await;
        let id = neutron.only_id().await;
        killed_at("PUT", "/tags/").await;
        assert_eq!(neutron.networks().await[0]["tags"], serde_json::json!(["samplecrd-controller"]));

        // While it is changed: the new subnet is tried on a probe, the old one goes, the new one comes.
        cluster.change("a", "10.0.0.0/16", "10.0.9.9").await;
        killed_at("POST", "/networks").await;
        assert_eq!(neutron.networks().await.len(), 2, "a probe is left behind");
        killed_at("POST", "/subnets").await;
        killed_at("DELETE", "/subnets").await;
        killed_at("POST", "/subnets").await;
        let controller = start();
        neutron.holds(&[held("a", "10.0.0.0/16", "10.0.9.9")]).await;
        controller.says(&["successfully synced"]).await;
        assert_eq!(neutron.only_id().await, id, "the network stays");
        controller.kill9().await;

        // While it is deleted.
        cluster.delete("a").await;
        killed_at("DELETE", "/networks").await;
        neutron.holds(&[]).await;
        let controller = start();
        controller.says(&["started workers"]).await;
        cluster.gone("a").await;
        controller.stop().await;
        neutron.holds(&[]).await;
    }
}

#[tokio::test]
async fn a_network_that_is_made_long_after_its_sender_died_does_not_stay() {
    require_servers!(Kubernetes, Neutron);
    for flags in [&[][..], &["--no-finalizer"]] {
        let cluster = Cluster::shared("late").await;
        let neutron = TestNeutron::shared(&cluster.namespace).await;
        let proxy = Proxy::start(neutron.server.url()).await;
        let mut args = vec!["--neutron-url", &proxy.url, "--drift-interval", "1s"];
        args.extend(flags);

        // The object stays: what comes late is a duplicate.
        cluster.create("stays", "10.0.0.0/24", "10.0.0.1").await;
        let gate = killed_at(&proxy, cluster.controller(&args), "POST", "/networks").await;
        let controller = cluster.controller(&args);
        let stays = [held("stays", "10.0.0.0/24", "10.0.0.1")];
        neutron.holds(&stays).await;
        let id = neutron.only_id().await;
        gate.let_one_through().await;
        controller.says(&["updated network in the provider", "/stays"]).await;
        neutron.holds(&stays).await;
        assert_eq!(neutron.only_id().await, id, "the older one stays");
        controller.kill9().await;

        // The object goes: what comes late has no object any more.
        cluster.create("goes", "10.1.0.0/24", "10.1.0.1").await;
        let gate = killed_at(&proxy, cluster.controller(&args), "POST", "/networks").await;
        cluster.delete("goes").await;
        let controller = cluster.controller(&args);
        cluster.gone("goes").await;
        if flags.is_empty() {
            // With the finalizer this controller knew the object; it must be done with it, or it would
            // find the network while it still looks for what to delete.
            controller.says(&["successfully synced", "/goes"]).await;
        }
        gate.let_one_through().await;
        controller.says(&["found an orphaned network", "/goes"]).await;
        neutron.holds(&stays).await;
        controller.stop().await;
    }
}

#[tokio::test]
async fn the_way_of_deletion_can_be_changed_between_two_starts() {
    require_servers!(Kubernetes, Neutron);
    let Setup { cluster, neutron } = Setup::new("switch", &[]).await;
    let finalizers = async |name: &str| {
        cluster.networks().get(name).await.unwrap().metadata.finalizers.unwrap_or_default()
    };

    cluster.create("with", "10.0.0.0/24", "10.0.0.1").await;
    let controller = cluster.controller(&[]);
    controller.says(&["successfully synced", "/with"]).await;
    assert_eq!(finalizers("with").await, [FINALIZER]);
    controller.stop().await;

    // An object with the finalizer must not wait for it forever.
    let controller = cluster.controller(&["--no-finalizer"]);
    cluster.create("without", "10.1.0.0/24", "10.1.0.1").await;
    controller.says(&["successfully synced", "/without"]).await;
    assert!(finalizers("without").await.is_empty());
    cluster.delete("with").await;
    cluster.gone("with").await;
    neutron.holds(&[held("without", "10.1.0.0/24", "10.1.0.1")]).await;
    controller.stop().await;

    let controller = cluster.controller(&[]);
    let held_back = async || finalizers("without").await;
    eventually("the finalizer comes back", held_back, |now| *now == [FINALIZER]).await;
    cluster.delete("without").await;
    cluster.gone("without").await;
    neutron.holds(&[]).await;
    controller.stop().await;
}

#[tokio::test]
async fn what_an_object_left_behind_goes_although_the_next_one_of_its_name_has_a_bad_spec() {
    require_servers!(Kubernetes, Neutron);
    let Setup { cluster, neutron } = Setup::new("left-over", &["--no-finalizer"]).await;
    for down in [false, true] {
        let mut controller = Some(cluster.controller(&[]));
        cluster.create("a", "10.0.0.0/24", "10.0.0.1").await;
        neutron.holds(&[held("a", "10.0.0.0/24", "10.0.0.1")]).await;
        if down && let Some(controller) = controller.take() {
            controller.kill9().await;
        }
        cluster.delete("a").await;
        cluster.create("a", "10.0.0.0/24", "10.0.0.255").await;
        let controller = controller.unwrap_or_else(|| cluster.controller(&[]));
        cluster.has_event("a", "Warning", "GatewayIsBroadcastAddress", "").await;
        neutron.holds(&[]).await;
        cluster.delete("a").await;
        controller.stop().await;
    }
}
