//! What cannot be made real is said and waited for; what can be is made, IPv6 too.

use std::time::Duration;

use genclient_runtime::Patch;
use genclient_testenv::{TestEnv, require_servers};
use serde_json::json;

use crate::support::{Cluster, TestNeutron, eventually, held};

#[tokio::test]
async fn a_bad_spec_gets_a_warning_and_no_more_until_it_is_changed() {
    require_servers!(Kubernetes, Neutron);
    let cluster = Cluster::shared("bad").await;
    let neutron = TestNeutron::shared(&cluster.namespace).await;
    let url = neutron.server.url();
    let controller =
        cluster.controller(&["--provider", "neutron", "--neutron-url", &url, "--drift-interval", "500ms"]);
    let cases = [
        ("outside", "10.0.0.0/24", "10.0.1.1", "gateway `10.0.1.1` is outside of cidr `10.0.0.0/24`"),
        ("no-address", "10.0.0.0/24", "ten", "gateway `ten` is not an IP address"),
        ("no-range", "10.0.0.0/99", "10.0.0.1", "cidr `10.0.0.0/99` is not a range"),
        ("single", "10.0.0.1/32", "10.0.0.1", "cidr `10.0.0.1/32` has a single address"),
        ("mixed", "10.0.0.0/24", "fd00::1", "gateway `fd00::1` and cidr `10.0.0.0/24` mix IPv4 and IPv6"),
    ];
    for (name, cidr, gateway, _) in cases {
        cluster.create(name, cidr, gateway).await;
    }
    for (name, _, _, reason) in cases {
        cluster.has_event(name, "Warning", "InvalidSpec", reason).await;
    }
    // Several drift intervals and hundreds of the shortest backoffs: nothing more happens.
    tokio::time::sleep(Duration::from_secs(2)).await;
    for (name, ..) in cases {
        let key = format!("key={}/{name} ", cluster.namespace);
        assert_eq!(controller.count(&["processing network", &key]), 1, "{name}");
        assert_eq!(cluster.events(name).await.len(), 1, "{name}");
    }
    neutron.holds(&[]).await;

    // A changed spec recovers, and one that turns bad keeps the network that it had.
    cluster.change("outside", "10.0.0.0/24", "10.0.0.7").await;
    neutron.holds(&[held("outside", "10.0.0.0/24", "10.0.0.7")]).await;
    cluster.has_event("outside", "Normal", "Synced", "").await;
    cluster.change("outside", "10.0.0.0/24", "10.0.0.255").await;
    controller.says(&["broadcast address", "/outside"]).await;
    neutron.holds(&[held("outside", "10.0.0.0/24", "10.0.0.7")]).await;

    // An object that never had a network can be deleted, and so can one whose spec turned bad.
    for (name, ..) in cases {
        cluster.delete(name).await;
        cluster.gone(name).await;
    }
    neutron.holds(&[]).await;
    controller.stop().await;
}

#[tokio::test]
async fn what_neutron_itself_refuses_is_said_and_looked_at_slowly() {
    require_servers!(Kubernetes, Neutron);
    let server = genclient_testenv::Neutron::builder().network_quota(1).start().await.unwrap();
    let (neutron, url) = (TestNeutron::of(&server).await, server.url());
    let cluster = Cluster::shared("quota").await;
    let controller =
        cluster.controller(&["--provider", "neutron", "--neutron-url", &url, "--drift-interval", "1s"]);
    cluster.create("first", "10.0.0.0/24", "10.0.0.1").await;
    neutron.holds(&[held("first", "10.0.0.0/24", "10.0.0.1")]).await;
    cluster.create("second", "10.1.0.0/24", "10.1.0.1").await;
    cluster.has_event("second", "Warning", "QuotaExceeded", "(request req-").await;
    let processed = || controller.count(&["processing network", "/second "]);
    let before = processed();
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!((1..=4).contains(&(processed() - before)), "once an interval: {}", processed() - before);

    cluster.delete("first").await;
    neutron.holds(&[held("second", "10.1.0.0/24", "10.1.0.1")]).await;
    cluster.has_event("second", "Normal", "Synced", "").await;
    controller.stop().await;
}

