//! The provider on a small Neutron that fails on demand.

use std::time::Duration;

use neutron_client::{
    Cloud,
    fake::{self, Fake, Fault},
};

use super::*;

fn owner() -> Owner {
    Owner { namespace: "default".into(), name: "example".into(), uid: "uid-1".into() }
}

fn desired(cidr: &str, gateway: &str) -> Desired {
    Desired::parse(cidr, gateway).unwrap()
}

fn ten() -> Desired {
    desired("10.0.0.0/24", "10.0.0.1")
}

fn installed(fake: &Fake, installation: &str) -> Neutron {
    in_cluster(fake, installation, "cluster-1")
}

fn in_cluster(fake: &Fake, installation: &str, cluster: &str) -> Neutron {
    let installation = Installation::new(installation.parse().unwrap(), cluster);
    Neutron::new(Client::new(&Cloud::at(&fake.url)).unwrap(), installation)
}

/// The uids of the owners of the networks.
async fn uids(neutron: &Neutron) -> Vec<String> {
    neutron.list().await.unwrap().into_iter().map(|listed| listed.owner.uid).collect()
}

async fn start() -> (Fake, Neutron) {
    let fake = Fake::start().await;
    let neutron = installed(&fake, "test");
    (fake, neutron)
}

/// The requests that change something.
fn writes(fake: &Fake, from: usize) -> Vec<String> {
    fake.requests()[from..].iter().filter(|request| !request.starts_with("GET")).cloned().collect()
}

/// There is exactly one network with exactly one subnet, and they are as desired.
fn assert_holds(fake: &Fake, desired: &Desired, context: &str) {
    let state = fake.state.lock();
    let networks: Vec<_> = state.networks.values().collect();
    let subnets: Vec<_> = state.subnets.values().collect();
    assert_eq!((networks.len(), subnets.len()), (1, 1), "{context}: {networks:?} {subnets:?}");
    assert_eq!(subnets[0]["network_id"], networks[0]["id"], "{context}");
    assert_eq!(subnets[0]["cidr"], desired.cidr.to_string(), "{context}");
    assert_eq!(subnets[0]["gateway_ip"], desired.gateway.to_string(), "{context}");
    assert_eq!(networks[0]["tags"], json!([TAG]), "{context}");
    assert_eq!(networks[0]["name"], "example", "{context}");
}

#[tokio::test]
async fn a_network_is_made_changed_and_removed() {
    let (fake, neutron) = start().await;
    let mut id = None;
    for desired in [
        ten(),
        desired("10.0.0.0/24", "10.0.0.9"),
        desired("10.0.0.0/16", "10.0.0.9"),
        desired("192.168.0.0/24", "192.168.0.1"),
        desired("fd00::/64", "fd00::1"),
    ] {
        let made = neutron.apply(&owner(), &desired).await.unwrap();
        let first = id.is_none();
        assert_eq!(*id.get_or_insert(made.id.clone()), made.id, "the network stays");
        assert_eq!(made.change, if first { Change::Created } else { Change::Updated });
        assert_holds(&fake, &desired, "applied");
        let before = fake.requests().len();
        assert_eq!(neutron.apply(&owner(), &desired).await.unwrap().change, Change::None);
        assert_eq!(writes(&fake, before), [""; 0], "what is as desired is not written");
        assert_eq!(fake.requests().len() - before, 2, "one look at the networks, one at the subnets");
    }
    assert_eq!(neutron.list().await.unwrap(), [Listed { owner: owner(), is_empty: false }]);
    neutron.delete(&owner()).await.unwrap();
    neutron.delete(&owner()).await.unwrap();
    assert!(fake.state.lock().networks.is_empty());
}

#[tokio::test]
async fn a_network_is_made_with_one_look_and_three_writes() {
    let (fake, neutron) = start().await;
    neutron.apply(&owner(), &ten()).await.unwrap();
    let wanted = ["GET /v2.0/networks", "POST /v2.0/networks", "POST /v2.0/subnets"];
    assert_eq!(fake.requests()[..3], wanted);
    assert_eq!(fake.requests().len(), 4, "and the tag: {:?}", fake.requests());
}

