//! Generated apply configurations, as the tests use them.

use genclient_runtime::apply::ObjectMetaApply;
pub use kubernetes_client::apply::{
    apps::v1::{DeploymentApply, DeploymentSpecApply},
    core::v1::{ContainerApply, EnvVarApply, PodSpecApply, PodTemplateSpecApply},
    meta::v1::LabelSelectorApply,
};
pub use samplecrd_client::apply::{
    appcontroller::v1alpha1::{AppServiceApply, AppServiceSpecApply, AppServiceStatusApply},
    samplecrd::v1::{NetworkApply, NetworkSpecApply},
};

/// A Network with this range and gateway.
pub fn network_apply(name: &str, cidr: &str, gateway: &str) -> NetworkApply {
    let spec = NetworkSpecApply::new().cidr(cidr).gateway(gateway);
    NetworkApply { metadata: ObjectMetaApply::new(name), spec: Some(spec), ..NetworkApply::new("", "") }
}

/// An AppService with this many replicas.
pub fn app_service_apply(name: &str, replicas: i32) -> AppServiceApply {
    app_service_with(ObjectMetaApply::new(name))
        .spec(AppServiceSpecApply::new().deployment_name("web").replicas(replicas))
}

/// An AppService with this metadata, and nothing else.
pub fn app_service_with(metadata: ObjectMetaApply) -> AppServiceApply {
    AppServiceApply { metadata, ..AppServiceApply::new("", "") }
}
