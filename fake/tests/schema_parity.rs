//! The schemas of CRDs, compared with a real API server: for every schema, object and update of the tables below both
//! must give the same answer — the same object after pruning and defaulting, or the same causes.

mod parity;

use genclient_testenv::{TestEnv, require_servers};
use parity::Server;

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_pruned_defaulted_and_refused_as_by_the_real_server() {
    require_servers!(Kubernetes);
    let env = TestEnv::shared().await.unwrap();
    let server = Server::new(env.client().unwrap());
    let differences = server.compare_objects(parity::objects::cases()).await;
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn updates_are_refused_as_by_the_real_server() {
    require_servers!(Kubernetes);
    let env = TestEnv::shared().await.unwrap();
    let server = Server::new(env.client().unwrap());
    let differences = server.compare_updates(parity::updates::cases()).await;
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn schemas_are_refused_as_by_the_real_server() {
    require_servers!(Kubernetes);
    let env = TestEnv::shared().await.unwrap();
    let server = Server::new(env.client().unwrap());
    let differences = server.compare_schemas(parity::schemas::cases()).await;
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn random_objects_of_random_schemas_are_treated_as_by_the_real_server() {
    require_servers!(Kubernetes);
    let env = TestEnv::shared().await.unwrap();
    let server = Server::new(env.client().unwrap());
    let differences = server.compare_objects(parity::random::cases()).await;
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
