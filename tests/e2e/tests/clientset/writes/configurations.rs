//! Apply configurations of the form that the generator writes.

use genclient_runtime::{
    Deserialize, Serialize,
    apply::{ApiVersion, ApplyConfiguration, Kind, ObjectMetaApply},
};
use k8s_openapi::api::apps::v1::Deployment;
use samplecrd_apis::{appcontroller::v1alpha1::AppService, samplecrd::v1::Network};
use serde_json::Value;

macro_rules! configuration {
    ($name:ident of $object:ty { $($field:ident: $of_type:ty,)* }) => {
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(crate = "genclient_runtime::serde")]
        pub struct $name {
            #[serde(rename = "apiVersion", default)]
            pub api_version: ApiVersion<$object>,
            #[serde(default)]
            pub kind: Kind<$object>,
            pub metadata: ObjectMetaApply,
            $(
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $field: Option<$of_type>,
            )*
        }

        impl $name {
            pub fn new(metadata: ObjectMetaApply) -> Self {
                let (api_version, kind) = (ApiVersion::default(), Kind::default());
                Self { api_version, kind, metadata, $($field: None),* }
            }
        }

        impl ApplyConfiguration for $name {
            type Object = $object;

            fn metadata(&self) -> &ObjectMetaApply {
                &self.metadata
            }
        }
    };
}

configuration!(NetworkApply of Network { spec: NetworkSpecApply, });
configuration!(AppServiceApply of AppService { spec: AppServiceSpecApply, status: AppServiceStatusApply, });
// What is below the spec is free, so that the items of keyed lists can be left out as anything else.
configuration!(DeploymentApply of Deployment { spec: Value, });

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(crate = "genclient_runtime::serde")]
pub struct NetworkSpecApply {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cidr: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(crate = "genclient_runtime::serde", rename_all = "camelCase")]
pub struct AppServiceSpecApply {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(crate = "genclient_runtime::serde", rename_all = "camelCase")]
pub struct AppServiceStatusApply {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_replicas: Option<i32>,
}

/// A Network with this range and gateway.
pub fn network_apply(name: &str, cidr: &str, gateway: &str) -> NetworkApply {
    let spec = NetworkSpecApply { cidr: Some(cidr.to_owned()), gateway: Some(gateway.to_owned()) };
    NetworkApply { spec: Some(spec), ..NetworkApply::new(ObjectMetaApply::new(name)) }
}

/// An AppService with this many replicas.
pub fn app_service_apply(name: &str, replicas: i32) -> AppServiceApply {
    let spec = AppServiceSpecApply { deployment_name: Some("web".to_owned()), replicas: Some(replicas) };
    AppServiceApply { spec: Some(spec), ..AppServiceApply::new(ObjectMetaApply::new(name)) }
}
