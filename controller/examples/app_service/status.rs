//! What the status of an AppService tells.

use std::sync::Arc;

use genclient_runtime::{conditions, k8s_openapi::api::apps::v1::Deployment};
use samplecrd_apis::appcontroller::v1alpha1::{AppService, AppServiceStatus};
use samplecrd_client::apply::appcontroller::v1alpha1::{AppServiceApply, AppServiceStatusApply};

use crate::deployment::replicas_of;

/// The type of the condition.
const AVAILABLE: &str = "Available";

/// Why there is no Deployment as an AppService wants it.
#[derive(Debug)]
pub struct Problem {
    /// The reason in one word.
    pub reason: &'static str,
    /// The reason for people.
    pub message: String,
}

/// The Deployment of an AppService, or why there is none.
pub type Found = Result<Arc<Deployment>, Problem>;

/// Returns the status after a look at the Deployment. It is equal to the status before if nothing has changed.
pub fn status_of(app: &AppService, deployment: &Found) -> AppServiceStatus {
    let mut status = app.status.clone().unwrap_or_default();
    let wanted = replicas_of(app);
    let (available, reason, message) = match deployment {
        Ok(deployment) => {
            let found = deployment.status.as_ref();
            let available = found.and_then(|status| status.available_replicas).unwrap_or_default();
            let reason = if available >= wanted { "AllAvailable" } else { "NotYetAvailable" };
            (available, reason, format!("{available} of {wanted} replicas are available"))
        }
        Err(problem) => (0, problem.reason, problem.message.clone()),
    };
    let is_available = deployment.is_ok() && available >= wanted;
    let condition = conditions::new(AVAILABLE, is_available, reason, message, app.metadata.generation);
    conditions::set(&mut status.conditions, condition);
    status.available_replicas = available;
    status
}

/// Returns the status as a configuration to apply, without the conditions of others. An apply of it to anything but this
/// AppService is a conflict.
pub fn status_config(app: &AppService, namespace: &str, status: AppServiceStatus) -> AppServiceApply {
    let AppServiceStatus { available_replicas, conditions } = status;
    let own = conditions.into_iter().filter(|condition| condition.type_ == AVAILABLE);
    let status = AppServiceStatusApply::new().available_replicas(available_replicas).conditions(own);
    let name = app.metadata.name.as_deref().unwrap_or_default();
    let mut config = AppServiceApply::new(name, namespace).status(status);
    config.metadata.uid = app.metadata.uid.clone();
    config
}
