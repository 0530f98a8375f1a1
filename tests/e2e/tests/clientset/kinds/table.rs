//! The kinds with a list, and what their generated clients and informers are called.

use genclient_runtime::{ListParams, Patch, client};
use kubernetes_client::clientset::typed;

use super::{Kind, Test, Writes};

/// What the test uses of one generated client.
macro_rules! writes {
    ($group:ident, $version:ident, $Client:ident, $K:ty) => {
        impl Writes for typed::$group::$version::$Client {
            type Kind = $K;

            fn create(&self, object: &$K) -> client::Write<$K> {
                self.create(object)
            }

            fn get(&self, name: &str) -> client::Get<$K> {
                self.get(name)
            }

            fn patch(&self, name: &str, patch: &Patch) -> client::PatchRequest<$K> {
                self.patch(name, patch)
            }

            fn delete(&self, name: &str) -> client::Delete<$K> {
                self.delete(name)
            }
        }
    };
}

/// The part of the test that names the methods of one kind.
macro_rules! check {
    (namespaced $group:ident $version:ident $accessor:ident $plural:ident $all:ident) => {
        |test: Test| {
            Box::pin(async move {
                let clients = test.clientset.$accessor();
                let (all, params) = (clients.$all(), ListParams::default());
                let informer = test.factory.$group().$version().$plural().informer();
                let client = clients.$plural(&test.namespace);
                test.check(all.list(&params), all.watch(&params), informer, &client).await
            })
        }
    };
    (cluster $group:ident $version:ident $accessor:ident $plural:ident) => {
        |test: Test| {
            Box::pin(async move {
                let (client, params) = (test.clientset.$accessor().$plural(), ListParams::default());
                let informer = test.factory.$group().$version().$plural().informer();
                test.check(client.list(&params), client.watch(&params), informer, &client).await
            })
        }
    };
}

macro_rules! kinds {
    ($name:ident: $($scope:ident $group:ident::$version:ident::$Client:ident,
       $accessor:ident().$plural:ident $(, $all:ident)? = $K:ty;)*) => {
        $(writes!($group, $version, $Client, $K);)*

        fn $name() -> Vec<Kind> {
            vec![$(Kind::of::<$K>(check!($scope $group $version $accessor $plural $($all)?)),)*]
        }
    };
}

/// The kinds that are tested: every kind with a list if there is time to compile the test for them all.
pub fn kinds() -> Vec<Kind> {
    let kinds = usual();
    #[cfg(feature = "every-kind")]
    let kinds = kinds.into_iter().chain(others()).collect();
    kinds
}

kinds! {
    usual:
    namespaced apps::v1::DeploymentClient, apps_v1().deployments, all_deployments = k8s_openapi::api::apps::v1::Deployment;
    namespaced apps::v1::StatefulSetClient, apps_v1().stateful_sets, all_stateful_sets = k8s_openapi::api::apps::v1::StatefulSet;
    namespaced batch::v1::JobClient, batch_v1().jobs, all_jobs = k8s_openapi::api::batch::v1::Job;
    cluster certificates::v1::CertificateSigningRequestClient, certificates_v1().certificate_signing_requests = k8s_openapi::api::certificates::v1::CertificateSigningRequest;
    namespaced coordination::v1::LeaseClient, coordination_v1().leases, all_leases = k8s_openapi::api::coordination::v1::Lease;
    namespaced core::v1::ConfigMapClient, core_v1().config_maps, all_config_maps = k8s_openapi::api::core::v1::ConfigMap;
    cluster core::v1::NamespaceClient, core_v1().namespaces = k8s_openapi::api::core::v1::Namespace;
    cluster core::v1::NodeClient, core_v1().nodes = k8s_openapi::api::core::v1::Node;
    namespaced core::v1::PodClient, core_v1().pods, all_pods = k8s_openapi::api::core::v1::Pod;
    namespaced core::v1::SecretClient, core_v1().secrets, all_secrets = k8s_openapi::api::core::v1::Secret;
    namespaced core::v1::ServiceClient, core_v1().services, all_services = k8s_openapi::api::core::v1::Service;
    namespaced networking::v1::IngressClient, networking_v1().ingresses, all_ingresses = k8s_openapi::api::networking::v1::Ingress;
    namespaced policy::v1::PodDisruptionBudgetClient, policy_v1().pod_disruption_budgets, all_pod_disruption_budgets = k8s_openapi::api::policy::v1::PodDisruptionBudget;
    cluster rbac::v1::ClusterRoleClient, rbac_v1().cluster_roles = k8s_openapi::api::rbac::v1::ClusterRole;
}

