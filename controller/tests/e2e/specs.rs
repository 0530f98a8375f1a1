//! Specs that cannot be made real, that Neutron refuses, or that do not decode; and both IP families.

use std::time::{Duration, Instant};

use genclient_runtime::{ObjectMeta, Patch};
use genclient_testenv::{TestEnv, require_servers};
use samplecrd_apis::samplecrd::v1::{Network, NetworkSpec};
use serde_json::json;

use crate::support::{Cluster, Setup, TestNeutron, eventually, held};

/// Name, range, gateway; the reason of the event and the beginning of its message; what `kubectl apply` says,
/// if the API server refuses it at once.
type Bad = (&'static str, &'static str, &'static str, &'static str, &'static str, Option<&'static str>);

const BAD: [Bad; 9] = [
    (
        "no-range",
        "10.0.0.0/99",
        "10.0.0.1",
        "InvalidCidr",
        "cidr `10.0.0.0/99` is not",
        Some("cidr must be a range"),
    ),
    (
        "octal",
        "010.0.0.0/24",
        "10.0.0.1",
        "InvalidCidr",
        "cidr `010.0.0.0/24` is not",
        Some("cidr must be a range"),
    ),
    (
        "no-address",
        "10.0.0.0/24",
        "ten",
        "InvalidGateway",
        "gateway `ten` is not",
        Some("gateway must be an IP"),
    ),
    (
        "single",
        "10.0.0.1/32",
        "10.0.0.1",
        "CidrTooSmall",
        "cidr `10.0.0.1/32` has",
        Some("cidr must have room"),
    ),
    (
        "single6",
        "fd00::1/128",
        "fd00::1",
        "CidrTooSmall",
        "cidr `fd00::1/128` has",
        Some("cidr must have room"),
    ),
    ("mixed", "10.0.0.0/24", "fd00::1", "GatewayFamilyMismatch", "gateway `fd00::1`", Some("of one family")),
    ("outside", "10.0.0.0/24", "10.0.1.1", "GatewayOutsideCidr", "gateway `10.0.1.1`", Some("within cidr")),
    (
        "first",
        "10.0.0.7/24",
        "10.0.0.0",
        "GatewayIsNetworkAddress",
        "gateway `10.0.0.0`",
        Some("the first one"),
    ),
    ("last", "10.0.0.0/24", "10.0.0.255", "GatewayIsBroadcastAddress", "gateway `10.0.0.255`", None),
];

#[tokio::test]
async fn the_api_server_refuses_what_it_can_and_takes_host_bits() {
    require_servers!();
    let cluster = Cluster::shared("rules").await;
    let apply = async |name: &str, cidr: &str, gateway: &str| {
        let manifest = json!({
            "apiVersion": "samplecrd.k8s.io/v1", "kind": "Network",
            "metadata": { "name": name, "namespace": cluster.namespace },
            "spec": { "cidr": cidr, "gateway": gateway },
        });
        cluster.env.kubectl_with_input(&["apply", "-f", "-"], &manifest.to_string()).await
    };
    for (name, cidr, gateway, _, _, refusal) in BAD {
        match (apply(name, cidr, gateway).await, refusal) {
            (Err(error), Some(said)) => assert!(error.to_string().contains(said), "{name}: {error}"),
            (outcome, refusal) => assert!(outcome.is_ok() && refusal.is_none(), "{name}: {outcome:?}"),
        }
    }
    for (name, cidr, gateway) in [
        ("host-bits", "192.168.1.0/16", "192.168.1.1"),
        ("outside-before-masking", "192.168.1.0/16", "192.168.0.1"),
        ("six", "fd00::7/64", "fd00::1"),
        ("upper", "FD00::/64", "fd00::1"),
        ("last-of-six", "fd00::/126", "fd00::3"),
    ] {
        apply(name, cidr, gateway).await.unwrap();
    }
}

