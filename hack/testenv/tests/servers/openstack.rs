//! Neutron and Keystone, and the faults that tests inject into them.

use std::time::Duration;

use genclient_testenv::{
    Neutron,
    http::{Answer, send},
    require_servers,
};
use http::{Method, StatusCode};
use serde_json::{Value, json};

async fn request(neutron: &Neutron, method: Method, path: &str, body: Option<Value>) -> Answer {
    send(method, &format!("{}/v2.0{path}", neutron.url()), &[], body.as_ref()).await.unwrap()
}

async fn create_network(neutron: &Neutron, name: &str) -> String {
    let answer = request(neutron, Method::POST, "/networks", Some(json!({"network": {"name": name}}))).await;
    let answer = answer.expect(StatusCode::CREATED, "POST /networks").unwrap();
    answer.body["network"]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_network_and_its_subnet_can_be_created_read_changed_and_deleted() {
    require_servers!(Neutron);
    let neutron = Neutron::start().await.unwrap();
    let id = create_network(&neutron, "blue").await;
    let path = format!("/networks/{id}");

    let subnet = json!({"subnet": {"network_id": id, "ip_version": 4, "cidr": "10.9.0.77/24"}});
    let answer = request(&neutron, Method::POST, "/subnets", Some(subnet)).await;
    let subnet = answer.expect(StatusCode::CREATED, "POST /subnets").unwrap().body;
    assert_eq!(subnet["subnet"]["cidr"], "10.9.0.0/24");
    assert_eq!(subnet["subnet"]["gateway_ip"], "10.9.0.1");

    let change = json!({"network": {"description": "changed"}});
    let answer = request(&neutron, Method::PUT, &path, Some(change)).await;
    assert_eq!(answer.status, StatusCode::OK);
    let read = request(&neutron, Method::GET, &path, None).await.body;
    assert_eq!(read["network"]["description"], "changed");
    assert_eq!(read["network"]["subnets"], json!([subnet["subnet"]["id"]]));

    assert_eq!(request(&neutron, Method::DELETE, &path, None).await.status, StatusCode::NO_CONTENT);
    assert_eq!(request(&neutron, Method::GET, &path, None).await.status, StatusCode::NOT_FOUND);
    let subnets = request(&neutron, Method::GET, "/subnets", None).await.body;
    assert_eq!(subnets["subnets"], json!([]));
}

#[tokio::test]
async fn neutron_can_be_paused_killed_and_restarted_with_its_data() {
    require_servers!(Neutron);
    let neutron = Neutron::start().await.unwrap();
    let url = neutron.url();
    let id = create_network(&neutron, "kept").await;
    let path = format!("/networks/{id}");

    neutron.pause().unwrap();
    let read = request(&neutron, Method::GET, &path, None);
    tokio::pin!(read);
    assert!(tokio::time::timeout(Duration::from_millis(500), &mut read).await.is_err());
    neutron.resume().unwrap();
    assert_eq!(read.await.status, StatusCode::OK);

    neutron.kill9().await.unwrap();
    assert!(send(Method::GET, &url, &[], None).await.is_err());
    neutron.restart().await.unwrap();
    assert_eq!(neutron.url(), url);
    assert_eq!(request(&neutron, Method::GET, &path, None).await.status, StatusCode::OK);

    neutron.stop().await.unwrap();
    assert!(neutron.processes().is_empty());
}

#[tokio::test]
async fn a_quota_is_answered_with_a_conflict() {
    require_servers!(Neutron);
    let neutron = Neutron::builder().network_quota(1).start().await.unwrap();
    create_network(&neutron, "first").await;
    let answer =
        request(&neutron, Method::POST, "/networks", Some(json!({"network": {"name": "second"}}))).await;
    assert_eq!(
        (answer.status, &answer.body["NeutronError"]["type"]),
        (StatusCode::CONFLICT, &json!("OverQuota"))
    );
}

#[tokio::test]
async fn neutron_behind_keystone_wants_a_token_and_takes_it_until_it_is_revoked() {
    require_servers!(Neutron, Keystone);
    let neutron = Neutron::with_keystone().await.unwrap();
    let keystone = neutron.keystone().unwrap();
    let networks = format!("{}/v2.0/networks", neutron.url());
    let list = async |token: &str| {
        send(Method::GET, &networks, &[("X-Auth-Token", token)], None).await.unwrap().status
    };
    assert_eq!(send(Method::GET, &networks, &[], None).await.unwrap().status, StatusCode::UNAUTHORIZED);

    let token = keystone.token().await.unwrap();
    let network = json!({"network": {"name": "mine"}});
    let created = send(Method::POST, &networks, &[("X-Auth-Token", &token)], Some(&network)).await.unwrap();
    assert_eq!(created.status, StatusCode::CREATED, "{}", created.body);
    assert_eq!(list(&token).await, StatusCode::OK);

    keystone.revoke(&token).await.unwrap();
    assert_eq!(list(&token).await, StatusCode::UNAUTHORIZED);
    assert_eq!(list(&keystone.token().await.unwrap()).await, StatusCode::OK);

    keystone.kill9().await.unwrap();
    assert!(keystone.token().await.is_err());
    keystone.restart().await.unwrap();
    assert_eq!(list(&keystone.token().await.unwrap()).await, StatusCode::OK);
}

#[tokio::test]
async fn keystone_tells_where_neutron_is_and_how_long_a_token_lives() {
    require_servers!(Neutron, Keystone);
    let lifetime = Duration::from_secs(100);
    let neutron = Neutron::builder().with_keystone().token_lifetime(lifetime).start().await.unwrap();
    let keystone = neutron.keystone().unwrap();
    let token = keystone.token().await.unwrap();
    let url = format!("{}/auth/tokens", keystone.auth_url());
    let headers = [("X-Auth-Token", token.as_str()), ("X-Subject-Token", token.as_str())];
    let token = send(Method::GET, &url, &headers, None).await.unwrap().body["token"].take();

    let time = |name: &str| token[name].as_str().unwrap().parse::<k8s_openapi::jiff::Timestamp>().unwrap();
    assert_eq!(time("expires_at").duration_since(time("issued_at")).unsigned_abs(), lifetime);
    let services = token["catalog"].as_array().unwrap();
    let network = services.iter().find(|service| service["type"] == "network").unwrap();
    assert_eq!(network["endpoints"][0]["url"], neutron.url());
    let credentials = keystone.credentials();
    assert!(credentials.contains(&("OS_AUTH_URL", keystone.auth_url())), "{credentials:?}");
}
