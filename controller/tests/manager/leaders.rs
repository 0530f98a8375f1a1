//! Replicas of a controller with one lease.

use super::*;
use genclient_fake::{Fault, Verb};
use genclient_runtime::{Controller, ObjectKey, Selector, k8s_openapi::api::coordination::v1::Lease};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

/// The replica that reconciled, and when.
type Log = Mutex<Vec<(&'static str, Instant)>>;

/// A replica whose controller logs each reconciliation, which takes a second, and repeats it.
fn replica(server: &Server, name: &'static str, log: &Arc<Log>) -> Manager {
    let builder =
        Manager::builder("test").lease("default/test").elector(move |elector| elector.identity(name));
    let manager = builder.build(server.client()).unwrap();
    let context = Arc::new((name, log.clone()));
    Controller::<ConfigMap>::new(&manager).run_with(
        context,
        |_: Arc<ConfigMap>, context: Arc<(&'static str, Arc<Log>)>| async move {
            context.1.lock().push((context.0, Instant::now()));
            sleep(SECOND).await;
            Ok::<_, Error>(Action::requeue(SECOND))
        },
    );
    manager
}

fn last(log: &Log) -> &'static str {
    log.lock().last().expect("something was reconciled").0
}

async fn server() -> Server {
    let server = Server::builder().record_actions().build();
    TypedClient::<ConfigMap>::namespaced(server.client(), "default").create(&config_map("a")).await.unwrap();
    server
}

