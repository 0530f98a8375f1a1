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
    server.tally.require(&[
        ("accepted", 30),
        ("accepted and pruned", 2),
        ("accepted and defaulted", 5),
        ("refused", 50),
        ("FieldValueInvalid", 25),
        ("FieldValueTypeInvalid", 25),
        ("FieldValueRequired", 3),
        ("FieldValueDuplicate", 1),
        ("FieldValueNotSupported", 1),
        ("FieldValueTooLong", 1),
        ("FieldValueTooMany", 1),
    ]);
}

#[tokio::test(flavor = "multi_thread")]
async fn updates_are_refused_as_by_the_real_server() {
    require_servers!(Kubernetes);
    let env = TestEnv::shared().await.unwrap();
    let server = Server::new(env.client().unwrap());
    let differences = server.compare_updates(parity::updates::cases()).await;
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    server.tally.require(&[
        ("accepted", 5),
        ("refused", 4),
        ("FieldValueInvalid", 2),
        ("FieldValueTooLong", 1),
    ]);
}

#[tokio::test(flavor = "multi_thread")]
async fn schemas_are_refused_as_by_the_real_server() {
    require_servers!(Kubernetes);
    let env = TestEnv::shared().await.unwrap();
    let server = Server::new(env.client().unwrap());
    let differences = server.compare_schemas(parity::schemas::cases()).await;
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    server.tally.require(&[
        ("accepted", 12),
        ("refused", 30),
        ("FieldValueForbidden", 10),
        ("FieldValueInvalid", 18),
        ("FieldValueNotSupported", 1),
        ("FieldValueRequired", 5),
    ]);
}

#[tokio::test(flavor = "multi_thread")]
async fn random_objects_of_random_schemas_are_treated_as_by_the_real_server() {
    require_servers!(Kubernetes);
    let env = TestEnv::shared().await.unwrap();
    let server = Server::new(env.client().unwrap());
    let differences = server.compare_objects(parity::random::cases()).await;
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    server.tally.require(&[
        ("accepted and pruned", 9),
        ("refused", 9),
        ("FieldValueInvalid", 2),
        ("FieldValueTypeInvalid", 9),
    ]);
}