#[tokio::test]
async fn networks_of_both_families_work_and_can_change_into_each_other() {
    require_servers!(Kubernetes, Neutron);
    let cluster = Cluster::shared("six").await;
    let neutron = TestNeutron::shared(&cluster.namespace).await;
    let url = neutron.server.url();
    let controller = cluster.controller(&["--provider", "neutron", "--neutron-url", &url]);
    cluster.create("six", "fd00:7::9/64", "fd00:7::1").await;
    neutron.holds(&[held("six", "fd00:7::/64", "fd00:7::1")]).await;
    cluster.change("six", "fd00:7::/64", "fd00:7::ffff").await;
    neutron.holds(&[held("six", "fd00:7::/64", "fd00:7::ffff")]).await;
    cluster.change("six", "10.7.0.0/24", "10.7.0.1").await;
    neutron.holds(&[held("six", "10.7.0.0/24", "10.7.0.1")]).await;
    cluster.change("six", "fd00:7::/64", "fd00:7::1").await;
    neutron.holds(&[held("six", "fd00:7::/64", "fd00:7::1")]).await;
    cluster.delete("six").await;
    cluster.gone("six").await;
    neutron.holds(&[]).await;
    controller.stop().await;
}

#[tokio::test]
async fn the_network_of_an_object_that_cannot_be_read_stays_even_after_a_restart() {
    require_servers!(Kubernetes, Neutron);
    let env = TestEnv::builder().own_servers().start().await.unwrap();
    let cluster = Cluster::of(&env, "unreadable").await;
    let neutron = TestNeutron::shared(&cluster.namespace).await;
    let url = neutron.server.url();
    let args = ["--provider", "neutron", "--neutron-url", &url, "--no-finalizer"];
    let controller = cluster.controller(&args);
    cluster.create("a", "10.0.0.0/24", "10.0.0.1").await;
    cluster.create("b", "10.1.0.0/24", "10.1.0.1").await;
    let both = [held("a", "10.0.0.0/24", "10.0.0.1"), held("b", "10.1.0.0/24", "10.1.0.1")];
    neutron.holds(&both).await;
    controller.stop().await;

    // Somebody loosens the schema, and writes what the type does not know.
    let any = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let patch = json!([{ "op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema", "value": any }]);
    let crd = "networks.samplecrd.k8s.io";
    env.kubectl(&["patch", "crd", crd, "--type=json", "-p", &patch.to_string()]).await.unwrap();
    let patch = Patch::Merge(json!({ "spec": { "cidr": 7 } }));
    let networks = cluster.networks();
    eventually(
        "the server takes a number for a range",
        // The answer is what cannot be read, so the outcome is seen in the server's words alone.
        async || networks.patch("a", &patch).await.err().map(|error| error.to_string()),
        |error| error.as_ref().is_some_and(|error| error.contains("does not decode")),
    )
    .await;
    cluster.delete("b").await;

    let controller = cluster.controller(&args);
    controller.says(&["does not decode", "/a"]).await;
    controller.says(&["found an orphaned network", "/b"]).await;
    neutron.holds(&both[..1]).await;
    assert_eq!(controller.count(&["found an orphaned network"]), 1);

    // When it can be read again, it is looked after again; when it is deleted, its network goes.
    cluster.change("a", "10.0.0.0/24", "10.0.0.2").await;
    neutron.holds(&[held("a", "10.0.0.0/24", "10.0.0.2")]).await;
    let _ = networks.patch("a", &patch).await;
    controller.says_times(2, &["does not decode", "/a"]).await;
    let _ = networks.delete("a").await;
    neutron.holds(&[]).await;
    controller.stop().await;
}