#[tokio::test]
async fn a_bad_spec_gets_a_warning_and_no_more_until_it_is_changed() {
    require_servers!(ControlPlane, Neutron);
    let env = TestEnv::builder().own_servers().start().await.unwrap();
    let Setup { cluster, neutron } =
        Setup::of(Cluster::without_rules(&env, "bad").await, &["--drift-interval", "500ms"]).await;
    let controller = cluster.controller(&[]);
    for (name, cidr, gateway, ..) in BAD {
        let create = async || {
            let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
            let spec = NetworkSpec { cidr: cidr.to_owned(), gateway: gateway.to_owned() };
            cluster.networks().create(&Network { metadata, spec }).await.err().map(|error| error.to_string())
        };
        eventually("the server has forgotten the rules", create, |error| {
            error.as_ref().is_none_or(|error| error.contains("already exists"))
        })
        .await;
    }
    for (name, _, _, reason, message, _) in BAD {
        cluster.has_event(name, "Warning", reason, message).await;
    }
    // Several drift intervals later nothing more has happened.
    for (name, ..) in BAD {
        controller.says_times(4, &["processing network", &format!("/{name} ")]).await;
    }
    for (name, ..) in BAD {
        let key = format!("key={}/{name} ", cluster.namespace);
        assert_eq!(controller.count(&["the spec is not valid", &key]), 1, "{name}");
        assert_eq!(cluster.events(name).await.len(), 1, "{name}");
    }
    neutron.holds(&[]).await;

    // Another fault has another reason; a changed spec recovers, and one that turns bad keeps its network.
    cluster.change("outside", "10.0.0.0/24", "10.0.0.255").await;
    cluster.has_event("outside", "Warning", "GatewayIsBroadcastAddress", "gateway `10.0.0.255`").await;
    cluster.change("outside", "10.0.0.0/24", "10.0.0.7").await;
    neutron.holds(&[held("outside", "10.0.0.0/24", "10.0.0.7")]).await;
    cluster.has_event("outside", "Normal", "Synced", "").await;
    cluster.change("outside", "10.0.0.0/24", "ten").await;
    cluster.has_event("outside", "Warning", "InvalidGateway", "gateway `ten`").await;
    neutron.holds(&[held("outside", "10.0.0.0/24", "10.0.0.7")]).await;

    // An object that never had a network can be deleted, and so can one whose spec turned bad.
    for (name, ..) in BAD {
        cluster.delete(name).await;
        cluster.gone(name).await;
    }
    neutron.holds(&[]).await;
    controller.stop().await;
}

