//! Reads that do not lie, and own writes that cause no reconciliation.

use super::*;
use genclient_fake::{Fault, Verb};
use genclient_runtime::{Controller, Lister, ObjectKey};
use parking_lot::Mutex;
use tokio::time::sleep;

/// What the reconciliations of a test share.
struct Context {
    manager: Manager,
    config_maps: Lister<ConfigMap>,
    counter: Counter,
    stale: Counter,
    written: Mutex<Option<String>>,
}

impl Context {
    fn new(manager: &Manager) -> Arc<Self> {
        Arc::new(Self {
            manager: manager.clone(),
            config_maps: manager.lister(),
            counter: Counter::default(),
            stale: Counter::default(),
            written: Mutex::default(),
        })
    }

    fn client(&self) -> TypedClient<ConfigMap> {
        TypedClient::namespaced(self.manager.client(), "default")
    }
}

/// Writes its own object and creates another one.
async fn write(object: Arc<ConfigMap>, context: Arc<Context>) -> Result<Action, Error> {
    if !object.name_any().starts_with("parent") {
        return Ok(Action::await_change());
    }
    context.counter.count();
    let (client, name) = (context.client(), format!("child-of-{}", object.name_any()));
    if context.config_maps.get(&ObjectKey::namespaced("default", &*name)).is_none() {
        client.create(&config_map(&name)).await?;
    }
    client.update_with(&name, set("seen", object.data.clone().unwrap_or_default().len())).await?;
    client.update_with(&object.name_any(), set("reconciled", "yes")).from(object).await?;
    Ok(Action::await_change())
}

#[tokio::test(start_paused = true)]
async fn own_writes_do_not_lead_to_another_reconciliation() {
    let test = Test::new();
    let context = Context::new(&test.manager);
    let parent_of = |child: &ConfigMap| -> Vec<ObjectKey> {
        let parent =
            child.name_any().strip_prefix("child-of-").map(|parent| ObjectKey::namespaced("default", parent));
        parent.into_iter().collect()
    };
    Controller::<ConfigMap>::new(&test.manager)
        .watches::<ConfigMap>(parent_of)
        .run_with(context.clone(), write);
    let running = test.start();
    test.config_maps().create(&config_map("parent")).await.unwrap();
    settle().await;
    assert_eq!(context.counter.get(), 1, "it created a child, and wrote the child and its own object");

    test.config_maps().update_with("child-of-parent", set("other", "x")).await.unwrap();
    settle().await;
    assert_eq!(context.counter.get(), 2, "another client changed the child");
    test.config_maps().update_with("parent", set("other", "x")).await.unwrap();
    settle().await;
    assert_eq!(context.counter.get(), 3, "another client changed the object");
    running.stop().await;
}

/// Applies the same configuration each time.
async fn apply(object: Arc<ConfigMap>, context: Arc<Context>) -> Result<Action, Error> {
    context.counter.count();
    let config = serde_json::json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": object.name_any(), "namespace": "default" }, "data": { "applied": "yes" },
    });
    context.client().apply_untyped(&config).await?;
    Ok(Action::await_change())
}

#[tokio::test(start_paused = true)]
async fn an_apply_is_reconciled_once_more() {
    let test = Test::new();
    let context = Context::new(&test.manager);
    Controller::<ConfigMap>::new(&test.manager).run_with(context.clone(), apply);
    let running = test.start();
    test.config_maps().create(&config_map("a")).await.unwrap();
    settle().await;
    assert_eq!(context.counter.get(), 2);
    running.stop().await;
}

/// Counts up in the object, and notices if the cache does not have its last count.
async fn count_up(object: Arc<ConfigMap>, context: Arc<Context>) -> Result<Action, Error> {
    let version = object.metadata.resource_version.clone();
    let previous = context.written.lock().clone();
    if previous.is_some() && previous != version {
        context.stale.count();
    }
    context.counter.count();
    let written =
        context.client().update_with(&object.name_any(), set("count", context.counter.get())).from(object);
    *context.written.lock() = written.await?.metadata.resource_version;
    Ok(Action::requeue(Duration::from_millis(1)))
}

