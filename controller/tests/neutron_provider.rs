//! The Neutron provider on a real Neutron, alone and behind Keystone.

use std::{slice, time::Duration};

use genclient_testenv::{Neutron as Server, require_servers};
use samplecrd_controller::provider::{
    Cloud, Desired, Error, ErrorKind, Neutron, Owner, Provider, RetryPolicy,
};

/// A machine under load answers late.
const PATIENCE: Duration = Duration::from_secs(120);

fn owner(name: &str, uid: &str) -> Owner {
    Owner { namespace: "default".into(), name: name.into(), uid: uid.into() }
}

fn desired(cidr: &str, gateway: &str) -> Desired {
    Desired::parse(cidr, gateway).expect("the range and the gateway are valid")
}

fn provider(server: &Server) -> Neutron {
    Neutron::new(Cloud::at(server.url()), "test").expect("a URL is enough").with_timeout(PATIENCE)
}

/// A provider that logs in with these variables.
fn logged_in(variables: &[(&str, String)]) -> Neutron {
    let variable = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, v)| v.clone());
    let cloud = Cloud::from_env(variable).expect("no clouds file is read");
    Neutron::new(cloud, "test").expect("the credentials are complete").with_timeout(PATIENCE)
}

async fn is(neutron: &Neutron, owner: &Owner, wanted: &Desired) -> bool {
    neutron.get(owner).await.expect("Neutron answers").is_some_and(|actual| actual.is(wanted))
}

/// Tries again as the errors allow it: on a machine under load such a token can expire on its way.
async fn patiently<R>(call: impl AsyncFn() -> Result<R, Error>) -> R {
    let begun = std::time::Instant::now();
    loop {
        match call().await {
            Err(error) if error.retry_policy() == RetryPolicy::Backoff && begun.elapsed() < PATIENCE => {}
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
    assert_eq!(neutron.get(&owner).await, Ok(None));
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
        assert!(is(&neutron, &owner, &wanted).await, "{wanted:?}: {:?}", neutron.get(&owner).await);
        assert_eq!(*id.get_or_insert(made.id.clone()), made.id, "the network stays");
        neutron.apply(&owner, &wanted).await.unwrap();
    }
    assert_eq!(neutron.owners().await.unwrap(), slice::from_ref(&owner));
    neutron.delete(&owner).await.unwrap();
    neutron.delete(&owner).await.unwrap();
    neutron.delete_key(&owner.key()).await.unwrap();
    assert_eq!(neutron.owners().await.unwrap(), []);
}

#[tokio::test]
async fn left_overs_go_and_other_installations_stay() {
    require_servers!(Neutron);
    let server = Server::start().await.unwrap();
    let (ours, theirs) = (provider(&server), Neutron::new(Cloud::at(server.url()), "theirs").unwrap());
    let (earlier, now) = (owner("example", "uid-1"), owner("example", "uid-2"));
    let wanted = desired("10.0.0.0/24", "10.0.0.1");
    theirs.apply(&earlier, &wanted).await.unwrap();
    ours.apply(&earlier, &wanted).await.unwrap();
    ours.apply(&now, &wanted).await.unwrap();
    assert_eq!(ours.owners().await.unwrap(), slice::from_ref(&now));
    ours.delete_key(&now.key()).await.unwrap();
    assert_eq!(ours.owners().await.unwrap(), []);
    assert!(is(&theirs, &earlier, &wanted).await);
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
        neutron.delete_key(&owner.key()).await.unwrap();
    }
    assert_eq!(neutron.owners().await.unwrap(), []);
}

#[tokio::test]
async fn what_neutron_refuses_needs_a_change() {
    require_servers!(Neutron);
    let server = Server::builder().network_quota(1).start().await.unwrap();
    let neutron = provider(&server);
    let wanted = desired("10.0.0.0/24", "10.0.0.1");
    neutron.apply(&owner("first", "uid-1"), &wanted).await.unwrap();
    let refused: Error = neutron.apply(&owner("second", "uid-2"), &wanted).await.unwrap_err();
    assert_eq!((refused.kind, refused.retry_policy()), (ErrorKind::OverQuota, RetryPolicy::AfterChange));
    assert!(refused.request_id.as_deref().is_some_and(|id| id.starts_with("req-")), "{refused}");
    let everything = Desired { cidr: "0.0.0.0/0".parse().unwrap(), gateway: "10.0.0.1".parse().unwrap() };
    let refused = neutron.apply(&owner("first", "uid-1"), &everything).await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Rejected, "{refused}");
}

#[tokio::test]
async fn a_paused_or_killed_neutron_is_unavailable_and_then_made_good() {
    require_servers!(Neutron);
    let server = Server::start().await.unwrap();
    let neutron = provider(&server);
    let impatient = provider(&server).with_timeout(Duration::from_millis(300));
    let (owner, wanted) = (owner("example", "uid-1"), desired("10.0.0.0/24", "10.0.0.1"));
    server.pause().unwrap();
    let error = impatient.apply(&owner, &wanted).await.unwrap_err();
    assert_eq!((error.kind, error.retry_policy()), (ErrorKind::Unavailable, RetryPolicy::Backoff));
    server.resume().unwrap();
    neutron.apply(&owner, &wanted).await.unwrap();
    server.kill9().await.unwrap();
    assert_eq!(neutron.get(&owner).await.unwrap_err().kind, ErrorKind::Unavailable);
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
    assert_eq!(logged_in(&wrong).get(&owner).await.unwrap_err().kind, ErrorKind::Unauthorized);

    let keystone = server.keystone().unwrap();
    let token = keystone.token().await.unwrap();
    let fixed = logged_in(&[("OS_TOKEN", token.clone()), ("OS_ENDPOINT", server.url())]);
    assert!(is(&fixed, &owner, &wanted).await);
    keystone.revoke(&token).await.unwrap();
    assert_eq!(fixed.get(&owner).await.unwrap_err().kind, ErrorKind::Unauthorized, "nobody can renew it");
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
    let seen = patiently(async || neutron.get(&owner).await).await;
    assert!(seen.is_some_and(|actual| actual.is(&wanted)));
}
