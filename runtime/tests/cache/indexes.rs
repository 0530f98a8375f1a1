//! Indexes: several values per object, indexes added at any time, and panics.

use std::{
    cell::Cell,
    hash::{Hash, Hasher},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use genclient_runtime::{
    Selector, SharedInformer,
    reflector::Delta,
    store::{Index, IndexError},
};

use crate::support::*;

fn names(objects: Vec<Arc<Item>>) -> Vec<String> {
    let mut names: Vec<_> = objects.iter().map(|object| object.name.clone()).collect();
    names.sort();
    names
}

/// The values of label `in`, separated by dots.
fn memberships(item: &Item) -> Vec<String> {
    item.labels.get("in").map(|text| text.split('.').map(str::to_owned).collect()).unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn an_object_is_found_under_each_of_its_values_and_under_no_other() {
    let (informer, feed) = running();
    let before: Index<_, String> = informer.add_index("before", memberships).expect("a new index");
    feed.send([list(
        3,
        vec![labelled("a", 1, &[("in", "x.y")]), labelled("b", 2, &[("in", "y.y")]), labelled("c", 3, &[])],
    )])
    .await;
    reached(&informer, 3).await;
    let after: Index<_, String> = informer.add_index("after", memberships).expect("a new index");
    for index in [&before, &after] {
        assert_eq!(names(index.get("x")), ["a"]);
        assert_eq!(names(index.get("y")), ["a", "b"]);
        assert_eq!(names(index.get("z")), [] as [&str; 0]);
    }
    feed.send([
        Delta::Upsert(labelled("a", 4, &[("in", "z")])),
        Delta::Delete(labelled("b", 5, &[("in", "something else")])),
        Delta::Upsert(labelled("c", 6, &[("in", "z")])),
    ])
    .await;
    reached(&informer, 6).await;
    for index in [&before, &after] {
        assert_eq!(index.values(), ["z"], "values without objects are gone");
        assert_eq!(names(index.get("z")), ["a", "c"]);
        assert!(Arc::ptr_eq(
            &index.get("z").into_iter().find(|object| object.name == "a").expect("a is there"),
            &informer.store().get(&key("a")).expect("a is there"),
        ));
    }
    feed.send([list(9, vec![labelled("a", 8, &[("in", "x")])])]).await;
    reached(&informer, 9).await;
    for index in [&before, &after] {
        assert_eq!(index.values(), ["x"]);
        assert_eq!(names(index.get("x")), ["a"]);
    }
}

#[tokio::test(start_paused = true)]
async fn many_objects_can_share_a_value() {
    let (informer, feed) = running();
    let by_parity: Index<_, u64> = informer
        .add_index("parity", |item: &Item| [item.version.parse::<u64>().expect("a number") % 2])
        .expect("a new index");
    feed.send([list(1000, (0..1000).map(|n| item(&format!("k{n}"), 1, n)).collect())]).await;
    reached(&informer, 1000).await;
    assert_eq!((by_parity.get(&0).len(), by_parity.get(&1).len()), (500, 500));
    for n in 0..400 {
        feed.send([Delta::Upsert(item(&format!("k{n}"), 1, 1001 + 2 * n))]).await;
    }
    reached(&informer, 1001 + 2 * 399).await;
    assert_eq!((by_parity.get(&0).len(), by_parity.get(&1).len()), (300, 700));
    for n in 0..1000 {
        feed.send([Delta::Delete(item(&format!("k{n}"), 1, 5000 + n))]).await;
    }
    reached(&informer, 5999).await;
    assert_eq!(by_parity.values(), [] as [u64; 0]);
}

#[tokio::test(start_paused = true)]
async fn the_name_of_an_index_is_unique_and_its_values_have_one_type() {
    let informer = idle(vec![]);
    let added: Index<_, String> = informer.add_index("in", memberships).expect("a new index");
    assert_eq!(added.name(), "in");
    assert_eq!(informer.add_index("in", |_: &Item| [1]).err(), Some(IndexError::NameTaken("in".to_owned())),);
    assert!(informer.store().index::<String>("in").is_ok());
    assert!(matches!(informer.store().index::<u8>("in"), Err(IndexError::OtherType { .. })));
    assert!(matches!(informer.store().index::<String>("on"), Err(IndexError::Unknown(_))));
}

#[tokio::test(start_paused = true)]
async fn an_index_function_that_panics_on_a_cached_object_adds_no_index() {
    let (informer, feed) = running();
    feed.send([list(1, vec![item("a", 1, 1)])]).await;
    reached(&informer, 1).await;
    let refused = informer.add_index("bad", |item: &Item| -> Option<String> { panic!("on {}", item.name) });
    assert_eq!(
        refused.err(),
        Some(IndexError::Panicked { name: "bad".to_owned(), key: key("a"), message: "on a".to_owned() }),
    );
    informer.add_index("bad", memberships).expect("the name is free");
    feed.send([Delta::Upsert(item("a", 1, 2))]).await;
    reached(&informer, 2).await;
    assert_eq!(informer.store().get(&key("a")).expect("a is there").version, "2");
}

#[tokio::test(start_paused = true)]
async fn an_object_on_which_an_index_function_panics_is_stored_and_found_under_no_value() {
    let (informer, feed) = running();
    let recorder = Recorder::default();
    informer.add_event_handler(recorder.handler());
    let good: Index<_, String> = informer.add_index("good", memberships).expect("a new index");
    let panics = Arc::new(AtomicBool::new(false));
    let bad: Index<_, String> = informer
        .add_index("bad", {
            let panics = panics.clone();
            move |item: &Item| {
                assert!(!(panics.load(Ordering::Relaxed) && item.name == "a"), "on purpose");
                memberships(item)
            }
        })
        .expect("a new index");
    let last: Index<_, String> = informer.add_index("last", memberships).expect("a new index");
    let both = |version, value: &str| {
        vec![labelled("a", version, &[("in", value)]), labelled("b", version, &[("in", value)])]
    };
    feed.send([list(1, both(1, "x"))]).await;
    reached(&informer, 1).await;
    panics.store(true, Ordering::Relaxed);
    feed.send([list(2, both(2, "y"))]).await;
    reached(&informer, 2).await;
    assert_eq!(informer.store().list(&Selector::parse("in=y").expect("a selector")).len(), 2);
    for index in [&good, &last] {
        assert_eq!(names(index.get("y")), ["a", "b"]);
        assert_eq!(index.values(), ["y"]);
    }
    assert_eq!(names(bad.get("y")), ["b"]);
    assert_eq!(bad.values(), ["y"], "its old value is gone, although it could not be computed again");
    panics.store(false, Ordering::Relaxed);
    feed.send([list(3, both(3, "z"))]).await;
    reached(&informer, 3).await;
    assert_eq!(names(bad.get("z")), ["a", "b"], "the next change is indexed again");
    assert_eq!(bad.values(), ["z"]);
    quiet().await;
    assert!(recorder.len() >= 2, "handlers are called nevertheless");
}

#[tokio::test(start_paused = true)]
async fn the_namespace_index_follows_the_objects() {
    let (informer, feed) = running();
    feed.send([list(3, vec![item_in("x", "a", 1, 1), item_in("x", "b", 1, 2), item_in("y", "a", 1, 3)])])
        .await;
    reached(&informer, 3).await;
    let everything = Selector::everything();
    let lister = informer.lister();
    assert_eq!(lister.list(&everything).len(), 3);
    assert_eq!(names(lister.namespace("x").list(&everything)), ["a", "b"]);
    assert_eq!(lister.namespace("y").get("a").expect("it is there").version, "3");
    assert_eq!(
        lister.namespace("y").require("b").expect_err("no b").to_string(),
        "there is no `y/b` in the cache"
    );
    feed.send([Delta::Delete(item_in("y", "a", 1, 4))]).await;
    reached(&informer, 4).await;
    assert_eq!(informer.store().namespaces(), ["x".into()]);
    assert_eq!(names(lister.namespace("y").list(&everything)), [] as [&str; 0]);
}

#[tokio::test(start_paused = true)]
async fn cluster_scoped_objects_are_listed_by_name_alone() {
    let mut node = Item::clone(&item("node", 1, 1));
    node.namespace = None;
    let (informer, feed) = running();
    feed.send([list(1, vec![Arc::new(node)])]).await;
    reached(&informer, 1).await;
    assert!(informer.store().find(None, "node").is_some());
    assert!(informer.store().namespaces().is_empty());
}

/// More objects than a spare generation is ever brought up to date with, change by change.
const MANY: u64 = 6_000;

thread_local! {
    /// How many values were cloned or dropped on this thread.
    static HERE: Cell<u64> = const { Cell::new(0) };
}

/// An index value that counts how often it is cloned or dropped.
struct Counted {
    number: u64,
    clones: Arc<AtomicU64>,
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        HERE.set(HERE.get() + 1);
        self.clones.fetch_add(1, Ordering::Relaxed);
        Self { number: self.number, clones: self.clones.clone() }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        HERE.set(HERE.get() + 1);
    }
}

impl PartialEq for Counted {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Counted {}

impl Hash for Counted {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}

/// Indexes the items by their version. Returns the number of clones of the values, which grows.
fn count_clones(informer: &SharedInformer<Item>) -> Arc<AtomicU64> {
    let clones = Arc::<AtomicU64>::default();
    let counted = clones.clone();
    let values = move |item: &Item| {
        let number = item.version.parse().expect("a number");
        [Counted { number, clones: counted.clone() }]
    };
    let _: Index<_, Counted> = informer.add_index("version", values).expect("a new index");
    clones
}

/// Lists many items and waits until the job that applied the list has ended.
async fn list_many(informer: &SharedInformer<Item>, feed: &Feed) {
    feed.send([list(MANY, (1..=MANY).map(|n| item(&format!("k{n}"), 1, n)).collect())]).await;
    reached(informer, MANY).await;
    assert!(informer.add_event_handler(|_: &_| {}).wait_for_sync().await);
}

/// Changes one item, and returns how many index values this thread, which also runs the informer, has
/// cloned or dropped for it.
async fn values_touched_by_a_change(informer: &SharedInformer<Item>, feed: &Feed, version: u64) -> u64 {
    HERE.set(0);
    feed.send([Delta::Upsert(item("k1", 1, version))]).await;
    reached(informer, version).await;
    quiet().await;
    HERE.get()
}

/// Both generations clone the new value and drop the old one, and the change itself is dropped.
const TOUCHED_BY_A_CHANGE: u64 = 5;

#[tokio::test(start_paused = true)]
async fn the_first_change_after_a_list_does_not_copy_the_store() {
    let (informer, feed) = running();
    let clones = count_clones(&informer);
    list_many(&informer, &feed).await;
    clones.store(0, Ordering::Relaxed);
    for version in 1..=3 {
        let touched = values_touched_by_a_change(&informer, &feed, MANY + version).await;
        assert!(touched <= TOUCHED_BY_A_CHANGE, "change {version} touched {touched} values");
    }
    let clones = clones.load(Ordering::Relaxed);
    assert!(clones <= 3 * TOUCHED_BY_A_CHANGE, "{clones} values were cloned for three changes");
}

#[tokio::test(start_paused = true)]
async fn the_first_change_after_an_index_was_added_does_not_copy_the_store() {
    let (informer, feed) = running();
    list_many(&informer, &feed).await;
    let clones = count_clones(&informer);
    clones.store(0, Ordering::Relaxed);
    let touched = values_touched_by_a_change(&informer, &feed, MANY + 1).await;
    assert!(touched <= TOUCHED_BY_A_CHANGE, "the change touched {touched} values");
    assert!(clones.load(Ordering::Relaxed) <= TOUCHED_BY_A_CHANGE);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_must_be_copied_because_of_slow_readers_is_copied_on_a_blocking_thread() {
    let (informer, feed) = running();
    let clones = count_clones(&informer);
    list_many(&informer, &feed).await;
    clones.store(0, Ordering::Relaxed);
    let mut snapshots = Vec::new();
    for version in 1..=6 {
        snapshots.push(informer.store().snapshot());
        let touched = values_touched_by_a_change(&informer, &feed, MANY + version).await;
        assert!(touched <= 3 * TOUCHED_BY_A_CHANGE, "change {version} touched {touched} values");
    }
    assert!(clones.load(Ordering::Relaxed) >= MANY, "the readers held every generation");
}

#[tokio::test(start_paused = true)]
async fn a_short_list_that_removes_many_objects_is_applied_on_a_blocking_thread() {
    let (informer, feed) = running();
    count_clones(&informer);
    list_many(&informer, &feed).await;
    HERE.set(0);
    feed.send([list(MANY + 1, vec![item("k1", 1, MANY + 1)])]).await;
    reached(&informer, MANY + 1).await;
    quiet().await;
    assert_eq!(informer.store().len(), 1);
    assert!(HERE.get() <= TOUCHED_BY_A_CHANGE, "{} values were touched", HERE.get());
}
