//! The Neutron provider on a real Neutron, alone and behind Keystone.

use std::{slice, time::Duration};

use genclient_testenv::{Neutron as Server, require_servers};
use neutron_client::Client;
use samplecrd_controller::provider::{
    Change, Cloud, Desired, Error, ErrorKind, Installation, Neutron, Owner, Provider,
};

/// A machine under load answers late.
const PATIENCE: Duration = Duration::from_secs(120);

fn owner(name: &str, uid: &str) -> Owner {
    Owner { namespace: "default".into(), name: name.into(), uid: uid.into() }
}

fn desired(cidr: &str, gateway: &str) -> Desired {
    Desired::parse(cidr, gateway).expect("the range and the gateway are valid")
}

fn installed(cloud: &Cloud, installation: &str, patience: Duration) -> Neutron {
    let client = Client::new(cloud).expect("the cloud is complete").with_timeout(patience);
    Neutron::new(client, Installation::new(installation.parse().expect("the name is plain"), "cluster"))
}

fn provider(server: &Server) -> Neutron {
    installed(&Cloud::at(server.url()), "test", PATIENCE)
}

/// A provider that logs in with these variables.
fn logged_in(variables: &[(&str, String)]) -> Neutron {
    let variable = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, v)| v.clone());
    installed(&Cloud::from_env(variable).expect("no clouds file is read"), "test", PATIENCE)
}

/// The owners of the networks.
async fn owners(neutron: &Neutron) -> Vec<Owner> {
    neutron.list().await.expect("Neutron answers").into_iter().map(|listed| listed.owner).collect()
}

/// Whether there was nothing to do.
async fn is(neutron: &Neutron, owner: &Owner, wanted: &Desired) -> bool {
    neutron.apply(owner, wanted).await.expect("Neutron answers").change == Change::None
}

/// Tries again as the errors allow it: on a machine under load such a token can expire on its way.
async fn patiently<R>(call: impl AsyncFn() -> Result<R, Error>) -> R {
    let begun = std::time::Instant::now();
    loop {
        match call().await {
            Err(error) if !error.kind.is_refusal() && begun.elapsed() < PATIENCE => {}
            result => return result.expect("trying again helps"),
        }
    }
}

#[tokio::test]
async fn networks_are_made_changed_and_removed() {
    require_servers!(Neutron);
    let server = Server::start().await.unwrap();
    let neutron = provider(&server);
    let owner = owner("example", "uid-1");
    let mut id = None;
    for wanted in [
        desired("192.168.1.0/16", "192.168.0.1"),
        desired("192.168.0.0/16", "192.168.7.7"),
        desired("192.168.0.0/16", "192.168.255.254"),
        desired("192.168.0.0/24", "192.168.0.1"),
        desired("10.1.2.0/29", "10.1.2.3"),
        desired("fd00:7::/64", "fd00:7::1"),
        desired("fd00:7::/64", "fd00:7::9"),
    ] {
        let made = neutron.apply(&owner, &wanted).await.unwrap();
        assert!(is(&neutron, &owner, &wanted).await, "{wanted:?}");
        assert_eq!(*id.get_or_insert(made.id.clone()), made.id, "the network stays");
    }
    assert_eq!(owners(&neutron).await, slice::from_ref(&owner));
    neutron.delete(&owner).await.unwrap();
    neutron.delete(&owner).await.unwrap();
    assert_eq!(owners(&neutron).await, []);
}

#[tokio::test]
async fn other_objects_and_other_installations_stay() {
    require_servers!(Neutron);
    let server = Server::start().await.unwrap();
    let (ours, theirs) = (provider(&server), installed(&Cloud::at(server.url()), "TEST", PATIENCE));
    let (earlier, now) = (owner("example", "uid-1"), owner("example", "uid-2"));
    let wanted = desired("10.0.0.0/24", "10.0.0.1");
    for (provider, owner) in [(&theirs, &earlier), (&ours, &earlier), (&ours, &now)] {
        assert_eq!(provider.apply(owner, &wanted).await.unwrap().change, Change::Created);
    }
    ours.delete(&earlier).await.unwrap();
    assert_eq!(owners(&ours).await, slice::from_ref(&now));
    ours.delete(&now).await.unwrap();
    assert_eq!(owners(&ours).await, []);
    assert!(is(&theirs, &earlier, &wanted).await);
}

#[tokio::test]
async fn what_neutron_refuses_leaves_the_network_as_it_was() {
    require_servers!(Neutron);
    // With room for a probe, and without.
    for (quota, kind) in [(10, ErrorKind::Rejected), (1, ErrorKind::OverQuota)] {
        let server = Server::builder().network_quota(quota).start().await.unwrap();
        let neutron = provider(&server);
        let owner = owner("example", "uid-1");
        for (good, bad) in [
            (desired("10.0.0.0/24", "10.0.0.1"), ("0.0.0.0/0", "10.0.0.1")),
            (desired("fd00::/64", "fd00::1"), ("fd00::/127", "fd00::1")),
        ] {
            neutron.apply(&owner, &good).await.unwrap();
            let bad = Desired { cidr: bad.0.parse().unwrap(), gateway: bad.1.parse().unwrap() };
            let refused = neutron.apply(&owner, &bad).await.unwrap_err();
            assert_eq!(refused.kind, kind, "{refused}");
            assert!(is(&neutron, &owner, &good).await, "quota {quota}, {bad:?}");
        }
        assert_eq!(owners(&neutron).await, slice::from_ref(&owner), "no probe is left");
    }
}

