//! The controller that keeps a Deployment for each AppService.

use genclient_runtime::{
    ObjectMeta, Patch, conditions, k8s_openapi::api::apps::v1::Deployment, owner::is_controlled_by,
};
use genclient_testenv::require_servers;
use kubernetes_client::clientset::{Clientset as Kubernetes, typed::apps::v1::DeploymentClient};
use samplecrd_apis::appcontroller::v1alpha1::{AppService, AppServiceSpec};
use samplecrd_client::clientset::{Clientset, typed::appcontroller::v1alpha1::AppServiceClient};
use serde_json::json;

use crate::support::{Cluster, eventually};

/// The clients of a namespace.
struct Clients {
    cluster: Cluster<'static>,
    apps: AppServiceClient,
    deployments: DeploymentClient,
}

impl Clients {
    async fn new(name: &str) -> Self {
        let cluster = Cluster::shared(name).await;
        let (client, namespace) = (cluster.client.clone(), &cluster.namespace);
        Self {
            apps: Clientset::new(client.clone()).appcontroller_v1alpha1().app_services(namespace),
            deployments: Kubernetes::new(client).apps_v1().deployments(namespace),
            cluster,
        }
    }

    async fn create(&self, name: &str, deployment: &str, replicas: i32) -> AppService {
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        let spec =
            AppServiceSpec { deployment_name: deployment.to_owned(), replicas: Some(replicas), image: None };
        self.apps.create(&AppService { metadata, spec, status: None }).await.unwrap()
    }

    /// Waits until the Deployment is as described.
    async fn deployment(&self, name: &str, what: &str, holds: impl Fn(&Deployment) -> bool) -> Deployment {
        let get = async || self.deployments.get(name).await.ok();
        let found =
            eventually(&format!("{name} {what}"), get, |found| found.as_ref().is_some_and(&holds)).await;
        found.unwrap()
    }

    /// Waits until the AppService reports so many replicas and `Available` with this status and reason.
    async fn reports(&self, name: &str, available: i32, status: &str, reason: &str) -> AppService {
        let what = format!("{name} reports {available} replicas and Available={status} because of {reason}");
        let get = async || self.apps.get(name).await.unwrap();
        eventually(&what, get, |app| {
            app.status.as_ref().is_some_and(|now| {
                let condition = conditions::find(&now.conditions, "Available");
                now.available_replicas == available
                    && condition.is_some_and(|now| now.status == status && now.reason == reason)
            })
        })
        .await
    }