#[tokio::test(start_paused = true)]
async fn an_object_is_not_reconciled_on_a_cache_without_its_last_write() {
    let test = Test::new();
    let context = Context::new(&test.manager);
    Controller::<ConfigMap>::new(&test.manager).run_with(context.clone(), count_up);
    let running = test.start();
    test.config_maps().create(&config_map("a")).await.unwrap();
    for _ in 0..50 {
        // The cache is behind while the watch is opened again.
        test.server.cut_watches("configmaps");
        sleep(SECOND).await;
    }
    assert!(context.counter.get() > 100, "{} reconciliations", context.counter.get());
    assert_eq!(context.stale.get(), 0);
    running.stop().await;
}

/// Creates a child while no watch is open, and counts the reconciliations with the child in the cache.
async fn create_unseen(
    object: Arc<ConfigMap>,
    context: Arc<(Arc<Context>, Server)>,
) -> Result<Action, Error> {
    if object.name_any() != "parent" {
        return Ok(Action::await_change());
    }
    let (context, server) = &*context;
    context.counter.count();
    if context.config_maps.get(&ObjectKey::namespaced("default", "child")).is_some() {
        context.stale.count();
    }
    if context.counter.get() > 1 {
        return Ok(Action::await_change());
    }
    server.on(Verb::Watch, "configmaps").fail(Fault::unavailable());
    server.on(Verb::List, "configmaps").fail(Fault::unavailable());
    server.cut_watches("configmaps");
    context.client().create(&config_map("child")).await?;
    Ok(Action::requeue(SECOND))
}

#[tokio::test(start_paused = true)]
async fn an_own_write_that_a_reconciliation_could_not_wait_for_leads_to_another_one() {
    let test = Test::new();
    let context = Context::new(&test.manager);
    let parent = |_: &ConfigMap| vec![ObjectKey::namespaced("default", "parent")];
    Controller::<ConfigMap>::new(&test.manager)
        .watches::<ConfigMap>(parent)
        .run_with(Arc::new((context.clone(), test.server.clone())), create_unseen);
    let running = test.start();
    test.config_maps().create(&config_map("parent")).await.unwrap();
    sleep(60 * SECOND).await;
    assert_eq!((context.counter.get(), context.stale.get()), (2, 0), "the second one waited in vain");
    test.server.clear_reactors();
    sleep(600 * SECOND).await;
    assert_eq!((context.counter.get(), context.stale.get()), (3, 1), "the third one has read the child");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_change_during_a_reconciliation_leads_to_one_more() {
    let test = Test::new();
    let counter = Arc::new(Counter::default());
    Controller::<ConfigMap>::new(&test.manager).run_with(
        counter.clone(),
        |_: Arc<ConfigMap>, counter: Arc<Counter>| async move {
            counter.count();
            sleep(10 * SECOND).await;
            Ok::<_, Error>(Action::await_change())
        },
    );
    let running = test.start();
    test.config_maps().create(&config_map("a")).await.unwrap();
    for change in 0..3 {
        sleep(SECOND).await;
        test.config_maps().update_with("a", set("change", change)).await.unwrap();
    }
    sleep(60 * SECOND).await;
    assert_eq!(counter.get(), 2);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_deletion_by_another_client_right_after_an_own_create_leads_to_another_reconciliation() {
    let test = Test::new();
    let context = Context::new(&test.manager);
    // The deletion is that of another client: requests of another task are not recorded.
    let other = test.config_maps();
    let parent = |_: &ConfigMap| vec![ObjectKey::namespaced("default", "parent")];
    Controller::<ConfigMap>::new(&test.manager).watches::<ConfigMap>(parent).run_with(
        context.clone(),
        move |object: Arc<ConfigMap>, context: Arc<Context>| {
            let other = other.clone();
            async move {
                if object.name_any() == "parent"
                    && context.config_maps.get(&ObjectKey::namespaced("default", "child")).is_none()
                {
                    context.counter.count();
                    context.client().create(&config_map("child")).await?;
                    if context.counter.get() == 1 {
                        let deleting = tokio::spawn(async move { other.delete("child").await });
                        deleting.await.expect("no panic")?;
                    }
                }
                Ok::<_, Error>(Action::await_change())
            }
        },
    );
    let running = test.start();
    test.config_maps().create(&config_map("parent")).await.unwrap();
    settle().await;
    test.config_maps().get("child").await.expect("it was created once more");
    assert_eq!(context.counter.get(), 2);
    running.stop().await;
}
