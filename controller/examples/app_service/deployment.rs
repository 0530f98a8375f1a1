//! The Deployment that an AppService asks for.

use genclient_runtime::{ObjectMeta, k8s_openapi::api::apps::v1::Deployment, owner::controller_ref};
use kubernetes_client::apply::{
    apps::v1::{DeploymentApply, DeploymentSpecApply},
    core::v1::{ContainerApply, PodSpecApply, PodTemplateSpecApply},
    meta::v1::LabelSelectorApply,
};
use samplecrd_apis::appcontroller::v1alpha1::AppService;

/// The name of the container.
const CONTAINER: &str = "app-service";

/// Returns how many replicas the AppService asks for.
pub fn replicas_of(app: &AppService) -> i32 {
    app.spec.replicas.unwrap_or(1)
}

/// Returns the fields of the Deployment that belong to the controller.
///
/// An apply of them to anything but `found`, the Deployment of the AppService, is a conflict.
pub fn config(app: &AppService, namespace: &str, image: &str, found: Option<&Deployment>) -> DeploymentApply {
    let instance = app.metadata.name.as_deref().unwrap_or_default();
    let labels = || [("app.kubernetes.io/name", CONTAINER), ("app.kubernetes.io/instance", instance)];
    let pod_labels = labels().map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let container = ContainerApply::new().name(CONTAINER).image(app.spec.image.as_deref().unwrap_or(image));
    let spec = DeploymentSpecApply::new()
        .replicas(replicas_of(app))
        .selector(LabelSelectorApply::new().match_labels(labels()))
        .template(
            PodTemplateSpecApply::new()
                .metadata(ObjectMeta { labels: Some(pod_labels), ..ObjectMeta::default() })
                .spec(PodSpecApply::new().containers([container])),
        );
    let mut config = DeploymentApply::new(&app.spec.deployment_name, namespace)
        .labels(labels())
        .owner_references([controller_ref(app)])
        .spec(spec);
    config.metadata.uid = found.and_then(|own| own.metadata.uid.clone());
    config
}

/// Returns whether the Deployment has the replicas and the image that the AppService asks for. What else others set is
/// their concern.
pub fn is_as_wanted(deployment: &Deployment, app: &AppService, image: &str) -> bool {
    let mut containers = deployment.spec.template.spec.iter().flat_map(|pod| &pod.containers);
    let found = containers.find(|container| container.name == CONTAINER).and_then(|own| own.image.as_deref());
    deployment.spec.replicas == Some(replicas_of(app))
        && found == Some(app.spec.image.as_deref().unwrap_or(image))
}
