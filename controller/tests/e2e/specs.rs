//! What cannot be made real is said and waited for; what can be is made, IPv6 too.

use std::time::Duration;

use genclient_testenv::require_servers;

use crate::support::{Cluster, TestNeutron, held};

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
