//! The start of a manager, and mistakes in its configuration.

use super::*;
use genclient_fake::{Fault, Verb};
use genclient_runtime::{Controller, InformerFactory, factory::FactoryError, manager::ManagerError};
use parking_lot::Mutex;
use tokio::time::{sleep, timeout};

#[tokio::test(start_paused = true)]
async fn controllers_share_the_informers_of_their_manager() {
    let test = Test::new();
    let counter = Arc::new(Counter::default());
    for name in ["first", "second"] {
        Controller::<ConfigMap>::new(&test.manager).named(name).run_with(counter.clone(), count);
    }
    let running = test.start();
    test.config_maps().create(&config_map("a")).await.unwrap();
    settle().await;
    assert_eq!(counter.get(), 2);
    assert_eq!(test.server.open_watches("configmaps"), 1);
    running.stop().await;
    assert_eq!(test.server.open_watches("configmaps"), 0);
}

#[tokio::test(start_paused = true)]
async fn two_controllers_with_one_name_are_an_error() {
    let test = Test::new();
    for _ in 0..2 {
        Controller::<ConfigMap>::new(&test.manager).run_with(Arc::default(), count);
    }
    let error = test.start().failed().await;
    assert_eq!(
        error.to_string(),
        "the controller configmap failed: another controller of the manager has this name; set a different one with \
         `named`"
    );
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_is_added_too_late_is_an_error() {
    let test = Test::new();
    Controller::<ConfigMap>::new(&test.manager).run_with(Arc::default(), count);
    let running = test.start();
    settle().await;
    Controller::<Secret>::new(&test.manager).run_with(Arc::new(()), |_: Arc<Secret>, _: Arc<()>| async {
        Ok::<_, Error>(Action::await_change())
    });
    let error = running.failed().await;
    assert!(
        error.to_string().contains("the controller secret failed: it was added after the manager"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_manager_runs_once() {
    let test = Test::new();
    test.start().stop().await;
    let error = test.start().failed().await;
    assert_eq!(error.to_string(), "the manager test failed: it ran already; build another one");
}

#[tokio::test]
async fn an_invalid_setting_is_an_error_of_the_builder() {
    let server = Server::new();
    let error = Manager::builder("test").namespaces(["Not_One"]).build(server.client()).unwrap_err();
    assert!(matches!(error, ManagerError::Factory(FactoryError::Namespace(_))), "{error}");
}

#[tokio::test(start_paused = true)]
async fn an_informer_or_a_task_that_ends_is_an_error() {
    let test = Test::new();
    Controller::<ConfigMap>::new(&test.manager).run_with(Arc::default(), count);
    let running = test.start();
    settle().await;
    test.manager.factory().informer::<ConfigMap>().stop();
    let error = running.failed().await;
    assert_eq!(error.to_string(), "the informer of configmaps/v1 failed: the informer was stopped");

    let test = Test::new();
    test.manager.add_task("the heartbeat", || sleep(5 * SECOND));
    let error = test.start().failed().await;
    assert_eq!(error.to_string(), "the heartbeat failed: it ended before the shutdown");
}

#[tokio::test(start_paused = true)]
async fn a_manager_waits_for_a_resource_that_is_not_served() {
    use super::smallest::{App, AppSpec, control};
    use genclient_runtime::{CustomResourceExt as _, ObjectMeta};

    let test = Test::new();
    control(&test.manager);
    let running = test.start();
    sleep(300 * SECOND).await;
    test.server.load(&App::crd()).unwrap();
    let app = App {
        metadata: ObjectMeta {
            name: Some("web".into()),
            namespace: Some("default".into()),
            ..ObjectMeta::default()
        },
        spec: AppSpec { image: "nginx:1.29".into(), replicas: 2 },
        status: None,
    };
    TypedClient::<App>::namespaced(test.server.client(), "default").create(&app).await.unwrap();
    sleep(300 * SECOND).await;
    let app = TypedClient::<App>::namespaced(test.server.client(), "default").get("web").await.unwrap();
    assert!(app.status.is_some());
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_manager_can_be_dropped_at_any_point() {
    let mut ended_during_work = 0;
    for after in [0, 1, 5, 50, 500, 5_000, 15_000] {
        let test = Test::new();
        test.config_maps().create(&config_map("a")).await.unwrap();
        let counter = Arc::new(Counter::default());
        Controller::<ConfigMap>::new(&test.manager).run_with(
            counter.clone(),
            |_: Arc<ConfigMap>, counter: Arc<Counter>| async move {
                counter.count();
                sleep(10 * SECOND).await;
                counter.count();
                Ok::<_, Error>(Action::requeue(SECOND))
            },
        );
        test.manager.add_task("task", std::future::pending::<()>);
        let run = test.manager.run_until(std::future::pending());
        timeout(Duration::from_millis(after), run).await.unwrap_err();
        let counted = counter.get();
        ended_during_work += usize::from(counted % 2 == 1);
        sleep(300 * SECOND).await;
        assert_eq!(counter.get(), counted, "no worker is left after {after} ms");
        assert_eq!(test.server.open_watches("configmaps"), 0, "no watch is left after {after} ms");
        drop(test);
    }
    assert!(ended_during_work >= 3);
    // The factory of a manager is an ordinary one.
    let _: fn(&Manager) -> &InformerFactory = Manager::factory;
}

#[tokio::test(start_paused = true)]
async fn a_stream_or_a_task_that_panics_is_an_error() {
    let test = Test::new();
    let keys = futures::stream::once(async { panic!("no keys") });
    Controller::<ConfigMap>::new(&test.manager).reconcile_on(keys).run_with(Arc::default(), count);
    let error = test.start().failed().await;
    assert_eq!(error.to_string(), "a stream of the controller configmap failed: it panicked: no keys");

    let test = Test::new();
    test.manager.add_task("the heartbeat", || -> std::future::Ready<()> { panic!("no heart") });
    let error = test.start().failed().await;
    assert_eq!(error.to_string(), "the heartbeat failed: it panicked: no heart");
}

/// A cluster, and the objects that were reconciled in all clusters.
type Seen = (Arc<str>, Arc<Mutex<Vec<String>>>);

#[tokio::test(start_paused = true)]
async fn a_program_has_a_manager_for_each_cluster_and_one_that_is_gone_does_not_hold_up_the_others() {
    let servers = [Server::new(), Server::new(), Server::new()];
    let seen = Arc::new(Mutex::new(Vec::new()));
    let managers: Vec<_> = std::iter::zip(["east", "west", "gone"], &servers)
        .map(|(cluster, server)| {
            let manager = Manager::builder("test").cluster(cluster).build(server.client()).unwrap();
            let context = Arc::new((manager.cluster().unwrap().clone(), seen.clone()));
            Controller::<ConfigMap>::new(&manager).run_with(
                context,
                |object: Arc<ConfigMap>, context: Arc<Seen>| async move {
                    context.1.lock().push(format!("{}/{}", context.0, object.name_any()));
                    Ok::<_, Error>(Action::await_change())
                },
            );
            manager
        })
        .collect();
    let _cut = servers[2].on(Verb::List, "configmaps").fail(Fault::unavailable());
    let _cut = servers[2].on(Verb::Watch, "configmaps").fail(Fault::unavailable());
    let running: Vec<_> = managers.iter().map(start).collect();
    for server in &servers {
        let maps = TypedClient::<ConfigMap>::namespaced(server.client(), "default");
        maps.create(&config_map("a")).await.unwrap();
    }
    settle().await;
    let mut seen = std::mem::take(&mut *seen.lock());
    seen.sort();
    assert_eq!(seen, ["east/a", "west/a"]);
    for manager in running {
        manager.stop().await;
    }
}