/// For every request of every change: it is refused, or carried out without an answer. The next try
/// must end where an undisturbed one ends.
#[tokio::test]
async fn a_fault_at_any_request_is_made_good_by_the_next_try() {
    let steps = [ten(), desired("10.0.0.0/24", "10.0.0.9"), desired("10.0.0.0/16", "10.0.0.9")];
    for fault in [Fault::LoseAnswer, Fault::Refuse(500, "<html>trouble</html>".into())] {
        for at in 0.. {
            let (fake, neutron) = start().await;
            fake.fail(at, fault.clone());
            for desired in &steps {
                let mut tries = 0;
                while neutron.apply(&owner(), desired).await.is_err() {
                    tries += 1;
                    assert!(tries < 3);
                }
                assert_holds(&fake, desired, &format!("{fault:?} at request {at}"));
            }
            if neutron.delete(&owner()).await.is_err() {
                neutron.delete(&owner()).await.unwrap();
            }
            assert!(fake.state.lock().networks.is_empty());
            if fake.state.lock().faults.contains_key(&at) {
                assert!(at > 12, "the fault was never reached after {at} requests");
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_change_that_neutron_refuses_leaves_the_working_subnet_untouched() {
    let (fake, neutron) = start().await;
    neutron.apply(&owner(), &ten()).await.unwrap();
    let before = fake.state.lock().subnets.clone();
    for _ in 0..2 {
        let error = neutron.apply(&owner(), &desired("0.0.0.0/0", "10.0.0.1")).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Rejected, "{error}");
        assert_eq!(fake.state.lock().subnets, before);
        assert_holds(&fake, &ten(), "refused");
    }
}

#[tokio::test]
async fn a_change_to_an_overlapping_range_without_room_for_a_probe_is_refused() {
    let (fake, neutron) = start().await;
    neutron.apply(&owner(), &ten()).await.unwrap();
    let before = fake.state.lock().subnets.clone();
    fake.state.lock().network_quota = Some(1);
    for wider in [desired("0.0.0.0/0", "10.0.0.1"), desired("10.0.0.0/16", "10.0.0.1")] {
        let error = neutron.apply(&owner(), &wider).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::OverQuota, "{error}");
        assert!(error.message.contains("needs room for one more network"), "{error}");
        assert_eq!(fake.state.lock().subnets, before);
    }
    let apart = desired("10.7.0.0/24", "10.7.0.1");
    neutron.apply(&owner(), &apart).await.unwrap();
    assert_holds(&fake, &apart, "a range that does not overlap needs no probe");
}

#[tokio::test]
async fn a_refusal_reads_the_same_at_each_attempt() {
    let (fake, neutron) = start().await;
    let everything = desired("0.0.0.0/0", "10.0.0.1");
    let refusal = async || neutron.apply(&owner(), &everything).await.unwrap_err().message;
    assert_eq!(refusal().await, refusal().await, "of a new network");
    neutron.apply(&owner(), &ten()).await.unwrap();
    assert_eq!(refusal().await, refusal().await, "of a probe");
    assert_holds(&fake, &ten(), "refused");
}

/// Drops the call when it reaches the given request, as a crash would. Returns whether it was reached.
async fn crashes(fake: &Fake, at: usize, call: impl Future) -> bool {
    fake.fail(at, Fault::Hang);
    tokio::time::timeout(Duration::from_millis(300), call).await.is_err()
}

#[tokio::test]
async fn a_network_whose_change_is_interrupted_works_whatever_its_spec_becomes() {
    let wider = desired("10.0.0.0/16", "10.0.0.1");
    // Neutron refuses the next spec, or it is invalid.
    for next in [Some(desired("0.0.0.0/0", "10.0.0.1")), None] {
        for at in 0.. {
            let (fake, neutron) = start().await;
            neutron.apply(&owner(), &ten()).await.unwrap();
            if !crashes(&fake, at, neutron.apply(&owner(), &wider)).await {
                assert!(at > 6, "the change took only {at} requests");
                break;
            }
            match &next {
                Some(next) => assert!(neutron.apply(&owner(), next).await.unwrap_err().kind.is_refusal()),
                None => neutron.tidy(&owner()).await.unwrap(),
            }
            let cidr = fake.state.lock().subnets.values().next().map(|subnet| subnet["cidr"].to_string());
            let now = if cidr.is_some_and(|cidr| cidr.contains("/16")) { wider } else { ten() };
            assert_holds(&fake, &now, &format!("interrupted at request {at}, then {next:?}"));
        }
    }
}

#[tokio::test]
async fn a_network_whose_creation_is_interrupted_does_not_stay_without_a_subnet() {
    for at in 0.. {
        let (fake, neutron) = start().await;
        if !crashes(&fake, at, neutron.apply(&owner(), &ten())).await {
            assert!(at > 2, "the creation took only {at} requests");
            break;
        }
        neutron.tidy(&owner()).await.unwrap();
        let state = fake.state.lock();
        assert_eq!(state.networks.len(), state.subnets.len(), "interrupted at request {at}");
    }
}

#[tokio::test]
async fn a_range_that_overlaps_with_a_foreign_subnet_of_the_network_is_refused_before_anything_is_written() {
    let (fake, neutron) = start().await;
    let id = neutron.apply(&owner(), &ten()).await.unwrap().id;
    let foreign =
        json!({ "network_id": id, "description": "mine", "cidr": "10.0.1.0/24", "gateway_ip": null });
    neutron.client.create_subnet(foreign).await.unwrap();
    let before = fake.requests().len();
    let error = neutron.apply(&owner(), &desired("10.0.0.0/16", "10.0.0.1")).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Rejected, "{error}");
    assert_eq!(writes(&fake, before), [""; 0]);
}

#[tokio::test]
async fn a_probe_that_a_crash_left_behind_is_removed_and_never_taken_for_the_network() {
    let (fake, neutron) = start().await;
    let body = json!({ "name": PROBE, "description": neutron.marker(&owner()) });
    neutron.client.create_network(body.clone()).await.unwrap();
    neutron.apply(&owner(), &ten()).await.unwrap();
    assert_holds(&fake, &ten(), "made");
    neutron.client.create_network(body.clone()).await.unwrap();
    neutron.tidy(&owner()).await.unwrap();
    assert_holds(&fake, &ten(), "tidied");
    neutron.client.create_network(body).await.unwrap();
    neutron.apply(&owner(), &desired("0.0.0.0/0", "10.0.0.1")).await.unwrap_err();
    assert_holds(&fake, &ten(), "refused");
}

#[tokio::test]
async fn a_network_whose_subnet_is_refused_is_not_left_behind() {
    let (fake, neutron) = start().await;
    neutron.apply(&owner(), &desired("0.0.0.0/0", "10.0.0.1")).await.unwrap_err();
    assert!(fake.state.lock().networks.is_empty());
}

#[tokio::test]
async fn duplicates_are_reduced_to_the_oldest_even_if_the_change_is_refused() {
    let (fake, neutron) = start().await;
    let marker = neutron.marker(&owner());
    let duplicate = async || {
        let body = json!({ "name": "example", "description": marker });
        neutron.client.create_network(body).await.unwrap();
    };
    for _ in 0..3 {
        duplicate().await;
    }
    assert_eq!(neutron.list().await.unwrap(), vec![Listed { owner: owner(), is_empty: true }; 3]);
    assert_eq!(neutron.apply(&owner(), &ten()).await.unwrap().change, Change::Updated);
    assert_holds(&fake, &ten(), "collected");
    assert_eq!(fake.state.lock().networks.keys().next().unwrap(), "net-001", "the oldest stays");
    // A working network stays even if an empty duplicate is older.
    duplicate().await;
    for network in fake.state.lock().networks.values_mut().skip(1) {
        network["created_at"] = json!("2025-01-01T00:00:00Z");
    }
    neutron.apply(&owner(), &ten()).await.unwrap();
    assert_eq!(fake.state.lock().networks.keys().next().unwrap(), "net-001");
    duplicate().await;
    neutron.apply(&owner(), &desired("0.0.0.0/0", "10.0.0.1")).await.unwrap_err();
    assert_holds(&fake, &ten(), "refused");
    duplicate().await;
    neutron.tidy(&owner()).await.unwrap();
    assert_holds(&fake, &ten(), "tidied");
}

#[tokio::test]
async fn what_others_made_is_never_touched() {
    let (fake, neutron) = start().await;
    let another = Owner { uid: "uid-0".into(), ..owner() };
    for (installation, cluster) in [
        ("other", "cluster-1"),
        ("TEST", "cluster-1"),
        ("test-two", "cluster-1"),
        ("tes", "cluster-1"),
        ("test", "cluster-2"),
        ("test", "CLUSTER-1"),
    ] {
        in_cluster(&fake, installation, cluster).apply(&owner(), &ten()).await.unwrap();
    }
    for description in [
        String::new(),
        "samplecrd-controller".into(),
        neutron.marker(&owner()).to_uppercase(),
        format!("{} and more", neutron.marker(&owner())),
        neutron.marker(&owner()).replace("default", "theirs"),
        // An object of this installation with the same name: only its own uid may delete it.
        neutron.marker(&another),
    ] {
        let body = json!({ "name": "example", "description": description });
        neutron.client.create_network(body).await.unwrap();
    }
    let before = fake.state.lock().networks.clone();
    neutron.apply(&owner(), &ten()).await.unwrap();
    neutron.tidy(&owner()).await.unwrap();
    neutron.delete(&owner()).await.unwrap();
    assert_eq!(fake.state.lock().networks, before);
    assert_eq!(uids(&neutron).await, ["uid-1", "uid-0"], "in the namespace `theirs`, and the other object");
    assert_eq!(neutron.elsewhere.load(Relaxed), 2, "those of the same name in other clusters");
    let foreign = neutron.client.networks(&[]).await.unwrap().remove(0);
    assert!(neutron.remove(&owner(), &foreign).await.is_err(), "the last check before a deletion");
    assert_eq!(fake.state.lock().networks, before);
}

#[tokio::test]
async fn a_network_with_a_foreign_subnet_is_not_deleted() {
    let (fake, neutron) = start().await;
    let id = neutron.apply(&owner(), &ten()).await.unwrap().id;
    let foreign =
        json!({ "network_id": id, "description": "mine", "cidr": "172.16.0.0/24", "gateway_ip": null });
    neutron.client.create_subnet(foreign).await.unwrap();
    let applied = neutron.apply(&owner(), &ten()).await.unwrap();
    assert_eq!(applied.change, Change::None, "it is ignored otherwise");
    let error = neutron.delete(&owner()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::InUse);
    assert_eq!(fake.state.lock().subnets.len(), 2);
}

#[tokio::test]
async fn changes_behind_the_back_are_seen_and_repaired() {
    let (fake, neutron) = start().await;
    let id = neutron.apply(&owner(), &ten()).await.unwrap().id;
    type Tamper = fn(&mut fake::State);
    let changes: [Tamper; 5] = [
        |state| state.subnets.clear(),
        |state| state.networks.values_mut().for_each(|network| network["name"] = json!("renamed")),
        |state| state.networks.values_mut().for_each(|network| network["tags"] = json!([])),
        |state| state.subnets.values_mut().for_each(|subnet| subnet["gateway_ip"] = Value::Null),
        |state| state.subnets.values_mut().for_each(|subnet| subnet["cidr"] = json!("10.7.0.0/24")),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        change(&mut fake.state.lock());
        let applied = neutron.apply(&owner(), &ten()).await.unwrap();
        assert_eq!(applied, Applied { id: id.clone(), change: Change::Updated }, "change {number}");
        assert_holds(&fake, &ten(), &format!("change {number}"));
    }
}

#[tokio::test]
async fn markers_fit_into_a_description() {
    let (fake, _) = start().await;
    let neutron = in_cluster(&fake, &"i".repeat(48), &"c".repeat(36));
    let longest = Owner { namespace: "n".repeat(63), name: "x".repeat(253), uid: "u".repeat(36) };
    let marker = neutron.marker(&longest);
    assert_eq!(marker.len(), 242);
    let network = Network {
        id: String::new(),
        name: longest.name.clone(),
        description: marker,
        created_at: String::new(),
        tags: None,
        subnets: Vec::new(),
    };
    assert_eq!(neutron.owner_of(&network), Some(longest));
}

#[test]
fn pools_leave_the_gateway_out() {
    let text = |cidr, gateway| pools(&desired(cidr, gateway)).to_string();
    assert_eq!(text("10.0.0.0/24", "10.0.0.1"), r#"[{"end":"10.0.0.254","start":"10.0.0.2"}]"#);
    assert_eq!(text("10.0.0.0/24", "10.0.0.254"), r#"[{"end":"10.0.0.253","start":"10.0.0.1"}]"#);
    assert_eq!(
        text("10.0.0.0/29", "10.0.0.3"),
        r#"[{"end":"10.0.0.2","start":"10.0.0.1"},{"end":"10.0.0.6","start":"10.0.0.4"}]"#
    );
    assert_eq!(text("fd00::/126", "fd00::3"), r#"[{"end":"fd00::2","start":"fd00::1"}]"#);
}
