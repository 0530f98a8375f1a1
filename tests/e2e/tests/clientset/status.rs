//! The status subresource and the selectable field of `AppService`.

use genclient_runtime::{ListParams, Patch, kube::ResourceExt as _};
use genclient_testenv::require_servers;
use samplecrd_apis::appcontroller::v1alpha1::{API_VERSION, AppServiceStatus};
use serde_json::json;

use crate::support::{app_service, clientset, named};

fn available(available_replicas: i32) -> Option<AppServiceStatus> {
    Some(AppServiceStatus { available_replicas, ..AppServiceStatus::default() })
}

#[tokio::test]
async fn create_and_update_leave_the_status_alone() {
    require_servers!();
    let (clientset, namespace) = clientset("status").await;
    let client = clientset.appcontroller_v1alpha1().app_services(&namespace);
    let mut sent = app_service(named("example"));
    sent.status = available(9);
    let mut object = client.create(&sent).await.unwrap();
    assert_eq!(object.status, None, "the server drops the status of a new object");

    object.status = available(9);
    object.spec.replicas = Some(5);
    let updated = client.update(&object).await.unwrap();
    assert_eq!((updated.status, updated.spec.replicas), (None, Some(5)));
}

#[tokio::test]
async fn update_status_changes_the_status_and_nothing_else() {
    require_servers!();
    let (clientset, namespace) = clientset("status").await;
    let client = clientset.appcontroller_v1alpha1().app_services(&namespace);
    let created = client.create(&app_service(named("example"))).await.unwrap();

    let mut object = created.clone();
    object.status = available(2);
    object.spec.replicas = Some(7);
    object.spec.deployment_name = "another".to_owned();
    let rehearsed = client.update_status(&object).dry_run().await.unwrap();
    assert_eq!(rehearsed.status, available(2));
    assert_eq!(client.get("example").await.unwrap(), created);

    let updated = client.update_status(&object).field_manager("a-test").await.unwrap();
    assert_eq!(updated.status, available(2));
    assert_eq!(updated.spec, created.spec);
    assert_eq!(updated.metadata.generation, Some(1), "a status is no new generation");
    assert_eq!(client.get("example").await.unwrap(), updated);

    let stale = client.update_status(&object).await.unwrap_err();
    assert!(stale.is_conflict(), "{stale}");
    assert!(stale.to_string().contains("update AppService/status"), "{stale}");
}

#[tokio::test]
async fn apply_status_owns_fields_of_the_status_only() {
    require_servers!();
    let (clientset, namespace) = clientset("status").await;
    let client = clientset.appcontroller_v1alpha1().app_services(&namespace);
    let created = client.create(&app_service(named("example"))).await.unwrap();
    let configuration = |replicas: i32| {
        json!({
            "apiVersion": API_VERSION,
            "kind": "AppService",
            "metadata": {"name": "example"},
            "spec": {"deploymentName": "another"},
            "status": {"availableReplicas": replicas},
        })
    };
    let applied = client.apply_status_untyped(&configuration(1)).field_manager("one").await.unwrap();
    assert_eq!((applied.status, applied.spec), (available(1), created.spec.clone()));

    let conflict = client.apply_status_untyped(&configuration(2)).field_manager("other").await.unwrap_err();
    assert!(conflict.is_conflict(), "{conflict}");
    let rehearsed = client
        .apply_status_untyped(&configuration(2))
        .field_manager("other")
        .force()
        .dry_run()
        .await
        .unwrap();
    assert_eq!(rehearsed.status, available(2));
    assert_eq!(client.get("example").await.unwrap().status, available(1));
    let forced = client.apply_status_untyped(&configuration(2)).field_manager("other").force().await.unwrap();
    assert_eq!((forced.status, forced.spec), (available(2), created.spec));
    let owners: Vec<_> = client.get("example").await.unwrap().managed_fields().to_vec();
    let other = owners.iter().find(|owner| owner.manager.as_deref() == Some("other")).unwrap();
    assert_eq!(other.subresource.as_deref(), Some("status"));
}

#[tokio::test]
async fn patch_leaves_the_status_alone() {
    require_servers!();
    let (clientset, namespace) = clientset("status").await;
    let client = clientset.appcontroller_v1alpha1().app_services(&namespace);
    client.create(&app_service(named("example"))).await.unwrap();
    let patch = Patch::merge(&json!({"spec": {"replicas": 3}, "status": {"availableReplicas": 3}}));
    let patched = client.patch("example", &patch).await.unwrap();
    assert_eq!((patched.spec.replicas, patched.status), (Some(3), None));
}

#[tokio::test]
async fn the_deployments_name_can_be_selected_by() {
    require_servers!();
    let (clientset, namespace) = clientset("selectable").await;
    let client = clientset.appcontroller_v1alpha1().app_services(&namespace);
    for (name, deployment) in [("a", "web"), ("b", "db"), ("c", "web")] {
        let mut object = app_service(named(name));
        object.spec.deployment_name = deployment.to_owned();
        client.create(&object).await.unwrap();
    }
    let web = ListParams::default().fields("spec.deploymentName=web");
    let found: Vec<_> = client.list(&web).await.unwrap().items.iter().map(|item| item.name_any()).collect();
    assert_eq!(found, ["a", "c"]);

    client.delete_collection(&web).await.unwrap();
    let left: Vec<_> = client.list(&ListParams::default()).await.unwrap().items;
    assert_eq!(left.iter().map(|item| item.name_any()).collect::<Vec<_>>(), ["b"]);

    let unknown = ListParams::default().fields("spec.replicas=2");
    let refused = client.list(&unknown).await.unwrap_err();
    assert_eq!(refused.code(), Some(400), "only what is declared can be selected by: {refused}");
}