    /// Reports every Pod of the namespace as ready, in place of the kubelet that there is none of.
    async fn make_pods_ready(&self, count: usize) {
        let names = async || {
            let names = self.cluster.kubectl(&["get", "pods", "-o", "name"]).await;
            names.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        let ready = json!({ "status": { "phase": "Running", "conditions": [
            { "type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z" },
        ] } });
        for name in eventually("there are pods", names, |names| names.len() == count).await {
            let patch = ready.to_string();
            self.cluster.kubectl(&["patch", &name, "--subresource=status", "-p", &patch]).await;
        }
    }
}

fn image(deployment: &Deployment) -> Option<&str> {
    deployment.spec.template.spec.as_ref()?.containers[0].image.as_deref()
}

#[tokio::test]
async fn an_app_service_gets_a_deployment_and_reports_its_available_replicas() {
    require_servers!();
    let test = Clients::new("app").await;
    let controller = test.cluster.example("app_service", &[]);
    let app = test.create("shop", "shop-web", 2).await;
    let made = test.deployment("shop-web", "exists", |_| true).await;
    assert!(is_controlled_by(&made, &app), "{made:#?}");
    assert_eq!((made.spec.replicas, image(&made)), (Some(2), Some("nginx:1.29")));
    let managers = made.metadata.managed_fields.unwrap();
    assert!(
        managers.iter().any(|entry| entry.manager.as_deref() == Some("app-service")
            && entry.operation.as_deref() == Some("Apply")),
        "{managers:#?}"
    );
    test.cluster.has_event("shop", "Normal", "DeploymentApplied", "created the Deployment shop-web").await;

    test.reports("shop", 0, "False", "NotYetAvailable").await;
    test.make_pods_ready(2).await;
    let reported = test.reports("shop", 2, "True", "AllAvailable").await;
    let condition = conditions::find(&reported.status.as_ref().unwrap().conditions, "Available").unwrap();
    assert_eq!(condition.observed_generation, reported.metadata.generation);
    assert_eq!(condition.message, "2 of 2 replicas are available");

    // When everything is as it should be, nothing is written, not even by a new controller.
    let versions = async || {
        let (app, deployment) =
            (test.apps.get("shop").await.unwrap(), test.deployments.get("shop-web").await.unwrap());
        (app.metadata.resource_version, deployment.metadata.generation)
    };
    controller.stop().await;
    let before = versions().await;
    let controller = test.cluster.example("app_service", &[]);
    // What comes later is done later: when that is done, so is what was listed.
    test.create("later", "later", 1).await;
    test.reports("later", 0, "False", "NotYetAvailable").await;
    assert_eq!(versions().await, before);
    assert_eq!(["the Deployment", "reporting"].map(|text| controller.count(&[text, "shop"])), [0, 0]);
    controller.stop().await;
}

#[tokio::test]
async fn replicas_and_image_are_kept_and_what_others_set_stays() {
    require_servers!();
    let test = Clients::new("app-kept").await;
    let controller = test.cluster.example("app_service", &["--image", "busybox:1"]);
    test.create("shop", "web", 1).await;
    test.deployment("web", "exists", |found| image(found) == Some("busybox:1")).await;

    // Others: a label, an annotation, and what belongs to the controller.
    test.cluster.kubectl(&["label", "deployment", "web", "team=blue"]).await;
    test.cluster.kubectl(&["set", "env", "deployment/web", "MODE=fast"]).await;
    test.cluster.kubectl(&["scale", "deployment", "web", "--replicas=5"]).await;
    test.deployment("web", "has one replica again", |found| found.spec.replicas == Some(1)).await;
    test.cluster.kubectl(&["set", "image", "deployment/web", "app-service=evil"]).await;
    let kept = test.deployment("web", "has its image again", |found| image(found) == Some("busybox:1")).await;
    assert_eq!(kept.metadata.labels.unwrap()["team"], "blue");
    let env = kept.spec.template.spec.unwrap().containers.remove(0).env.unwrap();
    assert_eq!((&*env[0].name, env[0].value.as_deref()), ("MODE", Some("fast")));

    // A change of the AppService, by its scale subresource too.
    test.cluster.kubectl(&["scale", "appservice", "shop", "--replicas=3"]).await;
    test.deployment("web", "has three replicas", |found| found.spec.replicas == Some(3)).await;
    let patch = Patch::merge(&json!({ "spec": { "image": "busybox:2" } }));
    test.apps.patch("shop", &patch).await.unwrap();
    test.deployment("web", "has the new image", |found| image(found) == Some("busybox:2")).await;

    // Another name: there is one Deployment, under the new name.
    let patch = Patch::merge(&json!({ "spec": { "deploymentName": "site" } }));
    test.apps.patch("shop", &patch).await.unwrap();
    test.deployment("site", "exists", |found| found.spec.replicas == Some(3)).await;
    let gone = async || test.deployments.get("web").await.is_err_and(|error| error.is_not_found());
    eventually("the Deployment of the old name is gone", gone, |gone| *gone).await;

    // A deleted Deployment comes again, and goes with its AppService.
    let uid = test.deployments.get("site").await.unwrap().metadata.uid;
    test.cluster.kubectl(&["delete", "deployment", "site"]).await;
    test.deployment("site", "exists again", |found| found.metadata.uid != uid).await;
    test.cluster.kubectl(&["delete", "appservice", "shop"]).await;
    let gone = async || test.deployments.get("site").await.is_err_and(|error| error.is_not_found());
    eventually("the Deployment goes with its AppService", gone, |gone| *gone).await;
    controller.stop().await;
}

#[tokio::test]
async fn a_deployment_of_somebody_else_is_a_warning_and_is_never_touched() {
    require_servers!();
    let test = Clients::new("app-foreign").await;
    test.cluster.kubectl(&["create", "deployment", "web", "--image=busybox", "--replicas=1"]).await;
    let controller = test.cluster.example("app_service", &[]);
    test.create("shop", "web", 4).await;
    test.cluster.has_event("shop", "Warning", "DeploymentNotOwned", "belongs to somebody else").await;
    test.reports("shop", 0, "False", "DeploymentNotOwned").await;

    // Not even one that is changed by its owner, and not the Deployment of another AppService.
    test.cluster.kubectl(&["scale", "deployment", "web", "--replicas=2"]).await;
    test.create("other", "other-web", 1).await;
    test.deployment("other-web", "exists", |_| true).await;
    test.create("thief", "other-web", 9).await;
    test.reports("thief", 0, "False", "DeploymentNotOwned").await;
    for (name, replicas) in [("web", 2), ("other-web", 1)] {
        let found = test.deployments.get(name).await.unwrap();
        assert_eq!(found.spec.replicas, Some(replicas), "{found:#?}");
        assert_eq!(found.metadata.generation, Some(if name == "web" { 2 } else { 1 }), "{found:#?}");
    }
    let foreign = test.deployments.get("web").await.unwrap();
    let managers = foreign.metadata.managed_fields.unwrap();
    assert!(managers.iter().all(|entry| entry.manager.as_deref() != Some("app-service")), "{managers:#?}");

    // When they make room, those that waited for the names get them.
    test.cluster.kubectl(&["delete", "deployment", "web"]).await;
    test.deployment("web", "is that of shop", |found| found.spec.replicas == Some(4)).await;
    test.cluster.kubectl(&["delete", "appservice", "other"]).await;
    test.deployment("other-web", "is that of thief", |found| found.spec.replicas == Some(9)).await;
    controller.stop().await;
}

#[tokio::test]
async fn a_deployment_that_the_server_refuses_is_reported_and_tried_again_after_a_change() {
    require_servers!();
    let test = Clients::new("app-refused").await;
    let controller = test.cluster.example("app_service", &[]);
    for name in ["Not_A_Name", ""] {
        test.create("shop", name, 1).await;
        test.reports("shop", 0, "False", "DeploymentRefused").await;
        let said = if name.is_empty() { "name" } else { "RFC 1123" };
        test.cluster.has_event("shop", "Warning", "DeploymentRefused", said).await;
        let patch = Patch::merge(&json!({ "spec": { "deploymentName": "web" } }));
        test.apps.patch("shop", &patch).await.unwrap();
        test.reports("shop", 0, "False", "NotYetAvailable").await;
        // The one that works stays until another one takes its place.
        let patch = Patch::merge(&json!({ "spec": { "deploymentName": name } }));
        test.apps.patch("shop", &patch).await.unwrap();
        test.reports("shop", 0, "False", "DeploymentRefused").await;
        assert!(test.deployments.get("web").await.unwrap().metadata.deletion_timestamp.is_none());
        test.cluster.kubectl(&["delete", "appservice", "shop"]).await;
        let gone = async || test.deployments.get("web").await.is_err_and(|error| error.is_not_found());
        eventually("the Deployment is gone", gone, |gone| *gone).await;
    }
    controller.stop().await;
}
