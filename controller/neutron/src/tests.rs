//! The client against a small Neutron that fails on demand.

use std::time::Duration;

use serde_json::json;

use crate::{
    Client, Cloud, ErrorKind,
    fake::{Fake, Fault},
};

async fn start() -> (Fake, Client) {
    let fake = Fake::start().await;
    let client = Client::new(&Cloud::at(&fake.url)).unwrap();
    (fake, client)
}

#[tokio::test]
async fn every_refusal_has_its_kind() {
    use ErrorKind::*;
    let typed =
        |type_: &str| json!({ "NeutronError": { "type": type_, "message": "no", "detail": "" } }).to_string();
    let (fake, neutron) = start().await;
    let cases = [
        (400, typed("InvalidInput"), Rejected),
        (400, json!({ "NeutronError": "just text" }).to_string(), Rejected),
        (403, typed("PolicyNotAuthorized"), Forbidden),
        (409, typed("OverQuota"), OverQuota),
        (409, typed("NetworkInUse"), InUse),
        (409, typed("SubnetInUse"), InUse),
        (409, typed("GatewayConflictWithAllocationPools"), Rejected),
        (409, typed("Something"), Conflict),
        (412, typed("RevisionNumberConstraintFailed"), Conflict),
        (404, "<html>no such page</html>".into(), Unavailable),
        (404, typed("HTTPNotFound"), Unavailable),
        (429, String::new(), Unavailable),
        (500, "<html>no JSON</html>".into(), Unavailable),
        (503, typed("RetryRequest"), Unavailable),
        (401, json!({ "error": { "code": 401 } }).to_string(), Unauthorized),
        (200, "{\"networks\": 7}".into(), Protocol),
        (200, "no JSON".into(), Protocol),
    ];
    for (status, body, kind) in cases {
        fake.fail(0, Fault::Refuse(status, body.clone()));
        let error = neutron.networks(&[]).await.unwrap_err();
        assert_eq!(error.kind, kind, "{status} {body}: {error}");
        assert_eq!(error.retry_after, None);
        let named = error.to_string().ends_with("(request req-7)");
        assert!(named || body.contains("HTTPNotFound"), "{error}");
    }
}

#[tokio::test]
async fn only_neutrons_own_404_means_that_a_thing_is_gone() {
    let (fake, neutron) = start().await;
    neutron.delete_network("net-000").await.unwrap();
    fake.fail(0, Fault::Refuse(404, "<html>no such page</html>".into()));
    assert_eq!(neutron.delete_network("net-000").await.unwrap_err().kind, ErrorKind::Unavailable);
}

#[tokio::test]
async fn retry_after_is_reported_up_to_a_limit() {
    let (fake, neutron) = start().await;
    for (asked, reported) in [(7, 7), (86_400, 300)] {
        fake.fail(0, Fault::RetryAfter(asked));
        let error = neutron.networks(&[]).await.unwrap_err();
        assert_eq!(
            (error.kind, error.retry_after),
            (ErrorKind::Unavailable, Some(Duration::from_secs(reported)))
        );
    }
}

#[tokio::test]
async fn a_server_that_hangs_or_is_gone_is_unavailable() {
    let (fake, neutron) = start().await;
    let neutron = neutron.with_timeout(Duration::from_millis(50));
    fake.fail(0, Fault::Hang);
    let error = neutron.networks(&[]).await.unwrap_err();
    assert!(error.kind == ErrorKind::Unavailable && error.message.contains("none within"), "{error}");
    let gone = Client::new(&Cloud::at("http://127.0.0.1:1")).unwrap();
    assert_eq!(gone.networks(&[]).await.unwrap_err().kind, ErrorKind::Unavailable);
}

