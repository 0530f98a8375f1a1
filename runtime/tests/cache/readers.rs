//! Readers on other threads, while the writer relists.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use genclient_runtime::{Selector, reflector::Delta, store::Index};

use crate::support::*;

const OBJECTS: u64 = 300;
const RELISTS: u64 = 100;

/// Every object of a generation has its number.
fn generation(number: u64) -> Vec<Arc<Item>> {
    // Some names come and go, so that the tables grow and shrink as well.
    (0..OBJECTS)
        .map(|n| {
            let name = if n % 3 == 0 { format!("k{n}-{}", number % 5) } else { format!("k{n}") };
            labelled(&name, number * 1000 + n, &[("generation", &number.to_string()), ("all", "yes")])
        })
        .collect()
}

fn numbers(objects: &[Arc<Item>]) -> HashSet<&str> {
    objects.iter().map(|object| object.labels["generation"].as_str()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_read_uses_one_generation_while_a_hundred_relists_run() {
    let (informer, feed) = running();
    let all: Index<_, String> =
        informer.add_index("all", |item: &Item| item.labels.get("all").cloned()).expect("a new index");
    feed.send([list(999, generation(0))]).await;
    assert!(informer.wait_for_sync().await);
    let (done, answers) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let readers: Vec<_> = (0..3)
        .map(|reader| {
            let (store, all, done, answers) = (informer.store(), all.clone(), done.clone(), answers.clone());
            thread::spawn(move || {
                let labelled = Selector::parse("all=yes").expect("a selector");
                let mut last = 0;
                while !done.load(Ordering::Relaxed) {
                    let answer = match reader {
                        0 => store.list(&Selector::everything()),
                        1 => all.get("yes"),
                        _ => {
                            let snapshot = store.snapshot();
                            let listed = snapshot.list(&labelled);
                            assert_eq!(numbers(&listed), numbers(&all.get_in(&snapshot, "yes")));
                            listed
                        }
                    };
                    assert_eq!(answer.len() as u64, OBJECTS);
                    let numbers = numbers(&answer);
                    assert_eq!(numbers.len(), 1, "{numbers:?}");
                    let number: u64 = numbers.iter().next().and_then(|n| n.parse().ok()).expect("a number");
                    assert!(number >= last, "the cache does not go back");
                    last = number;
                    answers.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for number in 1..=RELISTS {
        feed.send([list(number * 1000 + 999, generation(number))]).await;
        reached(&informer, number * 1000 + 999).await;
        let seen = answers.load(Ordering::Relaxed);
        eventually("somebody has read", || {
            answers.load(Ordering::Relaxed) > seen || readers.iter().any(|reader| reader.is_finished())
        })
        .await;
    }
    done.store(true, Ordering::Relaxed);
    for reader in readers {
        reader.join().expect("every read was from one generation");
    }
}

#[tokio::test]
async fn a_snapshot_does_not_change_and_does_not_block_the_writer() {
    let (informer, feed) = running();
    feed.send([list(1, vec![item("a", 1, 1)])]).await;
    reached(&informer, 1).await;
    let snapshots: Vec<_> = {
        let mut snapshots = Vec::new();
        for version in 2..100 {
            snapshots.push(informer.store().snapshot());
            feed.send([
                Delta::Upsert(item("a", 1, version)),
                Delta::Upsert(item(&format!("b{version}"), 1, version)),
            ])
            .await;
            reached(&informer, version).await;
            quiet().await;
        }
        snapshots
    };
    for (place, snapshot) in snapshots.iter().enumerate() {
        assert_eq!(snapshot.len(), place + 1);
        assert_eq!(snapshot.find(Some("ns"), "a").expect("a is there").version, (place + 1).to_string());
    }
    assert!(snapshots.is_sorted_by_key(|snapshot| snapshot.generation()));
    assert_eq!(informer.store().len(), 99);
}

#[tokio::test]
async fn objects_of_an_older_generation_are_freed_when_no_reader_holds_it() {
    let (informer, feed) = running();
    feed.send([list(1, vec![item("a", 1, 1), item("b", 1, 1), item("c", 1, 1)])]).await;
    reached(&informer, 1).await;
    let (a, b, c) = {
        let get = |name| Arc::downgrade(&informer.store().get(&key(name)).expect("it is there"));
        (get("a"), get("b"), get("c"))
    };
    feed.send([Delta::Upsert(item("a", 1, 2)), Delta::Delete(item("b", 1, 3))]).await;
    reached(&informer, 3).await;
    assert!(a.upgrade().is_none() && b.upgrade().is_none(), "no generation holds them");
    feed.send([list(5, vec![item("c", 1, 4)])]).await;
    reached(&informer, 5).await;
    assert!(c.upgrade().is_none());
}
