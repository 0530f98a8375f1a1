//! The four classic tests of sample-controller, and a few more, for the example `app_service`: one AppService is
//! reconciled on an API server in memory, and every request that the controller sends is expected.

#[path = "../examples/app_service/deployment.rs"]
mod deployment;
#[path = "../examples/app_service/reconcile.rs"]
mod reconcile;
#[path = "../examples/app_service/status.rs"]
mod status;

use std::{sync::Arc, time::Duration};

use genclient_fake::{Action, PatchType, Verb};
use genclient_runtime::{
    Manager, ObjectKey, ObjectMeta, conditions,
    events::EventRecorder,
    k8s_openapi::api::{apps::v1::Deployment, events::v1::Event},
    owner::controller_ref,
};
use samplecrd_apis::appcontroller::v1alpha1::{AppService, AppServiceSpec, AppServiceStatus};
use samplecrd_client::fake::Clientset;
use serde_json::json;

use self::{deployment::config, reconcile::Reconciler, status::status_config};

const IMAGE: &str = "nginx:1.29";

const UID: &str = "11111111-2222-3333-4444-555555555555";

/// The AppService `shop`, which wants this many replicas in the Deployment `web`.
fn app(replicas: i32) -> AppService {
    let name = |name: &str| Some(name.to_owned());
    AppService {
        metadata: ObjectMeta {
            name: name("shop"),
            namespace: name("default"),
            uid: name(UID),
            generation: Some(1),
            ..ObjectMeta::default()
        },
        spec: AppServiceSpec { deployment_name: "web".to_owned(), replicas: Some(replicas), image: None },
        status: None,
    }
}

/// The Deployment of an AppService, with this many replicas available.
fn deployment(app: &AppService, available: i32) -> Deployment {
    let mut value = json!(config(app, "default", IMAGE, None));
    value["metadata"]["uid"] = "99999999-2222-3333-4444-555555555555".into();
    value["status"] = json!({ "availableReplicas": available });
    serde_json::from_value(value).unwrap()
}

/// A controller whose caches are filled.
struct Fixture {
    fake: Clientset,
    reconciler: Arc<Reconciler>,
    events: EventRecorder,
}

impl Fixture {
    async fn new(app: &AppService, deployment: Option<&Deployment>) -> Self {
        let fake = Clientset::new();
        fake.load(app).unwrap();
        if let Some(deployment) = deployment {
            fake.load(deployment).unwrap();
        }
        let manager = Manager::builder(reconcile::NAME).build(fake.client().clone()).unwrap();
        let (factory, events) = (manager.factory(), manager.events().clone());
        let reconciler = Reconciler::new(&manager, IMAGE.to_owned()).unwrap();
        factory.start();
        factory.wait_for_cache_sync(Duration::from_secs(10)).await.unwrap();
        fake.clear_actions();
        Self { fake, reconciler: Arc::new(reconciler), events }
    }

    /// Reconciles the AppService, and returns what the controller reports then.
    async fn reconcile(&self) -> AppServiceStatus {
        self.reconciler.clone().reconcile(ObjectKey::namespaced("default", "shop")).await.unwrap();
        self.events.flush(Duration::from_secs(10)).await;
        self.stored().await.status.unwrap_or_default()
    }

    /// The AppService as the server has it, read without a request.
    async fn stored(&self) -> AppService {
        let path = "/apis/appcontroller.k8s.io/v1alpha1/namespaces/default/appservices/shop";
        let request = http::Request::get(path).body(bytes::Bytes::new()).unwrap();
        let response = self.fake.server().respond(request);
        serde_json::from_slice(response.body().bytes().unwrap()).unwrap()
    }

    /// The requests but those of events.
    fn actions(&self) -> genclient_fake::Actions {
        self.fake.actions().matching(|action| action.resource != "events")
    }

    /// The type and the reason of each event.
    fn events(&self) -> Vec<(String, String)> {
        let events = self.fake.actions().of("events.events.k8s.io");
        let read = |action: &Action| serde_json::from_value::<Event>(action.body().unwrap().clone()).unwrap();
        events.iter().map(read).map(|event| (event.type_.unwrap(), event.reason.unwrap())).collect()
    }
}

fn reason(status: &AppServiceStatus) -> (&str, &str) {
    let condition = conditions::find(&status.conditions, "Available").unwrap();
    (&condition.status, &condition.reason)
}

