//! kube's own controller, fed by a shared informer.

use std::{convert::Infallible, sync::Arc, time::Duration};

use futures::StreamExt as _;
use genclient_runtime::{Event, kube::ResourceExt as _};
use genclient_testenv::require_servers;
use kube::runtime::{Controller, controller::Action, reflector, watcher};
use parking_lot::Mutex;
use samplecrd_apis::samplecrd::v1::Network;
use samplecrd_client::informers::SharedInformerFactory;

use crate::support::{PATIENCE, clientset, eventually, named, network};

#[tokio::test]
async fn kubes_controller_reconciles_what_the_informer_tells() {
    require_servers!();
    let (clientset, namespace) = clientset("controller").await;
    let networks = clientset.samplecrd_v1().networks(&namespace);
    networks.create(&network(named("first"))).await.unwrap();
    let factory = SharedInformerFactory::builder(clientset.clone()).namespace(&namespace).build();
    let events = factory.samplecrd().v1().networks().informer().events();
    factory.start();
    factory.wait_for_cache_sync(PATIENCE).await.unwrap();

    // The controller reads objects from a store of kube's; it holds the informer's own states.
    let (reader, mut writer) = reflector::store::<Network>();
    writer.apply_watcher_event(&watcher::Event::Init);
    writer.apply_watcher_event(&watcher::Event::InitDone);
    let objects = events.map(move |event| {
        let object = event.object().clone();
        writer.apply_watcher_event(&match event {
            Event::Deleted { last, .. } => watcher::Event::Delete((*last).clone()),
            Event::Added { .. } | Event::Updated { .. } => watcher::Event::Apply((*object).clone()),
        });
        object
    });
    let reconciled = Arc::new(Mutex::new(Vec::new()));
    let reconcile = |network: Arc<Network>, reconciled: Arc<Mutex<Vec<_>>>| async move {
        reconciled.lock().push((network.name_any(), network.spec.cidr.clone()));
        Ok::<_, Infallible>(Action::await_change())
    };
    let retry = |_: Arc<Network>, _: &Infallible, _: Arc<_>| Action::requeue(Duration::from_secs(1));
    let controller = Controller::for_shared_stream(objects, reader).run(reconcile, retry, reconciled.clone());
    let running = tokio::spawn(controller.for_each(|_| async {}));

    let was_reconciled = async |name: &str, cidr: &str| {
        let wanted = (name.to_owned(), cidr.to_owned());
        eventually("the controller reconciles", async || reconciled.lock().contains(&wanted)).await;
    };
    was_reconciled("first", "192.168.0.0/16").await;
    let mut second = networks.create(&network(named("second"))).await.unwrap();
    was_reconciled("second", "192.168.0.0/16").await;
    second.spec.cidr = "10.0.0.0/8".to_owned();
    networks.update(&second).await.unwrap();
    was_reconciled("second", "10.0.0.0/8").await;

    factory.shutdown().await;
    tokio::time::timeout(PATIENCE, running).await.expect("the controller ends with the informer").unwrap();
}
