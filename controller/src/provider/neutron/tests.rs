//! The provider against a small Neutron that fails on demand.

use neutron_client::fake::{self, Fake, Fault};

use super::*;
use crate::provider::RetryPolicy;

fn owner() -> Owner {
    Owner { namespace: "default".into(), name: "example".into(), uid: "uid-1".into() }
}

fn desired(cidr: &str, gateway: &str) -> Desired {
    Desired::parse(cidr, gateway).unwrap()
}

fn ten() -> Desired {
    desired("10.0.0.0/24", "10.0.0.1")
}

async fn start() -> (Fake, Neutron) {
    let fake = Fake::start().await;
    let neutron = Neutron::new(Cloud::at(&fake.url), "test").unwrap();
    (fake, neutron)
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
    assert_eq!(neutron.get(&owner()).await, Ok(None));
    for desired in [
        ten(),
        desired("10.0.0.0/24", "10.0.0.9"),
        desired("10.0.0.0/16", "10.0.0.9"),
        desired("192.168.0.0/24", "192.168.0.1"),
        desired("fd00::/64", "fd00::1"),
    ] {
        let made = neutron.apply(&owner(), &desired).await.unwrap();
        assert_holds(&fake, &desired, "applied");
        let seen = neutron.get(&owner()).await.unwrap().unwrap();
        assert!(seen.is(&desired), "{seen:?}");
        assert_eq!(seen.id, made.id, "the network stays");
        let before = fake.requests().len();
        neutron.apply(&owner(), &desired).await.unwrap();
        let writes = fake.requests()[before..].iter().any(|request| !request.starts_with("GET"));
        assert!(!writes, "what is as desired is not written");
    }
    assert_eq!(neutron.owners().await.unwrap(), [owner()]);
    neutron.delete(&owner()).await.unwrap();
    neutron.delete(&owner()).await.unwrap();
    assert!(fake.state.lock().networks.is_empty());
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
                let seen = neutron.get(&owner()).await;
                let seen = if seen.is_err() { neutron.get(&owner()).await } else { seen };
                assert!(seen.unwrap().unwrap().tidy);
                assert_holds(&fake, desired, &format!("{fault:?} at request {at}"));
            }
            if neutron.delete(&owner()).await.is_err() {
                neutron.delete(&owner()).await.unwrap();
            }
            assert!(fake.state.lock().networks.is_empty());
            if fake.state.lock().faults.contains_key(&at) {
                assert!(at > 15, "the fault was never reached after {at} requests");
                break;
            }
        }
    }
}

#[tokio::test]
async fn duplicates_and_left_overs_are_collected() {
    let (fake, neutron) = start().await;
    let earlier = Owner { uid: "uid-0".into(), ..owner() };
    neutron.apply(&earlier, &ten()).await.unwrap();
    let marker = neutron.marker(&owner());
    for _ in 0..3 {
        let body = json!({ "name": "example", "description": marker });
        neutron.client.create_network(body).await.unwrap();
    }
    let seen = neutron.get(&owner()).await.unwrap().unwrap();
    assert_eq!((seen.id.as_str(), seen.config, seen.tidy), ("net-003", None, false));
    assert!(neutron.apply(&owner(), &ten()).await.unwrap().is(&ten()));
    assert_holds(&fake, &ten(), "collected");
    assert_eq!(fake.state.lock().networks.keys().next().unwrap(), "net-003", "the oldest stays");
}

#[tokio::test]
async fn what_others_made_is_never_touched() {
    let (fake, neutron) = start().await;
    let other = Neutron::new(Cloud::at(&fake.url), "other").unwrap();
    other.apply(&owner(), &ten()).await.unwrap();
    for (name, description) in [
        ("example", String::new()),
        ("example", "samplecrd-controller".into()),
        ("example", neutron.marker(&owner()).to_uppercase()),
        ("example", format!("{} and more", neutron.marker(&owner()))),
        ("EXAMPLE", neutron.marker(&Owner { name: "EXAMPLE".into(), uid: "2".into(), ..owner() })),
    ] {
        let body = json!({ "name": name, "description": description });
        neutron.client.create_network(body).await.unwrap();
    }
    let before = fake.state.lock().networks.clone();
    assert_eq!(neutron.get(&owner()).await, Ok(None));
    neutron.apply(&owner(), &ten()).await.unwrap();
    neutron.delete(&owner()).await.unwrap();
    neutron.delete_key(&owner().key()).await.unwrap();
    assert_eq!(fake.state.lock().networks, before);
    let owners = neutron.owners().await.unwrap();
    assert_eq!(owners.iter().map(|owner| owner.name.as_str()).collect::<Vec<_>>(), ["EXAMPLE"]);
}

#[tokio::test]
async fn a_network_with_a_foreign_subnet_is_not_deleted() {
    let (fake, neutron) = start().await;
    let id = neutron.apply(&owner(), &ten()).await.unwrap().id;
    let foreign =
        json!({ "network_id": id, "description": "mine", "cidr": "172.16.0.0/24", "gateway_ip": null });
    neutron.client.create_subnet(foreign).await.unwrap();
    assert!(neutron.get(&owner()).await.unwrap().unwrap().is(&ten()), "it is ignored otherwise");
    let error = neutron.delete(&owner()).await.unwrap_err();
    assert_eq!((error.kind, error.retry_policy()), (ErrorKind::InUse, RetryPolicy::Backoff));
    assert_eq!(fake.state.lock().subnets.len(), 2);
}

#[tokio::test]
async fn changes_behind_the_back_are_seen_and_repaired() {
    let (fake, neutron) = start().await;
    let id = neutron.apply(&owner(), &ten()).await.unwrap().id;
    type Change = fn(&mut fake::State);
    let changes: [Change; 5] = [
        |state| state.subnets.clear(),
        |state| state.networks.values_mut().for_each(|network| network["name"] = json!("renamed")),
        |state| state.networks.values_mut().for_each(|network| network["tags"] = json!([])),
        |state| state.subnets.values_mut().for_each(|subnet| subnet["gateway_ip"] = Value::Null),
        |state| state.subnets.values_mut().for_each(|subnet| subnet["cidr"] = json!("10.7.0.0/24")),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        change(&mut fake.state.lock());
        let seen = neutron.get(&owner()).await.unwrap().unwrap();
        assert!(!seen.is(&ten()), "change {number} is not seen: {seen:?}");
        assert_eq!(neutron.apply(&owner(), &ten()).await.unwrap().id, id);
        assert_holds(&fake, &ten(), &format!("change {number}"));
    }
}

#[test]
fn markers_fit_into_a_description() {
    let neutron = Neutron::new(Cloud::at("http://n"), &"ä /".repeat(100)).unwrap();
    let longest = Owner { namespace: "n".repeat(63), name: "x".repeat(253), uid: "u".repeat(36) };
    let marker = neutron.marker(&longest);
    assert!(marker.len() <= 255, "{}", marker.len());
    let network = Network {
        id: String::new(),
        name: longest.name.clone(),
        description: marker,
        created_at: String::new(),
        tags: None,
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