#[tokio::test]
async fn creates_the_deployment() {
    let app = app(3);
    let fixture = Fixture::new(&app, None).await;
    let status = fixture.reconcile().await;
    assert_eq!(reason(&status), ("False", "NotYetAvailable"));
    let labels = json!({ "app.kubernetes.io/name": "app-service", "app.kubernetes.io/instance": "shop" });
    let expected = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "namespace": "default",
            "labels": labels,
            "ownerReferences": [{
                "apiVersion": "appcontroller.k8s.io/v1alpha1",
                "kind": "AppService",
                "name": "shop",
                "uid": UID,
                "controller": true,
                "blockOwnerDeletion": true,
            }],
        },
        "spec": {
            "replicas": 3,
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [{ "name": "app-service", "image": IMAGE }] },
            },
        },
    });
    fixture.actions().assert_eq([
        Action::patch::<Deployment>("default", "web", PatchType::Apply, &expected),
        Action::apply_status("default", &status_config(&app, "default", status)).force(),
    ]);
    assert_eq!(fixture.events(), [("Normal".to_owned(), "DeploymentApplied".to_owned())]);
}

#[tokio::test]
async fn does_nothing_if_everything_is_as_it_should_be() {
    let mut app = app(1);
    let deployment = deployment(&app, 1);
    app.status = Some(status::status_of(&app, &Ok(Arc::new(deployment.clone()))));
    let fixture = Fixture::new(&app, Some(&deployment)).await;
    assert_eq!(reason(&fixture.reconcile().await), ("True", "AllAvailable"));
    assert_eq!(fixture.fake.actions(), []);
}

#[tokio::test]
async fn changes_the_deployment() {
    let deployment = deployment(&app(1), 1);
    let app = app(2);
    let fixture = Fixture::new(&app, Some(&deployment)).await;
    let status = fixture.reconcile().await;
    assert_eq!((status.available_replicas, reason(&status)), (1, ("False", "NotYetAvailable")));
    fixture.actions().assert_eq([
        Action::apply("default", &config(&app, "default", IMAGE, Some(&deployment))).force(),
        Action::apply_status("default", &status_config(&app, "default", status)).force(),
    ]);
    assert_eq!(fixture.events(), [("Normal".to_owned(), "DeploymentApplied".to_owned())]);
}

#[tokio::test]
async fn leaves_a_deployment_alone_that_it_does_not_control() {
    let app = app(2);
    let mut foreign = deployment(&app, 1);
    foreign.metadata.owner_references = None;
    let fixture = Fixture::new(&app, Some(&foreign)).await;
    let status = fixture.reconcile().await;
    assert_eq!((status.available_replicas, reason(&status)), (0, ("False", "DeploymentNotOwned")));
    let report = Action::apply_status("default", &status_config(&app, "default", status)).force();
    fixture.actions().assert_eq([report]);
    assert_eq!(fixture.events(), [("Warning".to_owned(), "DeploymentNotOwned".to_owned())]);
}

#[tokio::test]
async fn keeps_the_deployment_of_an_earlier_name_until_the_new_one_is_there() {
    let mut app = app(1);
    let deployment = deployment(&app, 1);
    app.spec.deployment_name = "Not_A_Name".to_owned();
    let fixture = Fixture::new(&app, Some(&deployment)).await;
    assert_eq!(reason(&fixture.reconcile().await), ("False", "DeploymentRefused"));
    let deletions = fixture.actions().matching(|action| action.verb == Verb::Delete);
    assert_eq!(deletions, []);
}

#[tokio::test]
async fn leaves_the_conditions_of_others_to_them() {
    let mut app = app(1);
    let foreign = conditions::new("Audited", true, "Fine", "by another controller", None);
    app.status = Some(AppServiceStatus { conditions: vec![foreign], ..AppServiceStatus::default() });
    let fixture = Fixture::new(&app, None).await;
    let status = fixture.reconcile().await;
    let kept = conditions::find(&status.conditions, "Audited").unwrap();
    assert_eq!((kept.reason.as_str(), status.conditions.len()), ("Fine", 2));
    let config = json!(status_config(&app, "default", status));
    let applied = config["status"]["conditions"].as_array().unwrap();
    assert_eq!((applied.len(), &applied[0]["type"]), (1, &json!("Available")));
}

#[tokio::test]
async fn does_not_take_a_deployment_that_appears_between_the_look_and_the_apply() {
    let app = app(2);
    let fixture = Fixture::new(&app, None).await;
    let mut foreign = deployment(&app, 0);
    foreign.metadata.owner_references = Some(vec![controller_ref(&AppService {
        metadata: ObjectMeta { uid: Some("another".to_owned()), ..app.metadata.clone() },
        ..app.clone()
    })]);
    foreign.spec.replicas = Some(7);
    fixture.fake.on_request(Verb::Patch, "deployments").once().then(move |server, _| {
        server.load(&foreign).unwrap();
    });
    let reconciled = fixture.reconciler.clone().reconcile(ObjectKey::namespaced("default", "shop")).await;
    assert!(reconciled.unwrap_err().is_conflict(), "it is looked at again");
    fixture.actions().assert_eq([Action::apply("default", &config(&app, "default", IMAGE, None))]);
}
