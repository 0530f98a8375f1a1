//! What goes wrong is a typed error that says what was tried.

use genclient_runtime::{
    Client, ListParams, Patch, ValidationDirective,
    error::Cause as ErrorCause,
    kube::{Api, api::PostParams},
    retry::retry_on_conflict,
};
use genclient_testenv::require_servers;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use samplecrd_client::clientset::Clientset;
use serde_json::json;

use crate::support::{app_service, clientset, cluster, eventually, named, network};

#[tokio::test]
async fn a_stale_update_is_a_conflict_that_a_fresh_read_resolves() {
    require_servers!();
    let (clientset, namespace) = clientset("conflict").await;
    let networks = clientset.samplecrd_v1().networks(&namespace);
    let mut stale = networks.create(&network(named("example"))).await.unwrap();
    let touch = Patch::merge(&json!({"metadata": {"labels": {"touched": "yes"}}}));
    networks.patch("example", &touch).await.unwrap();

    stale.spec.cidr = "10.0.0.0/8".to_owned();
    let conflict = networks.update(&stale).await.unwrap_err();
    assert!(conflict.is_conflict() && !conflict.is_already_exists(), "{conflict}");
    let operation = conflict.operation().unwrap();
    assert_eq!((operation.verb, &*operation.kind), ("update", "Network"));
    assert_eq!(
        (operation.namespace.as_deref(), operation.name.as_deref()),
        (Some(&*namespace), Some("example"))
    );

    let updated = retry_on_conflict(|| async {
        let mut fresh = networks.get("example").await?;
        fresh.spec.cidr = "10.0.0.0/8".to_owned();
        networks.update(&fresh).await
    });
    assert_eq!(updated.await.unwrap().spec.cidr, "10.0.0.0/8");
}

#[tokio::test]
async fn what_is_not_there_is_not_found_by_any_verb() {
    require_servers!();
    let (clientset, namespace) = clientset("absent").await;
    let apps = clientset.appcontroller_v1alpha1().app_services(&namespace);
    let absent = app_service(named("absent"));
    let patch = Patch::merge(&json!({}));
    let errors = [
        apps.get("absent").await.unwrap_err(),
        apps.update_status(&absent).await.unwrap_err(),
        apps.patch("absent", &patch).await.unwrap_err(),
        apps.delete("absent").await.unwrap_err(),
    ];
    for error in errors {
        assert!(error.is_not_found() && !error.is_conflict(), "{error}");
        assert!(error.to_string().contains(&format!("{namespace}/absent")), "{error}");
    }
    // A namespace that does not exist is found out when something is put into it.
    let nowhere = clientset.samplecrd_v1().networks("no-such-namespace");
    assert!(nowhere.create(&network(named("example"))).await.unwrap_err().is_not_found());
    assert!(nowhere.list(&ListParams::default()).await.unwrap().items.is_empty());
}

#[tokio::test]
async fn creating_what_exists_is_told_apart_from_a_conflict() {
    require_servers!();
    let (clientset, namespace) = clientset("exists").await;
    let networks = clientset.samplecrd_v1().networks(&namespace);
    networks.create(&network(named("example"))).await.unwrap();
    let exists = networks.create(&network(named("example"))).await.unwrap_err();
    assert!(exists.is_already_exists() && !exists.is_conflict(), "{exists}");
}

#[tokio::test]
async fn a_user_without_a_role_is_forbidden_until_there_is_one() {
    require_servers!();
    let (clientset, namespace) = clientset("forbidden").await;
    let env = cluster().await;
    let limited = Clientset::new(env.limited_client().unwrap());
    let networks = limited.samplecrd_v1().networks(&namespace);
    let forbidden = networks.list(&ListParams::default()).await.unwrap_err();
    assert!(forbidden.is_forbidden() && !forbidden.is_unauthorized(), "{forbidden}");
    assert!(forbidden.to_string().contains(env.limited_user()), "{forbidden}");
    assert!(networks.create(&network(named("example"))).await.unwrap_err().is_forbidden());

    allow_reading(clientset.client(), &namespace, env.limited_user()).await;
    eventually("the role lets the user list", async || networks.list(&ListParams::default()).await.is_ok())
        .await;
    assert!(networks.get("absent").await.unwrap_err().is_not_found());
    assert!(networks.create(&network(named("example"))).await.unwrap_err().is_forbidden());
    assert!(
        limited.samplecrd_v1().all_networks().list(&ListParams::default()).await.unwrap_err().is_forbidden()
    );
}

