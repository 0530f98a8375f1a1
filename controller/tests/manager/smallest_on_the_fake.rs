//! The smallest complete controller does what it says.

use genclient_runtime::{
    CustomResourceExt as _, ObjectMeta, TypedClient, conditions,
    k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus},
};

use tokio::sync::oneshot;

use super::{
    Test, by_hand, settle,
    smallest::{App, AppSpec, control},
};

#[tokio::test(start_paused = true)]
async fn an_app_has_a_deployment_a_status_and_a_cleanup() {
    let test = Test::new();
    test.server.load(&App::crd()).unwrap();
    control(&test.manager);
    let running = test.start();
    apps_are_controlled(&test).await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_controller_that_is_wired_by_hand_does_the_same() {
    let test = Test::new();
    test.server.load(&App::crd()).unwrap();
    let (stop, stopped) = oneshot::channel();
    let stopped = async { stopped.await.unwrap_or_default() };
    let (ended, ()) = tokio::join!(by_hand::control(test.server.client(), stopped), async {
        apps_are_controlled(&test).await;
        stop.send(()).unwrap();
    });
    ended.unwrap();
}

async fn apps_are_controlled(test: &Test) {
    let apps = TypedClient::<App>::namespaced(test.server.client(), "default");
    let deployments = TypedClient::<Deployment>::namespaced(test.server.client(), "default");

    let app = App {
        metadata: ObjectMeta { name: Some("web".into()), ..ObjectMeta::default() },
        spec: AppSpec { image: "nginx:1.29".into(), replicas: 2 },
        status: None,
    };
    apps.create(&app).await.unwrap();
    settle().await;
    let deployment = deployments.get("web").await.unwrap();
    assert_eq!(deployment.spec.replicas, Some(2));
    assert_eq!(deployment.metadata.owner_references.unwrap()[0].name, "web");
    let app = apps.get("web").await.unwrap();
    assert_eq!(app.metadata.finalizers.unwrap(), ["example.com/app"]);
    assert_eq!(app.status.as_ref().unwrap().ready, 0);

    // What the Deployment's own controller would report reaches the App.
    let report = |deployment: &mut Deployment| {
        deployment.status =
            Some(DeploymentStatus { replicas: Some(2), available_replicas: Some(2), ..Default::default() });
    };
    deployments.update_status_with("web", report).await.unwrap();
    settle().await;
    let status = apps.get("web").await.unwrap().status.unwrap();
    assert_eq!(status.ready, 2);
    assert_eq!(conditions::find(&status.conditions, "Ready").unwrap().status, "True");

    apps.delete("web").await.unwrap();
    settle().await;
    assert!(apps.get("web").await.unwrap_err().is_not_found());
}

#[test]
fn the_smallest_complete_controller_has_36_lines() {
    let source = include_str!("../../examples/smallest.rs");
    let (_, controller) = source.split_once("// The controller begins here.\n").unwrap();
    assert!(controller.lines().count() <= 36, "{} lines", controller.lines().count());
}
