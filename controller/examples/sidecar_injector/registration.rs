//! The registration of the webhook with the API server.
//!
//! # Guarantees
//! - **It cannot lock the cluster out.** With `failurePolicy: Ignore` a Pod is created without the sidecar if the webhook
//!   does not answer within five seconds. The namespaces `kube-system` and those of the ConfigMap and of the service are
//!   spared, so that neither the control plane nor this program depends on the webhook.
//! - **It is kept.** Whoever changes or deletes it sees it come back.

use genclient_runtime::{
    ObjectKey,
    k8s_openapi::{ByteString, api::admissionregistration::v1::RuleWithOperations},
};
use kubernetes_client::apply::{
    admissionregistration::v1::{
        MutatingWebhookApply, MutatingWebhookConfigurationApply, ServiceReferenceApply,
        WebhookClientConfigApply,
    },
    meta::v1::{LabelSelectorApply, LabelSelectorRequirementApply},
};

/// The label that the API server gives to each namespace: its name.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// Where the API server finds the webhook.
#[derive(Clone, Debug)]
pub enum Endpoint {
    /// At a URL.
    Url(String),
    /// Behind a service, at port 443.
    Service(ObjectKey),
}

/// What the API server is told about the webhook.
#[derive(Clone, Debug)]
pub struct Registration {
    /// The name of the MutatingWebhookConfiguration.
    pub name: String,
    /// Where the webhook is.
    pub endpoint: Endpoint,
    /// The certificates that the API server has to trust, as PEM.
    pub bundle: String,
    /// The namespaces whose Pods are sent to the webhook; empty for all.
    pub namespaces: Vec<String>,
    /// The namespaces whose Pods are never sent.
    pub spared: Vec<String>,
}

impl Registration {
    /// Returns the configuration to apply.
    pub fn config(&self) -> MutatingWebhookConfigurationApply {
        let client = WebhookClientConfigApply::new().ca_bundle(ByteString(self.bundle.clone().into_bytes()));
        let client = match &self.endpoint {
            Endpoint::Url(url) => client.url(url),
            Endpoint::Service(key) => {
                let namespace = key.namespace.as_deref().unwrap_or_default();
                client.service(ServiceReferenceApply::new().namespace(namespace).name(&key.name).port(443))
            }
        };
        let new_pods = RuleWithOperations {
            operations: Some(vec!["CREATE".to_owned()]),
            api_groups: Some(vec![String::new()]),
            api_versions: Some(vec!["v1".to_owned()]),
            resources: Some(vec!["pods".to_owned()]),
            ..RuleWithOperations::default()
        };
        let name_is = |operator: &str, names: &[String]| {
            let names = names.to_vec();
            LabelSelectorRequirementApply::new().key(NAMESPACE_NAME).operator(operator).values(names)
        };
        let mut selected = vec![name_is("NotIn", &self.spared)];
        if !self.namespaces.is_empty() {
            selected.push(name_is("In", &self.namespaces));
        }
        let webhook = MutatingWebhookApply::new()
            .name(&self.name)
            .client_config(client)
            .rules([new_pods])
            .namespace_selector(LabelSelectorApply::new().match_expressions(selected))
            .failure_policy("Ignore")
            .timeout_seconds(5)
            // Another webhook may add containers after this one; this one is then asked again.
            .reinvocation_policy("IfNeeded")
            .side_effects("None")
            .admission_review_versions(["v1"]);
        MutatingWebhookConfigurationApply::new(&self.name).webhooks([webhook])
    }
}
