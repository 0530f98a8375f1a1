//! The kinds that are questions, and the subresources that are methods.

use genclient_runtime::{Patch, kube::ResourceExt as _};
use genclient_testenv::require_servers;
use k8s_openapi::api::{
    apps::v1::Deployment,
    authentication::v1::{SelfSubjectReview, TokenRequest, TokenReview, TokenReviewSpec},
    authorization::v1::{
        LocalSubjectAccessReview, ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
        SelfSubjectRulesReview, SelfSubjectRulesReviewSpec, SubjectAccessReview, SubjectAccessReviewSpec,
    },
    certificates::v1::{CertificateSigningRequest, CertificateSigningRequestCondition},
    core::v1::{Binding, Namespace, ObjectReference, Pod},
    policy::v1::Eviction,
};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::{clientset, fixture};
use crate::support::named;

/// The fixture of a kind, as its type.
fn object<K: DeserializeOwned + k8s_openapi::Resource>(namespace: &str) -> K {
    let value = fixture(K::API_VERSION, K::KIND, namespace).expect("the kind has a fixture");
    serde_json::from_value(value).expect("the fixture is of its kind")
}

#[tokio::test]
async fn a_review_is_answered_by_creating_it() {
    require_servers!(ControlPlane);
    let (clientset, namespace) = clientset("reviews").await;
    let (authentication, authorization) = (clientset.authentication_v1(), clientset.authorization_v1());

    let who = authentication.self_subject_reviews().create(&SelfSubjectReview::default()).await;
    let who = who.expect("the server says who is asking").status.and_then(|status| status.user_info);
    assert!(who.and_then(|who| who.username).is_some());

    let review = TokenReview {
        spec: TokenReviewSpec { token: "none".to_owned(), ..TokenReviewSpec::default() },
        ..TokenReview::default()
    };
    let answer = authentication.token_reviews().create(&review).await.expect("a token is reviewed");
    assert_ne!(answer.status.and_then(|status| status.authenticated), Some(true));

    let attributes = ResourceAttributes {
        namespace: Some(namespace.clone()),
        verb: Some("get".to_owned()),
        resource: Some("pods".to_owned()),
        ..ResourceAttributes::default()
    };
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(attributes.clone()),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    };
    let answer = authorization.self_subject_access_reviews().create(&review).await.expect("it is answered");
    assert!(answer.status.is_some_and(|status| status.allowed));

    let spec = SubjectAccessReviewSpec {
        user: Some("nobody".to_owned()),
        resource_attributes: Some(attributes),
        ..SubjectAccessReviewSpec::default()
    };
    let review = SubjectAccessReview { spec: spec.clone(), ..SubjectAccessReview::default() };
    let answer = authorization.subject_access_reviews().create(&review).await.expect("it is answered");
    assert!(answer.status.is_some_and(|status| !status.allowed));

    let mut review = LocalSubjectAccessReview { spec, ..LocalSubjectAccessReview::default() };
    review.metadata.namespace = Some(namespace.clone());
    let reviews = authorization.local_subject_access_reviews(&namespace);
    let answer = reviews.create(&review).await.expect("it is answered");
    assert!(answer.status.is_some_and(|status| !status.allowed));

    let review = SelfSubjectRulesReview {
        spec: SelfSubjectRulesReviewSpec { namespace: Some(namespace) },
        ..SelfSubjectRulesReview::default()
    };
    let answer = authorization.self_subject_rules_reviews().create(&review).await.expect("it is answered");
    assert!(answer.status.is_some());
}

