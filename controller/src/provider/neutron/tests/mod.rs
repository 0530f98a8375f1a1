//! The provider against a small Neutron that fails on demand.

mod fake;

use self::fake::{Fake, Fault};
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
        let _: Network = neutron.write(Method::POST, "/networks", "network", body).await.unwrap();
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
        let _: Network = neutron.write(Method::POST, "/networks", "network", body).await.unwrap();
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
    let _: Subnet = neutron.write(Method::POST, "/subnets", "subnet", foreign).await.unwrap();
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

#[tokio::test]
async fn refusals_have_a_kind_and_a_policy() {
    use ErrorKind::*;
    let typed =
        |type_: &str| json!({ "NeutronError": { "type": type_, "message": "no", "detail": "" } }).to_string();
    let (fake, neutron) = start().await;
    let cases = [
        (400, typed("InvalidInput"), Rejected, RetryPolicy::AfterChange),
        (400, json!({ "NeutronError": "just text" }).to_string(), Rejected, RetryPolicy::AfterChange),
        (403, typed("PolicyNotAuthorized"), Forbidden, RetryPolicy::AfterChange),
        (409, typed("OverQuota"), OverQuota, RetryPolicy::AfterChange),
        (409, typed("NetworkInUse"), InUse, RetryPolicy::Backoff),
        (409, typed("SubnetInUse"), InUse, RetryPolicy::Backoff),
        (409, typed("GatewayConflictWithAllocationPools"), Rejected, RetryPolicy::AfterChange),
        (409, typed("Something"), Conflict, RetryPolicy::Backoff),
        (412, typed("RevisionNumberConstraintFailed"), Conflict, RetryPolicy::Backoff),
        (429, String::new(), Unavailable, RetryPolicy::Backoff),
        (500, "<html>no JSON</html>".into(), Unavailable, RetryPolicy::Backoff),
        (503, typed("RetryRequest"), Unavailable, RetryPolicy::Backoff),
        (401, json!({ "error": { "code": 401 } }).to_string(), Unauthorized, RetryPolicy::Backoff),
        (200, "{\"networks\": 7}".into(), Protocol, RetryPolicy::Backoff),
        (200, "no JSON".into(), Protocol, RetryPolicy::Backoff),
    ];
    for (status, body, kind, policy) in cases {
        fake.fail(0, Fault::Refuse(status, body.clone()));
        let error = neutron.get(&owner()).await.unwrap_err();
        assert_eq!((error.kind, error.retry_policy()), (kind, policy), "{status} {body}: {error}");
        assert!(error.to_string().ends_with("(request req-7)"), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_hangs_or_is_gone_is_unavailable() {
    let (fake, neutron) = start().await;
    let neutron = neutron.with_timeout(Duration::from_millis(50));
    fake.fail(0, Fault::Hang);
    let error = neutron.get(&owner()).await.unwrap_err();
    assert!(error.kind == ErrorKind::Unavailable && error.message.contains("none within"), "{error}");
    let gone = Neutron::new(Cloud::at("http://127.0.0.1:1"), "test").unwrap();
    assert_eq!(gone.get(&owner()).await.unwrap_err().kind, ErrorKind::Unavailable);
}

#[tokio::test]
async fn lists_are_read_page_by_page_and_begin_anew_when_the_marker_vanished() {
    let (fake, neutron) = start().await;
    for n in 0..7 {
        let owner = Owner { name: format!("net-{n}"), uid: format!("uid-{n}"), ..owner() };
        neutron.apply(&owner, &ten()).await.unwrap();
    }
    fake.state.lock().page = Some(2);
    let before = fake.requests().len();
    assert_eq!(neutron.owners().await.unwrap().len(), 7);
    assert_eq!(fake.requests().len() - before, 4);
    let gone = json!({ "NeutronError": { "type": "NetworkNotFound", "message": "", "detail": "" } });
    fake.fail(2, Fault::Refuse(404, gone.to_string()));
    let before = fake.requests().len();
    assert_eq!(neutron.owners().await.unwrap().len(), 7);
    assert_eq!(fake.requests().len() - before, 3 + 4, "three of the first try, four of the second");
}

fn cloud(auth: &[(&str, &str)]) -> Cloud {
    let auth = auth.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    Cloud { auth, region_name: Some("east".into()), ..Cloud::default() }
}

fn password_cloud(fake: &Fake) -> Cloud {
    let url = format!("{}/v3/", fake.url);
    cloud(&[("auth_url", &url), ("username", "me"), ("password", "secret"), ("project_name", "demo")])
}

#[tokio::test]
async fn a_refused_token_is_renewed_once() {
    let (fake, _) = start().await;
    let neutron = Neutron::new(password_cloud(&fake), "test").unwrap();
    fake.state.lock().token = Some("token-1".into());
    neutron.apply(&owner(), &ten()).await.unwrap();
    assert_eq!(fake.state.lock().logins, 1, "the token is kept");
    fake.state.lock().token = Some("token-2".into());
    assert!(neutron.get(&owner()).await.unwrap().unwrap().is(&ten()));
    assert_eq!(fake.state.lock().logins, 2);
    fake.state.lock().token = Some("none will do".into());
    let before = fake.requests().len();
    let error = neutron.get(&owner()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unauthorized);
    assert_eq!(fake.requests().len() - before, 3, "refused, logged in, refused");
    assert!(!format!("{neutron:?}").contains("secret"), "secrets are not shown");
}

#[tokio::test]
async fn requests_that_are_refused_together_log_in_once() {
    let (fake, _) = start().await;
    let neutron = Neutron::new(password_cloud(&fake), "test").unwrap();
    fake.state.lock().token = Some("token-1".into());
    neutron.owners().await.unwrap();
    fake.state.lock().token = Some("token-2".into());
    let (a, b, c) = tokio::join!(neutron.owners(), neutron.owners(), neutron.owners());
    assert!(a.is_ok() && b.is_ok() && c.is_ok());
    assert_eq!(fake.state.lock().logins, 2);
}

#[tokio::test]
async fn credentials_that_keystone_refuses_are_said_so() {
    let (fake, _) = start().await;
    let neutron = Neutron::new(password_cloud(&fake), "test").unwrap();
    for (status, kind) in
        [(401, ErrorKind::Unauthorized), (403, ErrorKind::Forbidden), (503, ErrorKind::Unavailable)]
    {
        fake.fail(0, Fault::Refuse(status, String::new()));
        assert_eq!(neutron.owners().await.unwrap_err().kind, kind);
    }
    let elsewhere = Cloud { region_name: Some("north".into()), ..password_cloud(&fake) };
    let error = Neutron::new(elsewhere, "test").unwrap().owners().await.unwrap_err();
    assert!(error.message.contains("names no public endpoint"), "{error}");
}

#[test]
fn an_incomplete_cloud_is_refused_with_what_is_missing() {
    let message = |cloud: Cloud| Neutron::new(cloud, "test").unwrap_err().to_string();
    assert!(message(Cloud::default()).contains("OS_AUTH_URL"));
    let mut auth = vec![("auth_url", "http://k")];
    for (name, value, variable) in [
        ("username", "me", "OS_USERNAME"),
        ("project_id", "p", "OS_PROJECT_NAME"),
        ("password", "secret", "OS_PASSWORD"),
    ] {
        assert!(message(cloud(&auth)).ends_with(&format!("({variable})")), "{variable}");
        auth.push((name, value));
    }
    Neutron::new(cloud(&auth), "test").unwrap();
    let secret = message(cloud(&[("application_credential_id", "7")]));
    assert!(secret.contains("OS_APPLICATION_CREDENTIAL_SECRET"), "{secret}");
    let kerberos = Cloud { auth_type: Some("v3kerberos".into()), ..Cloud::default() };
    assert!(message(kerberos).contains("`v3kerberos` is not known"));
    let mut lost = Cloud::at("http://n");
    lost.cacert = Some("/no/such/file".into());
    assert!(message(lost).contains("certificates"));
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