#[tokio::test(start_paused = true)]
async fn one_of_several_replicas_reconciles_and_a_standby_takes_over_at_once_from_one_that_shuts_down() {
    let (server, log) = (server().await, Arc::<Log>::default());
    let first = start(&replica(&server, "first", &log));
    sleep(5 * SECOND).await;
    let second = start(&replica(&server, "second", &log));
    sleep(60 * SECOND).await;
    assert!(log.lock().iter().all(|(name, _)| *name == "first"));

    let released = Instant::now();
    first.stop().await;
    sleep(10 * SECOND).await;
    assert_eq!(last(&log), "second");
    let begun = log.lock().iter().find(|(name, _)| *name == "second").expect("it took over").1;
    assert!(begun - released < 5 * SECOND, "{:?}", begun - released);
    second.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_cannot_renew_its_lease_stops_before_another_one_begins_and_leads_again_later() {
    let (server, log) = (server().await, Arc::<Log>::default());
    let first = start(&replica(&server, "first", &log));
    sleep(5 * SECOND).await;
    let second = start(&replica(&server, "second", &log));
    sleep(20 * SECOND).await;
    // The first one can write nothing any more.
    let is_first = |action: &genclient_fake::Action| {
        action.body().is_some_and(|body| body["spec"]["holderIdentity"] == "first")
    };
    let refused = server.on(Verb::Update, "leases").when(is_first).fail(Fault::unavailable());
    sleep(60 * SECOND).await;
    assert_eq!(last(&log), "second");
    let log_now = log.lock().clone();
    let began = log_now.iter().find(|(name, _)| *name == "second").expect("it took over").1;
    let ended = log_now.iter().rfind(|(name, _)| *name == "first").expect("it led").1;
    assert!(ended < began, "no reconciliation of the first begins after the second leads");

    // It did not exit: it leads again when the second one ends.
    refused.remove();
    second.stop().await;
    sleep(60 * SECOND).await;
    assert_eq!(last(&log), "first");
    first.stop().await;
    let lease = TypedClient::<Lease>::namespaced(server.client(), "default").get("test").await.unwrap();
    assert!(lease.spec.unwrap().lease_transitions >= Some(2));
}

#[tokio::test(start_paused = true)]
async fn a_standby_has_full_caches_and_queues_and_its_client_writes_nothing() {
    let (server, log) = (server().await, Arc::<Log>::default());
    let first = start(&replica(&server, "first", &log));
    sleep(5 * SECOND).await;
    let standby = replica(&server, "second", &log);
    let second = start(&standby);
    sleep(20 * SECOND).await;
    assert_eq!(standby.lister::<ConfigMap>().namespace("default").list(&Selector::everything()).len(), 1);
    let maps = TypedClient::<ConfigMap>::namespaced(standby.client(), "default");
    maps.get("a").await.expect("it may read");
    let refused = maps.update_with("a", set("key", "value")).await.unwrap_err();
    assert!(refused.is_not_leading(), "{refused}");
    second.stop().await;
    first.stop().await;
}

/// Returns the holder of the Lease.
async fn holder(server: &Server) -> Option<String> {
    let lease = TypedClient::<Lease>::namespaced(server.client(), "default").get("test").await.unwrap();
    lease.spec.unwrap().holder_identity.filter(|holder| !holder.is_empty())
}

#[tokio::test(start_paused = true)]
async fn the_lease_is_not_released_while_a_request_of_a_cancelled_task_may_be_under_way() {
    for is_writing in [false, true] {
        let (server, log) = (server().await, Arc::<Log>::default());
        let manager = replica(&server, "first", &log);
        let maps = TypedClient::<ConfigMap>::namespaced(manager.client(), "default");
        server.on(Verb::Create, "configmaps").delay(3600 * SECOND);
        manager.add_task("a task that writes", move || {
            let maps = maps.clone();
            async move {
                if is_writing {
                    maps.create(&config_map("b")).timeout(7200 * SECOND).await.unwrap();
                }
                std::future::pending::<()>().await;
            }
        });
        let running = start(&manager);
        sleep(5 * SECOND).await;
        running.stop().await;
        assert_eq!(holder(&server).await.is_some(), is_writing);
    }
}

#[tokio::test(start_paused = true)]
async fn work_of_a_term_is_not_polled_after_the_term() {
    let (server, log) = (server().await, Arc::<Log>::default());
    let manager = replica(&server, "first", &log);
    let (elector, late) = (manager.elector().unwrap().clone(), Arc::new(Counter::default()));
    let counter = late.clone();
    manager.add_task("a task that looks at the term", move || {
        let (elector, late) = (elector.clone(), counter.clone());
        async move {
            loop {
                if elector.term().is_none() {
                    late.count();
                }
                tokio::task::yield_now().await;
                sleep(Duration::from_millis(1)).await;
            }
        }
    });
    let running = start(&manager);
    sleep(20 * SECOND).await;
    server.on(Verb::Update, "leases").fail(Fault::unavailable());
    // As a process that was stopped: every timer is due at once.
    tokio::time::advance(60 * SECOND).await;
    sleep(60 * SECOND).await;
    assert_eq!(late.get(), 0);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn dropping_a_leader_stops_its_renewals() {
    let (server, log) = (server().await, Arc::<Log>::default());
    let manager = replica(&server, "first", &log);
    tokio::time::timeout(10 * SECOND, manager.run_until(std::future::pending())).await.unwrap_err();
    let renewed = server.actions().of("leases").iter().count();
    sleep(300 * SECOND).await;
    assert_eq!(server.actions().of("leases").iter().count(), renewed);
}

/// Notes the keys that are reconciled.
async fn note_key(key: ObjectKey, keys: Arc<Mutex<Vec<String>>>) -> Result<Action, Error> {
    keys.lock().push(key.name);
    Ok(Action::await_change())
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_takes_over_reconciles_each_existing_object_once() {
    let (server, log) = (server().await, Arc::<Log>::default());
    let first = start(&replica(&server, "first", &log));
    sleep(5 * SECOND).await;
    let keys = Arc::<Mutex<Vec<String>>>::default();
    let standby = Manager::builder("test").lease("default/test").build(server.client()).unwrap();
    Controller::<ConfigMap>::new(&standby).run_keys_with(keys.clone(), note_key);
    let second = start(&standby);
    let maps = TypedClient::<ConfigMap>::namespaced(server.client(), "default");
    sleep(5 * SECOND).await;
    for round in 0..3 {
        maps.create(&config_map("b")).await.unwrap();
        maps.update_with("b", set("round", round)).await.unwrap();
        maps.update_with("a", set("round", round)).await.unwrap();
        maps.create(&config_map(&format!("gone-{round}"))).await.unwrap();
        sleep(SECOND).await;
        maps.delete(&format!("gone-{round}")).await.unwrap();
        if round < 2 {
            maps.delete("b").await.unwrap();
        }
    }
    sleep(5 * SECOND).await;
    assert!(keys.lock().is_empty(), "it stands by");
    first.stop().await;
    sleep(10 * SECOND).await;
    let mut reconciled = std::mem::take(&mut *keys.lock());
    reconciled.sort();
    assert_eq!(reconciled, ["a", "b"]);
    second.stop().await;
}
