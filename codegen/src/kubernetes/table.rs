//! What the API server offers for its own kinds beyond what their types show.
//!
//! The rules, and the exceptions below:
//!
//! - A kind with a list has all verbs. A kind without one can only be created: it is a question to the server,
//!   and the answer is what `create` returns.
//! - A kind has the subresource `status` if it is in [`STATUS`] and its type has the field: a kind may get its
//!   status in a later version of Kubernetes than itself.
//! - The other subresources are in [`SUBRESOURCES`], with the type that the server takes and answers with, and
//!   become methods of the client.
//! - [`CONNECT`] has the subresources that are connections or addresses of other servers, not objects. kube's
//!   `Api` serves them, and a client has it: `clientset.core_v1().pods("default").api().logs(…)`.
//!
//! A test compares all of this with the discovery document of a real API server, in both directions.

use crate::verb::{Verb, Verbs};

/// The kinds with the subresource `status`, by group.
const STATUS: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "Namespace",
            "Node",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "Pod",
            "ReplicationController",
            "ResourceQuota",
            "Service",
        ],
    ),
    ("admissionregistration.k8s.io", &["ValidatingAdmissionPolicy"]),
    ("apiextensions.k8s.io", &["CustomResourceDefinition"]),
    ("apiregistration.k8s.io", &["APIService"]),
    ("apps", &["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"]),
    ("autoscaling", &["HorizontalPodAutoscaler"]),
    ("batch", &["CronJob", "Job"]),
    ("certificates.k8s.io", &["CertificateSigningRequest", "PodCertificateRequest"]),
    ("flowcontrol.apiserver.k8s.io", &["FlowSchema", "PriorityLevelConfiguration"]),
    ("internal.apiserver.k8s.io", &["StorageVersion"]),
    ("lifecycle.k8s.io", &["Eviction", "EvictionRequest"]),
    ("networking.k8s.io", &["Ingress", "ServiceCIDR"]),
    ("policy", &["PodDisruptionBudget"]),
    ("resource.k8s.io", &["DeviceTaintRule", "ResourceClaim", "ResourcePoolStatusRequest"]),
    ("scheduling.k8s.io", &["CompositePodGroup", "PodGroup"]),
    ("storage.k8s.io", &["CSINode", "VolumeAttachment"]),
    ("storagemigration.k8s.io", &["StorageVersionMigration"]),
];

/// A subresource other than the status.
pub(super) struct Subresource {
    pub group: &'static str,
    pub kind: &'static str,
    pub name: &'static str,
    /// The type of its body, where it is not the kind's own.
    pub of_type: Option<&'static str>,
    /// The methods of the client, in order.
    pub methods: &'static [(&'static str, Verb)],
    /// What the server does with it.
    pub served: &'static [&'static str],
}

const READ_AND_WRITE: &[&str] = &["get", "patch", "update"];

const SCALE: &[(&str, Verb)] = &[
    ("get_scale", Verb::Get),
    ("update_scale", Verb::Update),
    ("patch_scale", Verb::Patch),
    ("apply_scale", Verb::Apply),
];

const fn scale(group: &'static str, kind: &'static str) -> Subresource {
    let of_type = Some("k8s_openapi::api::autoscaling::v1::Scale");
    Subresource { group, kind, name: "scale", of_type, methods: SCALE, served: READ_AND_WRITE }
}

/// Reading such a subresource answers with the object itself, as `get` does, so it has no method.
const fn part(
    group: &'static str,
    kind: &'static str,
    name: &'static str,
    methods: &'static [(&'static str, Verb)],
) -> Subresource {
    Subresource { group, kind, name, of_type: None, methods, served: READ_AND_WRITE }
}

const fn created(
    kind: &'static str,
    name: &'static str,
    of_type: &'static str,
    methods: &'static [(&'static str, Verb)],
) -> Subresource {
    Subresource { group: "", kind, name, of_type: Some(of_type), methods, served: &["create"] }
}

/// The subresources that a client has methods for.
pub(super) const SUBRESOURCES: &[Subresource] = &[
    Subresource {
        group: "",
        kind: "Namespace",
        name: "finalize",
        of_type: None,
        methods: &[("finalize", Verb::Update)],
        served: &["update"],
    },
    created("Pod", "binding", "k8s_openapi::api::core::v1::Binding", &[("bind", Verb::Create)]),
    part(
        "",
        "Pod",
        "ephemeralcontainers",
        &[("update_ephemeral_containers", Verb::Update), ("patch_ephemeral_containers", Verb::Patch)],
    ),
    created("Pod", "eviction", "k8s_openapi::api::policy::v1::Eviction", &[("evict", Verb::Create)]),
    part("", "Pod", "resize", &[("update_resize", Verb::Update), ("patch_resize", Verb::Patch)]),
    scale("", "ReplicationController"),
    created(
        "ServiceAccount",
        "token",
        "k8s_openapi::api::authentication::v1::TokenRequest",
        &[("create_token", Verb::Create)],
    ),
    scale("apps", "Deployment"),
    scale("apps", "ReplicaSet"),
    scale("apps", "StatefulSet"),
    part(
        "certificates.k8s.io",
        "CertificateSigningRequest",
        "approval",
        &[("update_approval", Verb::Update), ("patch_approval", Verb::Patch)],
    ),
];

/// The kinds that the server answers to with a `Status`, whether it is the kind or its subresource that is
/// created.
pub(super) const ANSWERED_WITH_STATUS: &[&str] =
    &["k8s_openapi::api::core::v1::Binding", "k8s_openapi::api::policy::v1::Eviction"];

/// That `Status`.
pub(super) const STATUS_TYPE: &str = "k8s_openapi::apimachinery::pkg::apis::meta::v1::Status";

/// The subresources that are connections, with the verbs that the server lists.
pub(super) const CONNECT: &[(&str, &str, &[&str])] = &[
    ("Node", "proxy", &["create", "delete", "get", "patch", "update"]),
    ("Pod", "attach", &["create", "get"]),
    ("Pod", "exec", &["create", "get"]),
    ("Pod", "log", &["get"]),
    ("Pod", "portforward", &["create", "get"]),
    ("Pod", "proxy", &["create", "delete", "get", "patch", "update"]),
    ("Service", "proxy", &["create", "delete", "get", "patch", "update"]),
];

/// The verbs of a kind's client, the status aside.
pub(super) fn verbs(group: &str, kind: &str, listable: bool) -> Verbs {
    match (group, kind) {
        _ if !listable => Verbs::from([Verb::Create]),
        // What the server knows of its neighbours: nobody writes it, and it does not change by events.
        ("", "ComponentStatus") => Verbs::from([Verb::Get, Verb::List]),
        // Namespaces are deleted one by one.
        ("", "Namespace") => all().into_iter().filter(|verb| *verb != Verb::DeleteCollection).collect(),
        _ => all(),
    }
}

fn all() -> Verbs {
    Verb::ALL.iter().copied().filter(|verb| !Verb::STATUS.contains(verb)).collect()
}

/// Whether a kind has the subresource `status`, if its type has the field.
pub(super) fn has_status(group: &str, kind: &str) -> bool {
    STATUS.iter().any(|(known, kinds)| *known == group && kinds.contains(&kind))
}

/// The subresources of a kind other than its status.
pub(super) fn subresources(group: &str, kind: &str) -> impl Iterator<Item = &'static Subresource> {
    SUBRESOURCES.iter().filter(move |subresource| subresource.group == group && subresource.kind == kind)
}