#[tokio::test]
async fn a_pod_is_bound_given_a_container_and_evicted() {
    require_servers!(ControlPlane);
    let (clientset, namespace) = clientset("pods").await;
    let pods = clientset.core_v1().pods(&namespace);
    let target = ObjectReference { name: Some("node".to_owned()), ..ObjectReference::default() };
    let binding = |name: &str| Binding { metadata: named(name), target: target.clone() };
    let mut pod: Pod = object(&namespace);

    pod.metadata.name = Some("first".to_owned());
    pods.create(&pod).await.expect("a pod is created");
    pods.bind("first", &binding("first")).await.expect("the pod is bound");
    pod.metadata.name = Some("second".to_owned());
    pods.create(&pod).await.expect("a pod is created");
    clientset.core_v1().bindings(&namespace).create(&binding("second")).await.expect("the pod is bound");
    for name in ["first", "second"] {
        let node = pods.get(name).await.expect("the pod is read").spec.and_then(|spec| spec.node_name);
        assert_eq!(node.as_deref(), Some("node"));
    }

    let container = json!({ "name": "shell", "image": "example.com/none" });
    let patch = Patch::strategic(&json!({ "spec": { "ephemeralContainers": [container] } }));
    let patched = pods.patch_ephemeral_containers("first", &patch).await.expect("a container is added");
    assert!(patched.spec.is_some_and(|spec| spec.ephemeral_containers.is_some()));

    let resources = json!({ "requests": { "cpu": "1m" } });
    let patch = json!({ "spec": { "containers": [{ "name": "main", "resources": resources }] } });
    // Whether a pod may be given other resources depends on its class; that the server knows the pod's
    // subresource shows in either answer.
    let resized = pods.patch_resize("first", &Patch::strategic(&patch)).await;
    assert!(resized.is_ok() || resized.is_err_and(|error| error.is_invalid()));

    let eviction = Eviction { metadata: named("first"), ..Eviction::default() };
    pods.evict("first", &eviction).await.expect("the pod is evicted");
}

#[tokio::test]
async fn a_subresource_has_its_own_methods() {
    require_servers!(ControlPlane);
    let (clientset, namespace) = clientset("subresources").await;

    let deployments = clientset.apps_v1().deployments(&namespace);
    let deployment: Deployment = object(&namespace);
    let name = deployment.name_any();
    deployments.create(&deployment).await.expect("a deployment is created");
    let mut scale = deployments.get_scale(&name).await.expect("its scale is read");
    scale.spec.get_or_insert_default().replicas = Some(3);
    deployments.update_scale(&name, &scale).await.expect("its scale is replaced");
    let found = deployments.get(&name).await.expect("the deployment is read");
    assert_eq!(found.spec.replicas, Some(3));
    let patch = Patch::merge(&json!({ "spec": { "replicas": 1 } }));
    let scale = deployments.patch_scale(&name, &patch).await.expect("its scale is patched");
    assert_eq!(scale.spec.and_then(|spec| spec.replicas), Some(1));

    let accounts = clientset.core_v1().service_accounts(&namespace);
    let token = accounts.create_token("default", &TokenRequest::default()).await.expect("a token is made");
    assert!(token.status.is_some_and(|status| status.token.is_some()));

    let mut namespaced: Namespace = object(&namespace);
    namespaced.metadata.name = Some(format!("{namespace}-finalized"));
    let namespaces = clientset.core_v1().namespaces();
    let mut created = namespaces.create(&namespaced).await.expect("a namespace is created");
    created.spec = None;
    let name = created.name_any();
    let finalized = namespaces.finalize(&name, &created).await.expect("its finalizers are removed");
    assert_eq!(finalized.spec.and_then(|spec| spec.finalizers), None);

    let requests = clientset.certificates_v1().certificate_signing_requests();
    let mut request: CertificateSigningRequest = object(&namespace);
    request.metadata.name = Some(format!("{namespace}-approved"));
    let mut created = requests.create(&request).await.expect("a request is created");
    let approved = CertificateSigningRequestCondition {
        type_: "Approved".to_owned(),
        status: "True".to_owned(),
        ..CertificateSigningRequestCondition::default()
    };
    created.status.get_or_insert_default().conditions = Some(vec![approved]);
    let name = created.name_any();
    let answer = requests.update_approval(&name, &created).await.expect("the request is approved");
    assert!(answer.status.is_some_and(|status| status.conditions.is_some()));
}
