//! Listers: the keys that they accept, and listers of given objects.

use genclient_runtime::{Lister, ObjectKey, Selector, object::Watched, store::Store};
use k8s_openapi::api::core::v1::{ConfigMap, Node};

use crate::support::*;

fn node(name: &str) -> Node {
    let mut node = Node::default();
    node.metadata.name = Some(name.to_owned());
    node
}

fn items() -> Lister<Item> {
    Lister::of(["a", "b"].map(|name| Item::clone(&item(name, 1, 1))))
}

#[test]
fn a_lister_finds_an_object_by_the_key_that_reconcile_gets() {
    fn finds<K: Watched>(lister: &Lister<K>, key: &ObjectKey) -> bool {
        let found = lister.get(key);
        assert_eq!(lister.require(key).is_ok(), found.is_some());
        found.is_some_and(|object| ObjectKey::of(object.as_ref()) == *key)
    }

    let nodes = Lister::of([node("a")]);
    assert!(finds(&items(), &key("a")) && finds(&nodes, &ObjectKey::cluster("a")));
    for missing in [key("c"), ObjectKey::namespaced("other", "a"), ObjectKey::cluster("a")] {
        assert!(!finds(&items(), &missing), "{missing}");
        assert_eq!(items().require(&missing).expect_err("no object").key, missing);
    }
    assert!(!finds(&nodes, &key("a")), "a node has no namespace");
}

#[test]
fn a_cluster_scoped_object_is_found_by_its_name_and_a_namespaced_one_by_its_namespace_and_name() {
    let nodes = Lister::of([node("a")]);
    assert!(nodes.get("a").is_some() && nodes.get(&"a".to_owned()).is_some());
    assert_eq!(nodes.require("b").expect_err("no node").key, ObjectKey::cluster("b"));
    let lister = items().namespace("ns");
    assert!(lister.get("a").is_some());
    assert_eq!(lister.require("c").expect_err("no item").key, key("c"));
}

#[test]
fn a_store_of_given_objects_holds_the_last_object_of_each_key() {
    let objects = [item("a", 1, 1), item("b", 1, 2), item_in("other", "a", 1, 3), item("a", 2, 4)];
    let store = Store::of(objects.map(|object| Item::clone(&object)));
    assert_eq!(store.len(), 3);
    assert_eq!(store.get(&key("a")).expect("a is there").version, "4");
    assert_eq!(store.list_namespace("ns", &Selector::everything()).len(), 2);
    assert!(Store::<ConfigMap>::of([]).is_empty());
    assert_eq!(store.resource_version(), None, "it was never listed");
}
