//! `appcontroller.k8s.io/v1alpha1`.

use genclient_runtime::{GenClient, GenClientList, ListMeta, ObjectMeta};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

genclient_runtime::group_version!("appcontroller.k8s.io/v1alpha1");

/// AppService describes an application that runs as one Deployment.
#[derive(Clone, Debug, PartialEq, GenClient)]
#[genclient(
    shortname = "as",
    category = "all",
    printcolumn(name = "Deployment", type_ = "string", json_path = ".spec.deploymentName"),
    printcolumn(name = "Desired", type_ = "integer", json_path = ".spec.replicas"),
    printcolumn(name = "Available", type_ = "integer", json_path = ".status.availableReplicas"),
    selectable = ".spec.deploymentName",
    scale(spec_replicas_path = ".spec.replicas", status_replicas_path = ".status.availableReplicas"),
    annotation("api-approved.kubernetes.io", "unapproved, sample")
)]
pub struct AppService {
    /// The object's metadata.
    pub metadata: ObjectMeta,
    /// The application that is wanted.
    pub spec: AppServiceSpec,
    /// The application as it is.
    pub status: Option<AppServiceStatus>,
}

/// AppServiceSpec is what a user asks of an application.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppServiceSpec {
    /// The name of the Deployment.
    pub deployment_name: String,
    /// How many replicas the Deployment has; one where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub replicas: Option<i32>,
    /// The image of the Deployment's container; the controller has a default where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

/// AppServiceStatus is what the controller last saw of an application.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppServiceStatus {
    /// How many replicas are available.
    #[schemars(range(min = 0))]
    pub available_replicas: i32,
    /// What the controller found out. `Available` says whether the Deployment has all its replicas, and if not,
    /// why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

/// AppServiceList is a list of AppService resources.
#[derive(Clone, Debug, PartialEq, GenClientList)]
pub struct AppServiceList {
    /// The list's metadata.
    pub metadata: ListMeta,
    /// The applications.
    pub items: Vec<AppService>,
}