#[cfg(feature = "every-kind")]
kinds! {
    others:
    cluster admissionregistration::v1::MutatingAdmissionPolicyClient, admissionregistration_v1().mutating_admission_policies = k8s_openapi::api::admissionregistration::v1::MutatingAdmissionPolicy;
    cluster admissionregistration::v1::MutatingAdmissionPolicyBindingClient, admissionregistration_v1().mutating_admission_policy_bindings = k8s_openapi::api::admissionregistration::v1::MutatingAdmissionPolicyBinding;
    cluster admissionregistration::v1::MutatingWebhookConfigurationClient, admissionregistration_v1().mutating_webhook_configurations = k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
    cluster admissionregistration::v1::ValidatingAdmissionPolicyClient, admissionregistration_v1().validating_admission_policies = k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicy;
    cluster admissionregistration::v1::ValidatingAdmissionPolicyBindingClient, admissionregistration_v1().validating_admission_policy_bindings = k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicyBinding;
    cluster admissionregistration::v1::ValidatingWebhookConfigurationClient, admissionregistration_v1().validating_webhook_configurations = k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
    cluster admissionregistration::v1alpha1::MutatingAdmissionPolicyClient, admissionregistration_v1alpha1().mutating_admission_policies = k8s_openapi::api::admissionregistration::v1alpha1::MutatingAdmissionPolicy;
    cluster admissionregistration::v1alpha1::MutatingAdmissionPolicyBindingClient, admissionregistration_v1alpha1().mutating_admission_policy_bindings = k8s_openapi::api::admissionregistration::v1alpha1::MutatingAdmissionPolicyBinding;
    cluster admissionregistration::v1beta1::MutatingAdmissionPolicyClient, admissionregistration_v1beta1().mutating_admission_policies = k8s_openapi::api::admissionregistration::v1beta1::MutatingAdmissionPolicy;
    cluster admissionregistration::v1beta1::MutatingAdmissionPolicyBindingClient, admissionregistration_v1beta1().mutating_admission_policy_bindings = k8s_openapi::api::admissionregistration::v1beta1::MutatingAdmissionPolicyBinding;
    cluster apiextensions::v1::CustomResourceDefinitionClient, apiextensions_v1().custom_resource_definitions = k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
    cluster apiregistration::v1::APIServiceClient, apiregistration_v1().api_services = k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
    namespaced apps::v1::ControllerRevisionClient, apps_v1().controller_revisions, all_controller_revisions = k8s_openapi::api::apps::v1::ControllerRevision;
    namespaced apps::v1::DaemonSetClient, apps_v1().daemon_sets, all_daemon_sets = k8s_openapi::api::apps::v1::DaemonSet;
    namespaced apps::v1::ReplicaSetClient, apps_v1().replica_sets, all_replica_sets = k8s_openapi::api::apps::v1::ReplicaSet;
    namespaced autoscaling::v1::HorizontalPodAutoscalerClient, autoscaling_v1().horizontal_pod_autoscalers, all_horizontal_pod_autoscalers = k8s_openapi::api::autoscaling::v1::HorizontalPodAutoscaler;
    namespaced autoscaling::v2::HorizontalPodAutoscalerClient, autoscaling_v2().horizontal_pod_autoscalers, all_horizontal_pod_autoscalers = k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
    namespaced batch::v1::CronJobClient, batch_v1().cron_jobs, all_cron_jobs = k8s_openapi::api::batch::v1::CronJob;
    cluster certificates::v1::ClusterTrustBundleClient, certificates_v1().cluster_trust_bundles = k8s_openapi::api::certificates::v1::ClusterTrustBundle;
    namespaced certificates::v1::PodCertificateRequestClient, certificates_v1().pod_certificate_requests, all_pod_certificate_requests = k8s_openapi::api::certificates::v1::PodCertificateRequest;
    cluster certificates::v1beta1::ClusterTrustBundleClient, certificates_v1beta1().cluster_trust_bundles = k8s_openapi::api::certificates::v1beta1::ClusterTrustBundle;
    namespaced certificates::v1beta1::PodCertificateRequestClient, certificates_v1beta1().pod_certificate_requests, all_pod_certificate_requests = k8s_openapi::api::certificates::v1beta1::PodCertificateRequest;
    namespaced coordination::v1alpha2::LeaseCandidateClient, coordination_v1alpha2().lease_candidates, all_lease_candidates = k8s_openapi::api::coordination::v1alpha2::LeaseCandidate;
    namespaced coordination::v1beta1::LeaseCandidateClient, coordination_v1beta1().lease_candidates, all_lease_candidates = k8s_openapi::api::coordination::v1beta1::LeaseCandidate;
    namespaced core::v1::EndpointsClient, core_v1().endpoints, all_endpoints = k8s_openapi::api::core::v1::Endpoints;
    namespaced core::v1::EventClient, core_v1().events, all_events = k8s_openapi::api::core::v1::Event;
    namespaced core::v1::LimitRangeClient, core_v1().limit_ranges, all_limit_ranges = k8s_openapi::api::core::v1::LimitRange;
    cluster core::v1::PersistentVolumeClient, core_v1().persistent_volumes = k8s_openapi::api::core::v1::PersistentVolume;
    namespaced core::v1::PersistentVolumeClaimClient, core_v1().persistent_volume_claims, all_persistent_volume_claims = k8s_openapi::api::core::v1::PersistentVolumeClaim;
    namespaced core::v1::PodTemplateClient, core_v1().pod_templates, all_pod_templates = k8s_openapi::api::core::v1::PodTemplate;
    namespaced core::v1::ReplicationControllerClient, core_v1().replication_controllers, all_replication_controllers = k8s_openapi::api::core::v1::ReplicationController;
    namespaced core::v1::ResourceQuotaClient, core_v1().resource_quotas, all_resource_quotas = k8s_openapi::api::core::v1::ResourceQuota;
    namespaced core::v1::ServiceAccountClient, core_v1().service_accounts, all_service_accounts = k8s_openapi::api::core::v1::ServiceAccount;
    namespaced discovery::v1::EndpointSliceClient, discovery_v1().endpoint_slices, all_endpoint_slices = k8s_openapi::api::discovery::v1::EndpointSlice;
    namespaced events::v1::EventClient, events_v1().events, all_events = k8s_openapi::api::events::v1::Event;
    cluster flowcontrol::v1::FlowSchemaClient, flowcontrol_v1().flow_schemas = k8s_openapi::api::flowcontrol::v1::FlowSchema;
    cluster flowcontrol::v1::PriorityLevelConfigurationClient, flowcontrol_v1().priority_level_configurations = k8s_openapi::api::flowcontrol::v1::PriorityLevelConfiguration;
    cluster internal::v1alpha1::StorageVersionClient, internal_v1alpha1().storage_versions = k8s_openapi::api::apiserverinternal::v1alpha1::StorageVersion;
    namespaced lifecycle::v1alpha1::EvictionClient, lifecycle_v1alpha1().evictions, all_evictions = k8s_openapi::api::lifecycle::v1alpha1::Eviction;
    namespaced lifecycle::v1alpha1::EvictionRequestClient, lifecycle_v1alpha1().eviction_requests, all_eviction_requests = k8s_openapi::api::lifecycle::v1alpha1::EvictionRequest;
    cluster networking::v1::IngressClassClient, networking_v1().ingress_classes = k8s_openapi::api::networking::v1::IngressClass;
    cluster networking::v1::IPAddressClient, networking_v1().ip_addresses = k8s_openapi::api::networking::v1::IPAddress;
    namespaced networking::v1::NetworkPolicyClient, networking_v1().network_policies, all_network_policies = k8s_openapi::api::networking::v1::NetworkPolicy;
    cluster networking::v1::ServiceCIDRClient, networking_v1().service_cidrs = k8s_openapi::api::networking::v1::ServiceCIDR;
    cluster node::v1::RuntimeClassClient, node_v1().runtime_classes = k8s_openapi::api::node::v1::RuntimeClass;
    cluster rbac::v1::ClusterRoleBindingClient, rbac_v1().cluster_role_bindings = k8s_openapi::api::rbac::v1::ClusterRoleBinding;
    namespaced rbac::v1::RoleClient, rbac_v1().roles, all_roles = k8s_openapi::api::rbac::v1::Role;
    namespaced rbac::v1::RoleBindingClient, rbac_v1().role_bindings, all_role_bindings = k8s_openapi::api::rbac::v1::RoleBinding;
    cluster resource::v1::DeviceClassClient, resource_v1().device_classes = k8s_openapi::api::resource::v1::DeviceClass;
    cluster resource::v1::DeviceTaintRuleClient, resource_v1().device_taint_rules = k8s_openapi::api::resource::v1::DeviceTaintRule;
    namespaced resource::v1::ResourceClaimClient, resource_v1().resource_claims, all_resource_claims = k8s_openapi::api::resource::v1::ResourceClaim;
    namespaced resource::v1::ResourceClaimTemplateClient, resource_v1().resource_claim_templates, all_resource_claim_templates = k8s_openapi::api::resource::v1::ResourceClaimTemplate;
    cluster resource::v1::ResourceSliceClient, resource_v1().resource_slices = k8s_openapi::api::resource::v1::ResourceSlice;
    cluster resource::v1alpha3::DeviceTaintRuleClient, resource_v1alpha3().device_taint_rules = k8s_openapi::api::resource::v1alpha3::DeviceTaintRule;
    cluster resource::v1alpha3::ResourcePoolStatusRequestClient, resource_v1alpha3().resource_pool_status_requests = k8s_openapi::api::resource::v1alpha3::ResourcePoolStatusRequest;
    cluster resource::v1beta1::DeviceClassClient, resource_v1beta1().device_classes = k8s_openapi::api::resource::v1beta1::DeviceClass;
    namespaced resource::v1beta1::ResourceClaimClient, resource_v1beta1().resource_claims, all_resource_claims = k8s_openapi::api::resource::v1beta1::ResourceClaim;
    namespaced resource::v1beta1::ResourceClaimTemplateClient, resource_v1beta1().resource_claim_templates, all_resource_claim_templates = k8s_openapi::api::resource::v1beta1::ResourceClaimTemplate;
    cluster resource::v1beta1::ResourceSliceClient, resource_v1beta1().resource_slices = k8s_openapi::api::resource::v1beta1::ResourceSlice;
    cluster resource::v1beta2::DeviceClassClient, resource_v1beta2().device_classes = k8s_openapi::api::resource::v1beta2::DeviceClass;
    cluster resource::v1beta2::DeviceTaintRuleClient, resource_v1beta2().device_taint_rules = k8s_openapi::api::resource::v1beta2::DeviceTaintRule;
    namespaced resource::v1beta2::ResourceClaimClient, resource_v1beta2().resource_claims, all_resource_claims = k8s_openapi::api::resource::v1beta2::ResourceClaim;
    namespaced resource::v1beta2::ResourceClaimTemplateClient, resource_v1beta2().resource_claim_templates, all_resource_claim_templates = k8s_openapi::api::resource::v1beta2::ResourceClaimTemplate;
    cluster resource::v1beta2::ResourceSliceClient, resource_v1beta2().resource_slices = k8s_openapi::api::resource::v1beta2::ResourceSlice;
    cluster scheduling::v1::PriorityClassClient, scheduling_v1().priority_classes = k8s_openapi::api::scheduling::v1::PriorityClass;
    namespaced scheduling::v1alpha3::CompositePodGroupClient, scheduling_v1alpha3().composite_pod_groups, all_composite_pod_groups = k8s_openapi::api::scheduling::v1alpha3::CompositePodGroup;
    namespaced scheduling::v1alpha3::PodGroupClient, scheduling_v1alpha3().pod_groups, all_pod_groups = k8s_openapi::api::scheduling::v1alpha3::PodGroup;
    namespaced scheduling::v1alpha3::WorkloadClient, scheduling_v1alpha3().workloads, all_workloads = k8s_openapi::api::scheduling::v1alpha3::Workload;
    namespaced scheduling::v1beta1::PodGroupClient, scheduling_v1beta1().pod_groups, all_pod_groups = k8s_openapi::api::scheduling::v1beta1::PodGroup;
    namespaced scheduling::v1beta1::WorkloadClient, scheduling_v1beta1().workloads, all_workloads = k8s_openapi::api::scheduling::v1beta1::Workload;
    cluster storage::v1::CSIDriverClient, storage_v1().csi_drivers = k8s_openapi::api::storage::v1::CSIDriver;
    cluster storage::v1::CSINodeClient, storage_v1().csi_nodes = k8s_openapi::api::storage::v1::CSINode;
    namespaced storage::v1::CSIStorageCapacityClient, storage_v1().csi_storage_capacities, all_csi_storage_capacities = k8s_openapi::api::storage::v1::CSIStorageCapacity;
    cluster storage::v1::StorageClassClient, storage_v1().storage_classes = k8s_openapi::api::storage::v1::StorageClass;
    cluster storage::v1::VolumeAttachmentClient, storage_v1().volume_attachments = k8s_openapi::api::storage::v1::VolumeAttachment;
    cluster storage::v1::VolumeAttributesClassClient, storage_v1().volume_attributes_classes = k8s_openapi::api::storage::v1::VolumeAttributesClass;
    cluster storagemigration::v1::StorageVersionMigrationClient, storagemigration_v1().storage_version_migrations = k8s_openapi::api::storagemigration::v1::StorageVersionMigration;
    cluster storagemigration::v1beta1::StorageVersionMigrationClient, storagemigration_v1beta1().storage_version_migrations = k8s_openapi::api::storagemigration::v1beta1::StorageVersionMigration;
}
