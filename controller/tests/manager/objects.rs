//! Which events lead to a reconciliation, and of which object.

use super::*;
use futures::{channel::mpsc, stream};
use genclient_runtime::{
    Controller, GenClient, ObjectKey, ObjectMeta,
    dynamic::DynamicKind,
    kube::core::DynamicObject,
    predicate::{self, Predicate},
};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

/// The names of the reconciled objects.
type Names = Mutex<Vec<String>>;

async fn note(object: Arc<ConfigMap>, names: Arc<Names>) -> Result<Action, Error> {
    names.lock().push(object.name_any());
    Ok(Action::await_change())
}

fn take(names: &Names) -> Vec<String> {
    let mut names = std::mem::take(&mut *names.lock());
    names.sort();
    names
}

#[tokio::test(start_paused = true)]
async fn an_update_is_filtered_and_an_added_or_deleted_object_is_not() {
    let test = Test::new();
    let keys = Arc::new(Names::default());
    Controller::<ConfigMap>::new(&test.manager).filter(predicate::labels()).run_keys_with(
        keys.clone(),
        |key: ObjectKey, keys: Arc<Names>| async move {
            keys.lock().push(key.name);
            Ok::<_, Error>(Action::await_change())
        },
    );
    let running = test.start();
    let maps = test.config_maps();
    let mut object = config_map("a");
    object.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    maps.create(&object).await.unwrap();
    settle().await;
    assert_eq!(take(&keys), ["a"], "it was added");

    maps.update_with("a", set("key", "value")).await.unwrap();
    settle().await;
    assert_eq!(take(&keys), [""; 0], "its data changed");
    maps.update_with("a", |map| map.metadata.labels = Some([("a".into(), "b".into())].into())).await.unwrap();
    settle().await;
    assert_eq!(take(&keys), ["a"], "its labels changed");

    maps.delete("a").await.unwrap();
    settle().await;
    assert_eq!(take(&keys), ["a"], "its deletion began");
    maps.update_with("a", |map| map.metadata.finalizers = None).await.unwrap();
    settle().await;
    assert_eq!(take(&keys), ["a"], "it was deleted");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn another_kind_leads_to_the_objects_of_its_old_and_of_its_new_state() {
    let test = Test::new();
    let names = Arc::new(Names::default());
    let named = |secret: &Secret| -> Vec<ObjectKey> {
        let target = secret.annotations().get("target").map(|name| ObjectKey::namespaced("default", &**name));
        target.into_iter().collect()
    };
    Controller::<ConfigMap>::new(&test.manager).watches::<Secret>(named).run_with(names.clone(), note);
    let running = test.start();
    for name in ["a", "b", "c"] {
        test.config_maps().create(&config_map(name)).await.unwrap();
    }
    settle().await;
    take(&names);
    let target = |name: &str| -> ObjectMeta {
        let annotations = Some([("target".to_owned(), name.to_owned())].into());
        ObjectMeta { name: Some("secret".into()), annotations, ..ObjectMeta::default() }
    };
    let mut secret = Secret { metadata: target("a"), ..Secret::default() };
    test.secrets().create(&secret).await.unwrap();
    settle().await;
    assert_eq!(take(&names), ["a"]);
    secret.metadata = target("b");
    test.secrets().update(&secret).await.unwrap();
    settle().await;
    assert_eq!(take(&names), ["a", "b"]);
    test.secrets().delete("secret").await.unwrap();
    settle().await;
    assert_eq!(take(&names), ["b"]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn events_of_a_watched_kind_can_be_filtered() {
    let test = Test::new();
    let names = Arc::new(Names::default());
    let all = |_: &Secret| vec![ObjectKey::namespaced("default", "a")];
    let never = Predicate::new(|_: &Secret, _: &Secret| false);
    Controller::<ConfigMap>::new(&test.manager).watches_if(never, all).run_with(names.clone(), note);
    let running = test.start();
    test.config_maps().create(&config_map("a")).await.unwrap();
    settle().await;
    take(&names);
    let mut secret = Secret::default();
    secret.metadata.name = Some("secret".into());
    test.secrets().create(&secret).await.unwrap();
    settle().await;
    assert_eq!(take(&names), ["a"], "it was added");
    test.secrets().update_with("secret", |secret| secret.type_ = None).await.unwrap();
    test.secrets()
        .update_with("secret", |secret| secret.metadata.labels = Some([("a".into(), "b".into())].into()))
        .await
        .unwrap();
    settle().await;
    assert_eq!(take(&names), [""; 0], "it was updated");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_update_that_begins_a_deletion_is_not_filtered() {
    let test = Test::new();
    let names = Arc::new(Names::default());
    let all = |_: &Secret| vec![ObjectKey::namespaced("default", "a")];
    let never = Predicate::new(|_: &Secret, _: &Secret| false);
    Controller::<ConfigMap>::new(&test.manager).watches_if(never, all).run_with(names.clone(), note);
    let running = test.start();
    test.config_maps().create(&config_map("a")).await.unwrap();
    let mut secret = Secret::default();
    secret.metadata.name = Some("secret".into());
    secret.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    test.secrets().create(&secret).await.unwrap();
    settle().await;
    take(&names);
    test.secrets().delete("secret").await.unwrap();
    settle().await;
    assert_eq!(take(&names), ["a"], "the finalizer holds it back");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn streams_lead_to_one_object_or_to_all() {
    let test = Test::new();
    let names = Arc::new(Names::default());
    let (all, every) = mpsc::unbounded();
    let (one, keys) = mpsc::unbounded();
    Controller::<ConfigMap>::new(&test.manager)
        .reconcile_on(keys)
        .reconcile_on(stream::empty())
        .reconcile_all_on(every)
        .run_with(names.clone(), note);
    let running = test.start();
    for name in ["a", "b"] {
        test.config_maps().create(&config_map(name)).await.unwrap();
    }
    settle().await;
    take(&names);
    one.unbounded_send(ObjectKey::namespaced("default", "b")).unwrap();
    settle().await;
    assert_eq!(take(&names), ["b"]);
    all.unbounded_send(()).unwrap();
    settle().await;
    assert_eq!(take(&names), ["a", "b"]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn changes_within_the_debounce_time_lead_to_one_reconciliation() {
    let test = Test::new();
    let counter = Arc::new(Counter::default());
    Controller::<ConfigMap>::new(&test.manager).debounce(5 * SECOND).run_with(counter.clone(), count);
    let running = test.start();
    test.config_maps().create(&config_map("a")).await.unwrap();
    for change in 0..4 {
        sleep(SECOND).await;
        test.config_maps().update_with("a", set("change", change)).await.unwrap();
    }
    assert_eq!(counter.get(), 0);
    settle().await;
    assert_eq!(counter.get(), 1);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn at_most_two_objects_are_reconciled_at_the_same_time_by_default() {
    let test = Test::new();
    let done = Arc::new(Mutex::new(Vec::new()));
    Controller::<ConfigMap>::new(&test.manager).run_with(
        done.clone(),
        |_: Arc<ConfigMap>, done: Arc<Mutex<Vec<Instant>>>| async move {
            sleep(10 * SECOND).await;
            done.lock().push(Instant::now());
            Ok::<_, Error>(Action::await_change())
        },
    );
    for name in ["a", "b", "c", "d", "e", "f"] {
        test.config_maps().create(&config_map(name)).await.unwrap();
    }
    let running = test.start();
    sleep(60 * SECOND).await;
    let done = std::mem::take(&mut *done.lock());
    assert_eq!(done.len(), 6);
    assert!(done[5] - done[0] >= 20 * SECOND);
    running.stop().await;
}

genclient_runtime::group_version!("test.example.com/v1");

/// A kind that is known only at run time to the controller.
#[derive(Clone, Debug, PartialEq, GenClient)]
#[genclient(no_status)]
pub struct Widget {
    /// Standard object metadata.
    pub metadata: ObjectMeta,
}

#[tokio::test(start_paused = true)]
async fn a_dynamic_kind_has_a_controller() {
    use genclient_runtime::CustomResourceExt as _;

    let test = Test::new();
    test.server.load(&Widget::crd()).unwrap();
    let names = Arc::new(Names::default());
    let widgets = DynamicKind::namespaced("test.example.com", "v1", "Widget", "widgets");
    Controller::<DynamicObject>::of_kind(&test.manager, &widgets).run_with(
        names.clone(),
        |widget: Arc<DynamicObject>, names: Arc<Names>| async move {
            names.lock().push(widget.name_any());
            Ok::<_, Error>(Action::await_change())
        },
    );
    let running = test.start();
    let client = TypedClient::<Widget>::namespaced(test.server.client(), "default");
    client
        .create(&Widget { metadata: ObjectMeta { name: Some("a".into()), ..Default::default() } })
        .await
        .unwrap();
    settle().await;
    assert_eq!(take(&names), ["a"]);
    assert_eq!(test.manager.factory().dynamic_informer(&widgets).store().len(), 1);
    running.stop().await;
}