#[tokio::test]
async fn long_names_and_odd_ones_are_found_again() {
    require_servers!(Neutron);
    let server = Server::start().await.unwrap();
    let neutron = provider(&server);
    let wanted = desired("10.0.0.0/24", "10.0.0.1");
    let longest = Owner { namespace: "n".repeat(63), name: "x".repeat(253), uid: "u".repeat(36) };
    for owner in [longest, owner("a.b-c", "uid-3")] {
        neutron.apply(&owner, &wanted).await.unwrap();
        assert!(is(&neutron, &owner, &wanted).await);
        neutron.delete(&owner).await.unwrap();
    }
    assert_eq!(owners(&neutron).await, []);
}

#[tokio::test]
async fn a_used_up_quota_is_named_with_the_request() {
    require_servers!(Neutron);
    let server = Server::builder().network_quota(1).start().await.unwrap();
    let neutron = provider(&server);
    let wanted = desired("10.0.0.0/24", "10.0.0.1");
    neutron.apply(&owner("first", "uid-1"), &wanted).await.unwrap();
    let refused: Error = neutron.apply(&owner("second", "uid-2"), &wanted).await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::OverQuota);
    assert!(refused.request_id.as_deref().is_some_and(|id| id.starts_with("req-")), "{refused}");
}

#[tokio::test]
async fn a_paused_or_killed_neutron_is_unavailable_and_then_made_good() {
    require_servers!(Neutron);
    let server = Server::start().await.unwrap();
    let neutron = provider(&server);
    let impatient = installed(&Cloud::at(server.url()), "test", Duration::from_millis(300));
    let (owner, wanted) = (owner("example", "uid-1"), desired("10.0.0.0/24", "10.0.0.1"));
    server.pause().unwrap();
    let error = impatient.apply(&owner, &wanted).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable);
    server.resume().unwrap();
    neutron.apply(&owner, &wanted).await.unwrap();
    server.kill9().await.unwrap();
    assert_eq!(neutron.apply(&owner, &wanted).await.unwrap_err().kind, ErrorKind::Unavailable);
    server.restart().await.unwrap();
    assert!(is(&neutron, &owner, &wanted).await);
}

#[tokio::test]
async fn a_password_gives_a_token_and_a_revoked_one_is_renewed() {
    require_servers!(Neutron, Keystone);
    let server = Server::with_keystone().await.unwrap();
    let credentials = server.keystone().unwrap().credentials();
    let neutron = logged_in(&credentials);
    let (owner, wanted) = (owner("example", "uid-1"), desired("10.0.0.0/24", "10.0.0.1"));
    neutron.apply(&owner, &wanted).await.unwrap();
    assert!(is(&neutron, &owner, &wanted).await);

    let mut wrong = credentials.clone();
    wrong.iter_mut().filter(|(name, _)| *name == "OS_PASSWORD").for_each(|(_, value)| value.push('x'));
    assert_eq!(logged_in(&wrong).apply(&owner, &wanted).await.unwrap_err().kind, ErrorKind::Unauthorized);

    let keystone = server.keystone().unwrap();
    let token = keystone.token().await.unwrap();
    let fixed = logged_in(&[("OS_TOKEN", token.clone()), ("OS_ENDPOINT", server.url())]);
    assert!(is(&fixed, &owner, &wanted).await);
    keystone.revoke(&token).await.unwrap();
    assert_eq!(
        fixed.apply(&owner, &wanted).await.unwrap_err().kind,
        ErrorKind::Unauthorized,
        "nobody can renew it"
    );
    assert!(is(&neutron, &owner, &wanted).await);
}

#[tokio::test]
async fn an_expired_token_is_renewed() {
    require_servers!(Neutron, Keystone);
    let server =
        Server::builder().with_keystone().token_lifetime(Duration::from_secs(15)).start().await.unwrap();
    let neutron = logged_in(&server.keystone().unwrap().credentials());
    let (owner, wanted) = (owner("example", "uid-1"), desired("10.0.0.0/24", "10.0.0.1"));
    patiently(async || neutron.apply(&owner, &wanted).await).await;
    // The clock that matters is the servers' own: a token lives that long and no shorter.
    tokio::time::sleep(Duration::from_secs(16)).await;
    let seen = patiently(async || neutron.apply(&owner, &wanted).await).await;
    assert_eq!(seen.change, Change::None);
}