#[tokio::test]
async fn a_change_that_neutron_refuses_leaves_the_network_as_it_was() {
    require_servers!(Kubernetes, Neutron);
    let Setup { cluster, neutron } = Setup::new("refused", &["--drift-interval", "500ms"]).await;
    let controller = cluster.controller(&[]);
    let cases = [
        ("four", held("four", "10.0.0.0/24", "10.0.0.1"), "0.0.0.0/0", "10.0.0.1"),
        ("six", held("six", "fd00::/64", "fd00::1"), "fd00::/127", "fd00::1"),
    ];
    for (name, good, ..) in &cases {
        cluster.create(name, &good.1[0].0, &good.1[0].1).await;
    }
    let good = cases.clone().map(|(_, good, ..)| good);
    neutron.holds(&good).await;
    let subnets = async || {
        let networks = neutron.networks().await;
        let named = networks.iter().filter(|network| network["name"] == "four" || network["name"] == "six");
        let mut ids: Vec<_> = named.map(|network| network["subnets"].to_string()).collect();
        ids.sort();
        ids
    };
    let before = subnets().await;
    for (name, _, cidr, gateway) in &cases {
        cluster.change(name, cidr, gateway).await;
        cluster.has_event(name, "Warning", "ProviderRejected", "").await;
    }
    // Each further look tries it on a probe again, which is there for a moment.
    for (name, ..) in &cases {
        let processed = ["processing network", &format!("/{name} ")];
        controller.says_times(controller.count(&processed) + 2, &processed).await;
    }
    neutron.holds(&good).await;
    assert_eq!(subnets().await, before, "the subnets are the same, with everything that uses them");

    // A refused object that is new leaves nothing behind.
    cluster.create("new", "0.0.0.0/0", "10.0.0.1").await;
    cluster.has_event("new", "Warning", "ProviderRejected", "").await;
    neutron.holds(&good).await;
    for name in ["four", "six", "new"] {
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
    let controller = cluster.controller(&["--neutron-url", &url, "--drift-interval", "1s"]);
    cluster.create("first", "10.0.0.0/24", "10.0.0.1").await;
    neutron.holds(&[held("first", "10.0.0.0/24", "10.0.0.1")]).await;
    cluster.create("second", "10.1.0.0/24", "10.1.0.1").await;
    cluster.has_event("second", "Warning", "QuotaExceeded", "").await;
    let processing = ["processing network", "/second "];
    let (before, start) = (controller.count(&processing), Instant::now());
    controller.says_times(before + 3, &processing).await;
    // The first of the three may come at any time in its interval.
    assert!(start.elapsed() >= Duration::from_millis(1900), "once an interval: {:?}", start.elapsed());

    // Each refusal has another request id: it is in the log, and the event stays one.
    controller.says(&["/second ", "(request req-"]).await;
    let refusals = async || {
        let events = cluster.events("second").await;
        events.into_iter().filter(|[_, reason, ..]| reason == "QuotaExceeded").collect::<Vec<_>>()
    };
    let first = refusals().await;
    assert_eq!(first.len(), 1, "{first:?}");
    assert!(!first[0][2].contains("req-"), "{first:?}");
    let again = eventually("the event is counted", refusals, |again| *again != first).await;
    assert_eq!(again.len(), 1, "{again:?}");

    cluster.delete("first").await;
    neutron.holds(&[held("second", "10.1.0.0/24", "10.1.0.1")]).await;
    cluster.has_event("second", "Normal", "Synced", "").await;
    controller.stop().await;
}

#[tokio::test]
async fn networks_of_both_families_work_and_can_change_into_each_other() {
    require_servers!(Kubernetes, Neutron);
    let Setup { cluster, neutron } = Setup::new("six", &[]).await;
    let controller = cluster.controller(&[]);
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

/// Makes an object unreadable: the server takes a number for a range.
async fn spoil(cluster: &Cluster<'_>, name: &str) {
    let any = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    cluster.set_spec_schema(&any).await;
    let patch = Patch::merge(&json!({ "spec": { "cidr": 7 } }));
    let networks = cluster.networks();
    eventually(
        "the server takes a number for a range",
        // The answer is what cannot be read, so the outcome is seen in the error alone.
        async || networks.patch(name, &patch).await.err().map(|error| error.to_string()),
        |error| error.as_ref().is_some_and(|error| error.contains("does not decode")),
    )
    .await;
}

#[tokio::test]
async fn the_network_of_an_object_that_cannot_be_read_stays_even_after_a_restart() {
    require_servers!(ControlPlane, Neutron);
    let env = TestEnv::builder().own_servers().start().await.unwrap();
    let Setup { cluster, neutron } =
        Setup::of(Cluster::of(&env, "unreadable").await, &["--no-finalizer", "--drift-interval", "1s"]).await;
    let controller = cluster.controller(&[]);
    cluster.create("a", "10.0.0.0/24", "10.0.0.1").await;
    cluster.create("b", "10.1.0.0/24", "10.1.0.1").await;
    let both = [held("a", "10.0.0.0/24", "10.0.0.1"), held("b", "10.1.0.0/24", "10.1.0.1")];
    neutron.holds(&both).await;
    controller.stop().await;
    spoil(&cluster, "a").await;
    cluster.delete("b").await;

    let controller = cluster.controller(&[]);
    controller.says(&["does not decode", "/a"]).await;
    controller.says(&["found an orphaned network", "/b"]).await;
    neutron.holds(&both[..1]).await;
    controller.says_times(2, &["network cannot be read", "/a "]).await;
    assert_eq!(controller.count(&["found an orphaned network"]), 1);

    // When it can be read again, it is looked after again; when it is deleted, its network goes.
    cluster.change("a", "10.0.0.0/24", "10.0.0.2").await;
    neutron.holds(&[held("a", "10.0.0.0/24", "10.0.0.2")]).await;
    spoil(&cluster, "a").await;
    controller.says_times(2, &["does not decode", "/a"]).await;
    let _ = cluster.networks().delete("a").await;
    neutron.holds(&[]).await;
    controller.stop().await;
}

#[tokio::test]
async fn an_object_that_cannot_be_read_can_be_deleted() {
    require_servers!(ControlPlane, Neutron);
    let env = TestEnv::builder().own_servers().start().await.unwrap();
    let Setup { cluster, neutron } = Setup::of(Cluster::of(&env, "undeletable").await, &[]).await;
    let controller = cluster.controller(&[]);
    let names = ["running", "restarted"];
    for name in names {
        cluster.create(name, "10.0.0.0/24", "10.0.0.1").await;
    }
    neutron.holds(&names.map(|name| held(name, "10.0.0.0/24", "10.0.0.1"))).await;
    for name in names {
        spoil(&cluster, name).await;
        controller.says(&["does not decode", &format!("/{name} ")]).await;
    }

    // While the controller runs, and by one that has never seen the object readable. kubectl waits for it.
    cluster
        .env
        .kubectl(&["delete", "network", "running", "-n", &cluster.namespace, "--timeout=60s"])
        .await
        .unwrap();
    neutron.holds(&[held("restarted", "10.0.0.0/24", "10.0.0.1")]).await;
    controller.stop().await;
    let controller = cluster.controller(&[]);
    controller.says(&["does not decode", "/restarted "]).await;
    cluster.env.kubectl(&["delete", "namespace", &cluster.namespace, "--timeout=120s"]).await.unwrap();
    neutron.holds(&[]).await;
    controller.stop().await;
}
