//! Informers while the API server comes to harm, and while their definition comes and goes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use genclient_runtime::{FinalState, ListParams, Patch, factory::CacheSyncError};
use genclient_tally::Tally;
use genclient_testenv::require_servers;
use samplecrd_client::{clientset::Clientset, informers::SharedInformerFactory};
use serde_json::json;

use crate::{
    record::{Told, agree, record, record_asleep_at},
    support::{
        CRDS, PATIENCE, Tap, eventually, faulty_cluster, in_time, install_crds, named, namespace, network,
    },
};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_object_recreated_while_nobody_looked_is_a_deletion_and_an_addition() {
    require_servers!();
    let env = faulty_cluster(&[]).await;
    let clientset = Clientset::new(env.client().unwrap());
    let namespace = namespace(clientset.client(), "recreate").await;
    let networks = clientset.samplecrd_v1().networks(&namespace);
    let old = networks.create(&network(named("phoenix"))).await.unwrap().metadata.uid.unwrap();

    let (client, tap) = Tap::client(&env);
    let factory = SharedInformerFactory::builder(Clientset::new(client)).namespace(&namespace).build();
    let informer = factory.samplecrd().v1().networks().informer();
    let (record, wake) = record_asleep_at(&informer, "lullaby");
    factory.start();
    factory.wait_for_cache_sync(PATIENCE).await.unwrap();
    record.wait_for(1).await;
    let lullaby = networks.create(&network(named("lullaby"))).await.unwrap();
    informer.caught_up_to(&lullaby, PATIENCE).await.unwrap();

    // The watch is cut, and cannot be opened again before the old object is forgotten.
    tap.close();
    env.apiserver().kill9().await.unwrap();
    env.apiserver().start().await.unwrap();
    networks.delete("phoenix").await.unwrap();
    let new = networks.create(&network(named("phoenix"))).await.unwrap().metadata.uid.unwrap();
    env.compact_etcd().await.unwrap();
    env.apiserver().restart().await.unwrap();
    tap.open();

    eventually("the cache has the new object", async || {
        let cached = informer.store().find(Some(&namespace), "phoenix");
        cached.is_some_and(|cached| cached.metadata.uid.as_ref() == Some(&new))
    })
    .await;
    assert_eq!(record.told().len(), 1, "the handler still sleeps");
    wake.send(()).unwrap();
    let told = record.wait_for(4).await;
    let phoenix = "phoenix".to_owned();
    assert_eq!(
        told,
        [
            Told::Added(phoenix.clone(), old.clone()),
            Told::Added("lullaby".to_owned(), lullaby.metadata.uid.unwrap()),
            Told::Deleted(phoenix.clone(), old, FinalState::Unknown),
            Told::Added(phoenix, new),
        ]
    );
    factory.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn caches_and_handlers_converge_after_the_api_server_was_killed_under_load() {
    require_servers!();
    let env = faulty_cluster(&[]).await;
    let clientset = Clientset::new(env.client().unwrap());
    let namespace = namespace(clientset.client(), "load").await;
    let networks = clientset.samplecrd_v1().networks(&namespace);
    let factory = SharedInformerFactory::builder(clientset.clone()).namespace(&namespace).build();
    let informer = factory.samplecrd().v1().networks().informer();
    let record = record(&informer);
    factory.start();
    factory.wait_for_cache_sync(PATIENCE).await.unwrap();

    let (running, tally) = (Arc::new(AtomicBool::new(true)), Arc::new(Tally::new()));
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (networks, running, tally) = (networks.clone(), running.clone(), tally.clone());
            tokio::spawn(async move {
                let mut round = 0;
                while running.load(Ordering::Relaxed) {
                    round += 1;
                    let name = format!("n{writer}-{}", round % 7);
                    let change = Patch::merge(&json!({"spec": {"cidr": format!("round {round}")}}));
                    // While the server is away nothing succeeds, and that is no reason to stop.
                    let (what, outcome) = match round % 5 {
                        0 => ("delete", networks.delete(&name).await.map(drop)),
                        1 | 2 => ("create", networks.create(&network(named(&name))).await.map(drop)),
                        _ => ("patch", networks.patch(&name, &change).await.map(drop)),
                    };
                    match outcome.map_err(|error| error.code()) {
                        Ok(()) => {
                            tally.count(what);
                            tally.count("done");
                        }
                        Err(None) => {
                            tally.count("no answer");
                            tokio::time::sleep(Duration::from_millis(50)).await;
                        }
                        Err(Some(code)) => tally.count(code.to_string()),
                    }
                }
            })
        })
        .collect();
    let more_work = async || {
        let goal = tally.of("done") + 50;
        eventually("the writers get on", async || tally.of("done") >= goal).await;
    };
    more_work().await;
    // With each outage the informer is more patient, up to half a minute, until there was a quiet time.
    let outages = genclient_tally::usual_or_long(1, 5);
    for _ in 0..outages {
        env.apiserver().kill9().await.unwrap();
        env.apiserver().start().await.unwrap();
        more_work().await;
    }
    running.store(false, Ordering::Relaxed);
    for writer in writers {
        in_time("a writer ends", writer).await.unwrap();
    }

    let listed = networks.list(&ListParams::default()).await.unwrap().items;
    assert!(!listed.is_empty());
    eventually("the server, the cache and the handler agree", async || agree(&listed, &informer, &record))
        .await;
    tally.require(&[("create", 12), ("patch", 12), ("delete", 5), ("no answer", 1)]);
    factory.shutdown().await;
}

#[tokio::test]
async fn an_informer_waits_for_its_definition_and_follows_one_that_comes_back() {
    require_servers!();
    let env = faulty_cluster(&[]).await;
    env.kubectl(&["delete", "--wait", "-f", CRDS]).await.unwrap();
    let clientset = Clientset::new(env.client().unwrap());
    let namespace = namespace(clientset.client(), "absent").await;
    let networks = clientset.samplecrd_v1().networks(&namespace);
    let factory = SharedInformerFactory::builder(clientset.clone()).namespace(&namespace).build();
    let informer = factory.samplecrd().v1().networks().informer();
    let record = record(&informer);
    factory.start();

    let late = factory.wait_for_cache_sync(Duration::from_secs(1)).await.unwrap_err();
    let CacheSyncError::NotSynced(late) = late else { panic!("{late}") };
    assert_eq!(late[0].resource, "networks.samplecrd.k8s.io/v1");
    assert!(late[0].reason.contains("CustomResourceDefinition"), "{}", late[0].reason);
    assert!(!informer.has_synced());

    install_crds(&env).await;
    factory.wait_for_cache_sync(PATIENCE).await.unwrap();
    let created = networks.create(&network(named("first"))).await.unwrap();
    informer.caught_up_to(&created, PATIENCE).await.unwrap();

    // The objects go with their definition.
    env.kubectl(&["delete", "--wait", "-f", CRDS]).await.unwrap();
    eventually("the cache is empty", async || informer.store().is_empty()).await;
    install_crds(&env).await;
    networks.create(&network(named("second"))).await.unwrap();
    let listed = networks.list(&ListParams::default()).await.unwrap().items;
    eventually("the new object is followed", async || agree(&listed, &informer, &record)).await;
    factory.shutdown().await;
}