#[tokio::test]
async fn lists_are_read_page_by_page_and_begin_anew_when_the_marker_vanished() {
    let (fake, neutron) = start().await;
    for n in 0..7 {
        neutron.create_network(json!({ "name": format!("net-{n}"), "description": "" })).await.unwrap();
    }
    fake.state.lock().page = Some(2);
    let before = fake.requests().len();
    assert_eq!(neutron.networks(&[]).await.unwrap().len(), 7);
    assert_eq!(fake.requests().len() - before, 4);
    let gone = json!({ "NeutronError": { "type": "NetworkNotFound", "message": "", "detail": "" } });
    fake.fail(2, Fault::Refuse(404, gone.to_string()));
    let before = fake.requests().len();
    assert_eq!(neutron.networks(&[]).await.unwrap().len(), 7);
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
    let neutron = Client::new(&password_cloud(&fake)).unwrap();
    fake.state.lock().token = Some("token-1".into());
    let made = neutron.create_network(json!({ "name": "a", "description": "" })).await.unwrap();
    assert_eq!(fake.state.lock().logins, 1, "the token is kept");
    fake.state.lock().token = Some("token-2".into());
    assert_eq!(neutron.networks(&[]).await.unwrap(), [made]);
    assert_eq!(fake.state.lock().logins, 2);
    fake.state.lock().token = Some("none will do".into());
    let before = fake.requests().len();
    let error = neutron.networks(&[]).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unauthorized);
    assert_eq!(fake.requests().len() - before, 3, "refused, logged in, refused");
    let shown = format!("{neutron:?}");
    assert!(!shown.contains("secret") && !shown.contains("token-"), "secrets are not shown: {shown}");
}

#[tokio::test]
async fn requests_that_are_refused_together_log_in_once() {
    let (fake, _) = start().await;
    let neutron = Client::new(&password_cloud(&fake)).unwrap();
    fake.state.lock().token = Some("token-1".into());
    neutron.networks(&[]).await.unwrap();
    fake.state.lock().token = Some("token-2".into());
    let (a, b, c) = tokio::join!(neutron.networks(&[]), neutron.networks(&[]), neutron.networks(&[]));
    assert!(a.is_ok() && b.is_ok() && c.is_ok());
    assert_eq!(fake.state.lock().logins, 2);
}

#[tokio::test]
async fn requests_that_wait_for_a_login_share_its_failure() {
    let (fake, _) = start().await;
    let neutron = Client::new(&password_cloud(&fake)).unwrap();
    fake.fail(0, Fault::Refuse(503, String::new()));
    let (a, b, c) = tokio::join!(neutron.networks(&[]), neutron.networks(&[]), neutron.networks(&[]));
    for outcome in [a, b, c] {
        assert_eq!(outcome.unwrap_err().kind, ErrorKind::Unavailable);
    }
    assert_eq!(fake.requests().len(), 1, "one login for all three");
    neutron.networks(&[]).await.expect("the next request logs in again");
}

#[tokio::test]
async fn refused_credentials_have_a_kind_of_their_own() {
    let (fake, _) = start().await;
    let neutron = Client::new(&password_cloud(&fake)).unwrap();
    for (status, kind) in
        [(401, ErrorKind::Unauthorized), (403, ErrorKind::Forbidden), (503, ErrorKind::Unavailable)]
    {
        fake.fail(0, Fault::Refuse(status, String::new()));
        assert_eq!(neutron.networks(&[]).await.unwrap_err().kind, kind);
    }
    let elsewhere = Cloud { region_name: Some("north".into()), ..password_cloud(&fake) };
    let error = Client::new(&elsewhere).unwrap().networks(&[]).await.unwrap_err();
    assert!(error.message.contains("names no public endpoint"), "{error}");
}

#[test]
fn an_incomplete_cloud_is_refused_with_what_is_missing() {
    let message = |cloud: Cloud| Client::new(&cloud).unwrap_err().to_string();
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
    Client::new(&cloud(&auth)).unwrap();
    let secret = message(cloud(&[("application_credential_id", "7")]));
    assert!(secret.contains("OS_APPLICATION_CREDENTIAL_SECRET"), "{secret}");
    let kerberos = Cloud { auth_type: Some("v3kerberos".into()), ..Cloud::default() };
    assert!(message(kerberos).contains("`v3kerberos` is not known"));
    let token = message(cloud(&[("token", "t"), ("auth_url", "http://k")]));
    assert!(token.contains("OS_ENDPOINT"), "{token}");
    let careless = Cloud { verify: Some(false), ..Cloud::at("https://n") };
    assert!(message(careless).contains("cacert"));
    let mut lost = Cloud::at("http://n");
    lost.cacert = Some("/no/such/file".into());
    assert!(message(lost).contains("certificates"));
}
