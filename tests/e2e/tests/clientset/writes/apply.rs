//! Applies by several managers, and what one of them has applied.

use genclient_runtime::{
    InformerFactory, ObjectMeta, TypedClient,
    apply::{ExtractError, ObjectMetaApply, extract, extract_status},
    kube::ResourceExt as _,
};
use genclient_testenv::require_servers;
use k8s_openapi::api::apps::v1::Deployment;
use samplecrd_apis::{appcontroller::v1alpha1::AppServiceStatus, samplecrd::v1::Network};

use super::configurations::{
    AppServiceApply, AppServiceStatusApply, ContainerApply, DeploymentApply, DeploymentSpecApply,
    EnvVarApply, LabelSelectorApply, NetworkApply, PodSpecApply, PodTemplateSpecApply, app_service_apply,
    app_service_with, network_apply,
};
use crate::support::{PATIENCE, clientset};

#[tokio::test]
async fn a_conflict_names_the_field_and_its_owner_and_force_takes_it() {
    require_servers!();
    let (clientset, namespace) = clientset("owners").await;
    let networks = clientset.samplecrd_v1().networks(&namespace);
    networks.apply(&network_apply("example", "10.0.0.0/8", "10.0.0.1")).field_manager("one").await.unwrap();

    let second = network_apply("example", "172.16.0.0/12", "172.16.0.1");
    let error = networks.apply(&second).field_manager("other").await.unwrap_err();
    assert!(error.is_conflict(), "{error}");
    let mut conflicts: Vec<_> =
        error.conflicts().into_iter().map(|conflict| (conflict.field, conflict.manager)).collect();
    conflicts.sort();
    let one = "one".to_owned();
    assert_eq!(conflicts, [(".spec.cidr".to_owned(), one.clone()), (".spec.gateway".to_owned(), one)]);
    let text = error.to_string();
    for part in [".spec.cidr belongs to \"one\"", ".spec.gateway belongs to \"one\"", "(Conflict)"] {
        assert!(text.contains(part), "{text}");
    }
    assert!(!text.contains('\n'), "{text}");

    let forced = networks.apply(&second).field_manager("other").force().await.unwrap();
    assert_eq!(forced.spec.cidr, "172.16.0.0/12");
    let lost = networks.apply(&network_apply("example", "10.0.0.0/8", "10.0.0.1")).field_manager("one").await;
    assert_eq!(lost.unwrap_err().conflicts()[0].manager, "other");
}

#[tokio::test]
async fn the_owner_by_update_is_named_too() {
    require_servers!();
    let (clientset, namespace) = clientset("updater").await;
    let apps = clientset.appcontroller_v1alpha1().app_services(&namespace);
    apps.apply(&app_service_apply("example", 1)).field_manager("one").await.unwrap();
    apps.update_with("example", |app| app.spec.replicas = Some(5)).field_manager("hpa").await.unwrap();
    let error = apps.apply(&app_service_apply("example", 1)).field_manager("one").await.unwrap_err();
    let conflicts = error.conflicts();
    assert_eq!((&*conflicts[0].manager, &*conflicts[0].field), ("hpa", ".spec.replicas"), "{error}");
}

#[tokio::test]
async fn a_field_that_is_no_longer_applied_disappears() {
    require_servers!();
    let (clientset, namespace) = clientset("dropped").await;
    let apps = clientset.appcontroller_v1alpha1().app_services(&namespace);
    let mut config = app_service_apply("example", 3);
    config.metadata = config.metadata.labels([("a", "1"), ("b", "2")]);
    let applied = apps.apply(&config).field_manager("one").await.unwrap();
    assert_eq!((applied.spec.replicas, applied.labels().len()), (Some(3), 2));

    config.spec.as_mut().unwrap().replicas = None;
    config.metadata = config.metadata.labels([("b", "2")]);
    let applied = apps.apply(&config).field_manager("one").await.unwrap();
    assert_eq!(applied.spec.replicas, None);
    assert_eq!(applied.labels().keys().collect::<Vec<_>>(), ["b"]);
}

