//! The webhook: reviews Pods with the template that the cache has, and keeps its registration.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::SeqCst},
};

use genclient_runtime::{
    Action, Error, ObjectKey,
    k8s_openapi::api::core::v1::{ConfigMap, Pod},
    store::Store,
};
use kube::core::admission::{AdmissionRequest, AdmissionResponse};
use kubernetes_client::clientset::Clientset;
use tracing::{info, warn};

use crate::{
    admission::Webhook,
    inject::{self, Template, Verdict},
    registration::Registration,
};

/// The webhook.
pub struct Injector {
    /// The key of the ConfigMap.
    pub key: ObjectKey,
    /// The cache with the ConfigMap.
    pub config_maps: Store<ConfigMap>,
    /// Whether Pods that do not ask for the sidecar get it, too.
    pub by_default: bool,
    /// Writes the registration.
    pub clientset: Clientset,
    /// What the API server is told.
    pub registration: Registration,
    /// Whether the API server was told.
    pub is_registered: AtomicBool,
}

impl Injector {
    /// Applies the registration, and warns of a template that cannot be used.
    pub async fn register(self: Arc<Self>) -> Result<Action, Error> {
        let webhooks = self.clientset.admissionregistration_v1().mutating_webhook_configurations();
        webhooks.apply(&self.registration.config()).force().await?;
        if !self.is_registered.swap(true, SeqCst) {
            info!(name = self.registration.name, "registered the webhook");
        }
        if let Err(reason) = self.template() {
            warn!("nothing is injected, and Pods that insist on it are refused: {reason}");
        }
        Ok(Action::await_change())
    }

    /// Returns the template and its version, as the cache has them now.
    fn template(&self) -> Result<(Template, String), String> {
        let config_map = self.config_maps.get(&self.key);
        let config_map = config_map.ok_or_else(|| format!("the ConfigMap {} does not exist", self.key))?;
        let template = Template::read(&config_map)
            .map_err(|error| format!("the ConfigMap {} has no valid template: {error}", self.key))?;
        Ok((template, config_map.metadata.resource_version.clone().unwrap_or_default()))
    }
}

impl Webhook for Injector {
    type Object = Pod;

    fn review(&self, request: &AdmissionRequest<Pod>) -> AdmissionResponse {
        let mut response = AdmissionResponse::from(request);
        let Some(pod) = &request.object else { return response };
        let namespace = request.namespace.as_deref().unwrap_or_default();
        let name = pod.metadata.name.as_deref().or(pod.metadata.generate_name.as_deref()).unwrap_or_default();
        match inject::decide(pod, self.template(), self.by_default) {
            Verdict::Unchanged => response,
            Verdict::Skipped(reason) => {
                warn!(namespace, name, "{reason}");
                response.warnings = Some(vec![reason]);
                response
            }
            Verdict::Refused(reason) => {
                info!(namespace, name, "refused: {reason}");
                response.deny(reason)
            }
            Verdict::Injected(injected) => {
                info!(namespace, name, "injected the sidecar");
                let patched = serde_json::to_value(pod)
                    .and_then(|before| Ok(json_patch::diff(&before, &serde_json::to_value(&injected)?)))
                    .map_err(|error| error.to_string())
                    .and_then(|patch| response.clone().with_patch(patch).map_err(|error| error.to_string()));
                patched.unwrap_or_else(|error| response.deny(error))
            }
        }
    }

    fn not_ready(&self) -> Option<String> {
        if !self.is_registered.load(SeqCst) {
            return Some("the webhook is not registered yet".to_owned());
        }
        self.template().err()
    }
}
