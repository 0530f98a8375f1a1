//! What the fields of Kubernetes' own kinds mean, in the words of their types in `k8s-openapi`.
//!
//! The types are those of the Kubernetes version that the program has chosen. A kind that this version does not have
//! has no descriptions.

use k8s_openapi::{
    api::{
        admissionregistration::v1 as admission,
        apps::v1 as apps,
        authentication::v1 as authentication,
        authorization::v1 as authorization,
        autoscaling::{v1 as autoscaling_v1, v2 as autoscaling_v2},
        batch::v1 as batch,
        certificates::v1 as certificates,
        coordination::v1 as coordination,
        core::v1 as core,
        discovery::v1 as discovery,
        events::v1 as events,
        flowcontrol::v1 as flowcontrol,
        networking::v1 as networking,
        node::v1 as node,
        policy::v1 as policy,
        rbac::v1 as rbac,
        scheduling::v1 as scheduling,
        storage::v1 as storage,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1 as apiextensions,
    kube_aggregator::pkg::apis::apiregistration::v1 as apiregistration,
    schemars::SchemaGenerator,
};
use serde_json::{Map, Value};

/// Adds the definitions of some types to a generator.
macro_rules! define {
    ($generator:expr, $module:ident: $($kind:ident)+) => {{
        $($generator.subschema_for::<$module::$kind>();)+
    }};
}

/// Returns the definitions of the kinds of a group and version, and of all that they refer to, by their names.
pub(super) fn definitions(group: &str, version: &str) -> Map<String, Value> {
    let mut generator = SchemaGenerator::default();
    match (group, version) {
        ("", "v1") => define!(generator,
            core: Binding ComponentStatus ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume
                PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount
        ),
        ("admissionregistration.k8s.io", "v1") => {
            define!(generator,
                admission: MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding
                    ValidatingWebhookConfiguration
            );
            k8s_openapi::k8s_if_ge_1_36! {
                define!(generator, admission: MutatingAdmissionPolicy MutatingAdmissionPolicyBinding);
            }
        }
        ("apiextensions.k8s.io", "v1") => {
            define!(generator, apiextensions: CustomResourceDefinition);
        }
        ("apiregistration.k8s.io", "v1") => define!(generator, apiregistration: APIService),
        ("apps", "v1") => define!(generator,
            apps: ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet
        ),
        ("authentication.k8s.io", "v1") => define!(generator, authentication: SelfSubjectReview TokenReview),
        ("authorization.k8s.io", "v1") => define!(generator,
            authorization: LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview
        ),
        ("autoscaling", "v1") => define!(generator, autoscaling_v1: HorizontalPodAutoscaler Scale),
        ("autoscaling", "v2") => define!(generator, autoscaling_v2: HorizontalPodAutoscaler),
        ("batch", "v1") => define!(generator, batch: CronJob Job),
        ("certificates.k8s.io", "v1") => define!(generator, certificates: CertificateSigningRequest),
        ("coordination.k8s.io", "v1") => define!(generator, coordination: Lease),
        ("discovery.k8s.io", "v1") => define!(generator, discovery: EndpointSlice),
        ("events.k8s.io", "v1") => define!(generator, events: Event),
        ("flowcontrol.apiserver.k8s.io", "v1") => {
            define!(generator, flowcontrol: FlowSchema PriorityLevelConfiguration);
        }
        ("networking.k8s.io", "v1") => define!(generator,
            networking: IPAddress Ingress IngressClass NetworkPolicy ServiceCIDR
        ),
        ("node.k8s.io", "v1") => define!(generator, node: RuntimeClass),
        ("policy", "v1") => define!(generator, policy: Eviction PodDisruptionBudget),
        ("rbac.authorization.k8s.io", "v1") => {
            define!(generator, rbac: ClusterRole ClusterRoleBinding Role RoleBinding);
        }
        ("resource.k8s.io", "v1") => {
            k8s_openapi::k8s_if_ge_1_34! {
                use k8s_openapi::api::resource::v1 as resource;
                define!(generator,
                    resource: DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice
                );
            }
        }
        ("scheduling.k8s.io", "v1") => define!(generator, scheduling: PriorityClass),
        ("storage.k8s.io", "v1") => {
            define!(generator,
                storage: CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment
            );
            k8s_openapi::k8s_if_ge_1_34! {
                define!(generator, storage: VolumeAttributesClass);
            }
        }
        _ => {}
    }
    generator.take_definitions(false)
}