#[tokio::test]
async fn what_is_extracted_changed_and_applied_drops_nothing_and_takes_nothing_of_others() {
    require_servers!();
    let (clientset, namespace) = clientset("extract").await;
    let apps = clientset.appcontroller_v1alpha1().app_services(&namespace);
    let mut config = app_service_apply("example", 1);
    config.metadata = config.metadata.labels([("mine", "1")]).finalizers(["example.com/mine"]);
    apps.apply(&config).field_manager("me").await.unwrap();
    let theirs = app_service_with(
        ObjectMetaApply::new("example").labels([("theirs", "1")]).finalizers(["example.com/theirs"]),
    );
    apps.apply(&theirs).field_manager("other").await.unwrap();
    apps.update_with("example", |app| drop(app.annotations_mut().insert("noted".into(), "yes".into())))
        .await
        .unwrap();
    let mut status = app_service_with(ObjectMetaApply::new("example"));
    status.status = Some(AppServiceStatusApply::new().available_replicas(1));
    apps.apply_status(&status).field_manager("me").await.unwrap();

    let object = apps.get("example").await.unwrap();
    let mut mine: AppServiceApply = extract(&object, "me").unwrap();
    assert_eq!(mine.metadata, config.metadata.clone().namespace(&*namespace));
    assert_eq!((&mine.spec, &mine.status), (&config.spec, &None));
    mine.spec.as_mut().unwrap().replicas = Some(2);
    let applied = apps.apply(&mine).field_manager("me").await.unwrap();
    assert_eq!(
        (applied.spec.replicas, &applied.spec.deployment_name),
        (Some(2), &object.spec.deployment_name)
    );
    assert_eq!(applied.labels(), object.labels());
    assert_eq!(applied.annotations(), object.annotations());
    assert_eq!(applied.finalizers(), object.finalizers());
    assert_eq!(applied.status, object.status);
    let others: AppServiceApply = extract(&applied, "other").unwrap();
    assert_eq!(others.metadata, theirs.metadata.namespace(&*namespace));

    let mut my_status: AppServiceApply = extract_status(&applied, "me").unwrap();
    assert_eq!((&my_status.spec, &my_status.status), (&None, &status.status));
    my_status.status.as_mut().unwrap().available_replicas = Some(2);
    let reported = apps.apply_status(&my_status).field_manager("me").await.unwrap();
    assert_eq!(
        reported.status,
        Some(AppServiceStatus { available_replicas: 2, ..AppServiceStatus::default() })
    );
    assert_eq!((reported.spec, reported.metadata.labels), (applied.spec, applied.metadata.labels));
    apps.update_with("example", |app| app.metadata.finalizers = None).await.unwrap();
}

#[tokio::test]
async fn what_is_extracted_of_keyed_lists_holds_only_the_managers_items() {
    require_servers!();
    let (clientset, namespace) = clientset("keyed").await;
    let deployments = TypedClient::<Deployment>::namespaced(clientset.client().clone(), &namespace);
    let spec = |containers: Vec<ContainerApply>| {
        DeploymentSpecApply::new()
            .template(PodTemplateSpecApply::new().spec(PodSpecApply::new().containers(containers)))
    };
    let variable = |name: &str, value: &str| EnvVarApply::new().name(name).value(value);
    let labels = || [("app".to_owned(), "web".to_owned())];
    let web = ContainerApply::new().name("web").image("web:1").env([variable("A", "1")]);
    let mut mine = spec(vec![web]).paused(true).selector(LabelSelectorApply::new().match_labels(labels()));
    mine.template = mine.template.map(|template| {
        template.metadata(ObjectMeta { labels: Some(labels().into()), ..ObjectMeta::default() })
    });
    let config = DeploymentApply::new("example", &*namespace).spec(mine);
    deployments.apply(&config).field_manager("me").await.unwrap();
    let sidecar = DeploymentApply::new("example", &*namespace).spec(spec(vec![
        ContainerApply::new().name("proxy").image("proxy:1"),
        ContainerApply::new().name("web").env([variable("B", "2")]),
    ]));
    deployments.apply(&sidecar).field_manager("injector").await.unwrap();

    let object = deployments.get("example").await.unwrap();
    let mut mine = DeploymentApply::extract(&object, "me").unwrap();
    assert_eq!(mine, config);
    let pod = mine.spec.as_mut().unwrap().template.as_mut().unwrap().spec.as_mut().unwrap();
    pod.containers.as_mut().unwrap()[0].image = Some("web:2".to_owned());
    let applied = deployments.apply(&mine).field_manager("me").await.unwrap();
    let containers = applied.spec.template.spec.unwrap().containers;
    let web = containers.iter().find(|container| container.name == "web").unwrap();
    let names: Vec<_> = web.env.iter().flatten().map(|variable| &*variable.name).collect();
    assert_eq!((containers.len(), web.image.as_deref(), names.len()), (2, Some("web:2"), 2), "{names:?}");
}

#[tokio::test]
async fn an_object_of_a_cache_shows_what_was_applied_only_if_its_informer_keeps_it() {
    require_servers!();
    let (clientset, namespace) = clientset("cached").await;
    let networks = clientset.samplecrd_v1().networks(&namespace);
    let config = network_apply("example", "10.0.0.0/8", "10.0.0.1");
    networks.apply(&config).field_manager("me").await.unwrap();
    for keep in [false, true] {
        let factory = InformerFactory::builder(clientset.client().clone())
            .namespace(&namespace)
            .keep_managed_fields(keep)
            .build();
        let informer = factory.informer::<Network>();
        factory.start();
        factory.wait_for_cache_sync(PATIENCE).await.unwrap();
        let cached = informer.lister().namespace(&namespace).get("example").unwrap();
        let extracted = extract::<NetworkApply>(&cached, "me");
        match keep {
            true => assert_eq!(extracted.unwrap().spec, config.spec),
            false => {
                let error = extracted.unwrap_err();
                assert!(matches!(error, ExtractError::NoManagedFields), "{error}");
                assert!(error.to_string().contains("keep_managed_fields(true)"), "{error}");
            }
        }
        factory.shutdown().await;
    }
}
