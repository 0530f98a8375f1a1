//! Many writers of one object.

use std::time::Duration;

use genclient_runtime::{apply::ObjectMetaApply, kube::ResourceExt as _, retry::RetryPolicy};
use genclient_testenv::require_servers;

use super::configurations::{app_service_apply, app_service_with};
use crate::support::{app_service, clientset, named};

/// Each applier writes the number of its round into a field of its own. The updater counts its own rounds in
/// the object, so that a lost update would show.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_writes_of_disjoint_fields_neither_conflict_nor_get_lost() {
    require_servers!();
    let (clientset, namespace) = clientset("disjoint").await;
    let apps = clientset.appcontroller_v1alpha1().app_services(&namespace);
    apps.apply(&app_service_apply("example", 0)).field_manager("one").await.unwrap();

    let one = async {
        for round in 1..=400 {
            let applied =
                apps.apply(&app_service_apply("example", round)).field_manager("one").await.unwrap();
            assert_eq!(applied.spec.replicas, Some(round));
        }
    };
    let two = async {
        for round in 1..=400 {
            let metadata = ObjectMetaApply::new("example").labels([("two", round.to_string())]);
            let config = app_service_with(metadata);
            let applied = apps.apply(&config).field_manager("two").await.unwrap();
            assert_eq!(applied.labels()["two"], round.to_string());
        }
    };
    // The appliers do not pause, so the updater needs more attempts than beside polite writers.
    let policy = RetryPolicy::CONFLICT.attempts(1000).pause(Duration::from_millis(2)).jitter(1.0);
    let count = |object: &samplecrd_apis::appcontroller::v1alpha1::AppService| {
        object.annotations().get("count").map_or(0, |count| count.parse::<i32>().expect("it is a number"))
    };
    let updater = async {
        let mut last = None;
        for round in 0..200 {
            let update = apps
                .update_with("example", |object| {
                    let next = count(object) + 1;
                    object.annotations_mut().insert("count".to_owned(), next.to_string());
                })
                .field_manager("updater")
                .retry(policy);
            // Every other round starts from what the round before returned, which is stale by now.
            let update = match last.take().filter(|_| round % 2 == 1) {
                Some(stale) => update.from(std::sync::Arc::new(stale)),
                None => update,
            };
            last = Some(update.await.unwrap());
        }
    };
    tokio::join!(one, two, updater);

    let object = apps.get("example").await.unwrap();
    assert_eq!((object.spec.replicas, &*object.labels()["two"], count(&object)), (Some(400), "400", 200));
    assert_eq!(object.spec.deployment_name, "web");
}

#[tokio::test]
async fn update_with_retries_until_every_writer_of_one_field_has_had_its_turn() {
    require_servers!();
    let (clientset, namespace) = clientset("one-field").await;
    let apps = clientset.appcontroller_v1alpha1().app_services(&namespace);
    let mut object = app_service(named("example"));
    object.spec.replicas = Some(0);
    apps.create(&object).await.unwrap();
    let policy = RetryPolicy::CONFLICT.attempts(100).jitter(1.0);
    let writers = (0..10).map(|_| async {
        let add = |app: &mut samplecrd_apis::appcontroller::v1alpha1::AppService| {
            app.spec.replicas = app.spec.replicas.map(|replicas| replicas + 1);
        };
        apps.update_with("example", add).retry(policy).await.unwrap();
        let report = |app: &mut samplecrd_apis::appcontroller::v1alpha1::AppService| {
            app.status.get_or_insert_default().available_replicas += 1;
        };
        apps.update_status_with("example", report).retry(policy).await.unwrap();
    });
    futures::future::join_all(writers).await;
    let object = apps.get("example").await.unwrap();
    assert_eq!((object.spec.replicas, object.status.unwrap().available_replicas), (Some(10), 10));
}
