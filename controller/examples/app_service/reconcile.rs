//! One AppService at a time: get, decide, act, report.

use std::sync::Arc;

use genclient_runtime::{
    Action, Error, Manager, ObjectKey, ObjectMeta, RestClient,
    events::EventRecorder,
    k8s_openapi::api::apps::v1::Deployment,
    owner::{controller_of, is_controlled_by},
    store::{Index, IndexError},
};
use kubernetes_client::{
    clientset::Clientset as Kubernetes, informers::SharedInformerFactory as KubernetesInformers,
    listers::apps::v1::DeploymentLister,
};
use samplecrd_apis::appcontroller::v1alpha1::AppService;
use samplecrd_client::{
    clientset::Clientset, informers::SharedInformerFactory,
    listers::appcontroller::v1alpha1::AppServiceLister,
};
use tracing::info;

use crate::{
    deployment::{config, is_as_wanted},
    status::{Found, Problem, status_config, status_of},
};

/// The field manager and the reporter of events.
pub const NAME: &str = "app-service";

/// Reconciles AppServices.
pub struct Reconciler {
    client: RestClient,
    apps: AppServiceLister,
    deployments: DeploymentLister,
    /// The Deployments by the uid of their controller.
    owned: Index<Deployment, String>,
    events: EventRecorder,
    image: String,
}

impl Reconciler {
    /// Returns a reconciler that reads from the caches of a manager and writes with its client.
    pub fn new(manager: &Manager, image: String) -> Result<Self, IndexError> {
        let factory = manager.factory();
        let apps = SharedInformerFactory::from(factory.clone()).appcontroller().v1alpha1().app_services();
        let deployments = KubernetesInformers::from(factory.clone()).apps().v1().deployments();
        let owner = |deployment: &Deployment| controller_of(deployment).map(|owner| owner.uid.clone());
        Ok(Self {
            client: manager.client().clone(),
            apps: apps.lister(),
            deployments: deployments.lister(),
            owned: deployments.informer().add_index("owner", owner)?,
            events: manager.events().clone(),
            image,
        })
    }

    /// Reconciles one AppService with its Deployment.
    pub async fn reconcile(self: Arc<Self>, key: ObjectKey) -> Result<Action, Error> {
        let namespace = key.namespace.as_deref().unwrap_or_default();
        let app = self.apps.app_services(namespace).get(&key.name);
        let Some(app) = app.filter(|app| app.metadata.deletion_timestamp.is_none()) else {
            info!(%key, "the application is gone; the garbage collector deletes its Deployment");
            return Ok(Action::await_change());
        };
        let name = &app.spec.deployment_name;
        let deployment = match self.deployments.deployments(namespace).get(name) {
            Some(foreign) if !is_controlled_by(&*foreign, &*app) => {
                let message = format!("the Deployment {name} exists and belongs to somebody else");
                Err(Problem { reason: "DeploymentNotOwned", message })
            }
            Some(own) if is_as_wanted(&own, &app, &self.image) => Ok(own),
            found => self.apply(&app, found.as_deref()).await?,
        };
        if deployment.is_ok() {
            self.delete_others(&app).await?;
        }
        self.report(&app, deployment).await?;
        Ok(Action::await_change())
    }

    /// Applies what the AppService asks for to its Deployment, or to a new one.
    async fn apply(&self, app: &AppService, found: Option<&Deployment>) -> Result<Found, Error> {
        let (namespace, name) = (namespace_of(app), &app.spec.deployment_name);
        let config = config(app, namespace, &self.image, found);
        let apply = Kubernetes::new(self.client.clone()).apps_v1().deployments(namespace).apply(&config);
        match if found.is_some() { apply.force().await } else { apply.await } {
            Ok(deployment) => {
                let done = if found.is_some() { "changed" } else { "created" };
                info!(namespace, name, "{done} the Deployment");
                self.events.normal(app, "DeploymentApplied", format!("{done} the Deployment {name}"));
                Ok(Ok(Arc::new(deployment)))
            }
            // It is refused for what it is, for example for its name: only the user can help.
            Err(error) if error.is_invalid() || error.is_invalid_request() => {
                Ok(Err(Problem { reason: "DeploymentRefused", message: error.to_string() }))
            }
            Err(error) => Err(error),
        }
    }

    /// Deletes the Deployments under names that the AppService had before.
    async fn delete_others(&self, app: &AppService) -> Result<(), Error> {
        let namespace = namespace_of(app);
        let deployments = Kubernetes::new(self.client.clone()).apps_v1().deployments(namespace);
        for other in self.owned.get(app.metadata.uid.as_deref().unwrap_or_default()) {
            let ObjectMeta { name: Some(name), uid: Some(uid), .. } = &other.metadata else { continue };
            if *name != app.spec.deployment_name && other.metadata.deletion_timestamp.is_none() {
                info!(namespace, name, "deleting the Deployment of an earlier name");
                let deleted = deployments.delete(name).precondition_uid(uid).await;
                deleted.map(drop).or_else(|error| if error.is_not_found() { Ok(()) } else { Err(error) })?;
            }
        }
        Ok(())
    }

    /// Writes the status if it changed, and warns of a new problem.
    async fn report(&self, app: &AppService, deployment: Found) -> Result<(), Error> {
        let (namespace, status) = (namespace_of(app), status_of(app, &deployment));
        if let Err(Problem { reason, message }) = deployment
            && app.status.iter().flat_map(|before| &before.conditions).all(|before| before.message != message)
        {
            self.events.warning(app, reason, message);
        }
        if app.status.as_ref() == Some(&status) {
            return Ok(());
        }
        let (name, available) = (&app.metadata.name, status.available_replicas);
        info!(namespace, name, available, "reporting the status");
        let config = status_config(app, namespace, status);
        let apps = Clientset::new(self.client.clone()).appcontroller_v1alpha1().app_services(namespace);
        match apps.apply_status(&config).force().await {
            // It was deleted meanwhile, or is another one now, whose own event comes.
            Err(error) if error.is_not_found() || error.is_conflict() => Ok(()),
            reported => reported.map(drop),
        }
    }
}

fn namespace_of(app: &AppService) -> &str {
    app.metadata.namespace.as_deref().unwrap_or_default()
}