async fn allow_reading(admin: &Client, namespace: &str, user: &str) {
    let role: Role = serde_json::from_value(json!({
        "metadata": {"name": "reader"},
        "rules": [{"apiGroups": ["samplecrd.k8s.io"], "resources": ["networks"], "verbs": ["get", "list", "watch"]}],
    }))
    .expect("it is a role");
    let roles = Api::namespaced(admin.clone(), namespace);
    roles.create(&PostParams::default(), &role).await.expect("the role is created");
    let binding: RoleBinding = serde_json::from_value(json!({
        "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    }))
    .expect("it is a binding");
    let bindings = Api::namespaced(admin.clone(), namespace);
    bindings.create(&PostParams::default(), &binding).await.expect("the binding is created");
}

#[tokio::test]
async fn what_breaks_the_schema_is_invalid_and_named() {
    require_servers!();
    let (clientset, namespace) = clientset("invalid").await;
    let apps = clientset.appcontroller_v1alpha1().app_services(&namespace);
    let mut broken = app_service(named("example"));
    broken.spec.replicas = Some(-1);
    let invalid = apps.create(&broken).await.unwrap_err();
    assert!(invalid.is_invalid(), "{invalid}");
    assert!(invalid.to_string().contains("spec.replicas"), "{invalid}");
    let causes = &invalid.status().unwrap().details.as_ref().unwrap().causes;
    assert_eq!(causes[0].field, "spec.replicas");

    apps.create(&app_service(named("example"))).await.unwrap();
    let wrong_type = Patch::merge(&json!({"spec": {"deploymentName": 7}}));
    assert!(apps.patch("example", &wrong_type).await.unwrap_err().is_invalid());
    let missing = Patch::merge(&json!({"spec": {"deploymentName": null}}));
    assert!(apps.patch("example", &missing).await.unwrap_err().is_invalid());
    let bad_name = apps.create(&app_service(named("Not A Name"))).await.unwrap_err();
    assert!(bad_name.is_invalid(), "{bad_name}");
}

#[tokio::test]
async fn unknown_fields_are_refused_if_validation_is_strict_and_pruned_if_not() {
    require_servers!();
    let (clientset, namespace) = clientset("strict").await;
    let networks = clientset.samplecrd_v1().networks(&namespace);
    networks.create(&network(named("example"))).field_validation(ValidationDirective::Strict).await.unwrap();

    let unknown = Patch::merge(&json!({"spec": {"colour": "green"}}));
    let strict = networks.patch("example", &unknown).field_validation(ValidationDirective::Strict);
    let refused = strict.await.unwrap_err();
    assert!(refused.is_invalid(), "{refused}");
    assert!(refused.to_string().contains("unknown field \"spec.colour\""), "{refused}");
    networks.patch("example", &unknown).field_validation(ValidationDirective::Ignore).await.unwrap();

    let config = json!({
        "apiVersion": "samplecrd.k8s.io/v1", "kind": "Network", "metadata": {"name": "example"},
        "spec": {"colour": "green"},
    });
    let refused = networks
        .apply_untyped(&config)
        .field_manager("a-test")
        .field_validation(ValidationDirective::Strict)
        .await;
    assert!(refused.unwrap_err().to_string().contains("colour"));

    let request =
        http::Request::get(format!("/apis/samplecrd.k8s.io/v1/namespaces/{namespace}/networks/example"));
    let raw: serde_json::Value = clientset.client().request(request.body(vec![]).unwrap()).await.unwrap();
    assert_eq!(raw["spec"].get("colour"), None, "an unknown field is not stored");
}

#[tokio::test]
async fn a_request_that_cannot_succeed_is_never_sent() {
    require_servers!();
    let (client, tap) = crate::support::Tap::client(cluster().await);
    let clientset = Clientset::new(client);
    let networks = clientset.samplecrd_v1().networks("Not-A-Namespace");
    let invalid = networks.get("example").await.unwrap_err();
    assert!(matches!(invalid.cause(), ErrorCause::InvalidRequest(_)), "{invalid}");
    let networks = clientset.samplecrd_v1().networks("default");
    assert!(networks.get("../default").await.unwrap_err().is_invalid_request());
    assert!(networks.update(&network(Default::default())).await.unwrap_err().is_invalid_request());
    let stranger = json!({"apiVersion": "v1", "kind": "Network", "metadata": {"name": "example"}});
    assert!(
        networks.apply_untyped(&stranger).field_manager("a-test").await.unwrap_err().is_invalid_request()
    );
    assert!(tap.requests_for("").is_empty());
}
