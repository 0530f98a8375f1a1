//! Every verb that both kinds have, on both kinds.

use std::collections::BTreeSet;

use futures::StreamExt as _;
use genclient_runtime::{
    ListParams, ObjectMeta, Patch, PropagationPolicy, VersionMatch,
    client::{Deleted, WatchEvent, WatchStream},
    kube::ResourceExt as _,
};
use genclient_testenv::require_servers;
use samplecrd_client::clientset::{
    Clientset,
    typed::{
        appcontroller::v1alpha1::{AllAppServices, AppServiceClient},
        samplecrd::v1::{AllNetworks, NetworkClient},
    },
};
use serde_json::{Value, json};

use crate::support::{app_service, clientset, eventually, in_time, labelled, named, network};

/// The next event that tells of an object.
async fn next<K>(watch: &mut WatchStream<K>) -> WatchEvent<K> {
    loop {
        let event = in_time("the watch tells of a change", watch.next()).await;
        match event.expect("the watch goes on").expect("the watch can be resumed") {
            WatchEvent::Bookmark { .. } => {}
            event => return event,
        }
    }
}

fn names<K: genclient_runtime::kube::Resource>(items: &[K]) -> BTreeSet<String> {
    items.iter().map(|item| item.name_any()).collect()
}

/// The tests of one kind. `$field` is a field of its spec that holds a text, of which `$json` is the
/// name on the wire.
macro_rules! verbs_of {
    (
        $module:ident, $sample:ident, $field:ident, $json:literal,
        $Client:ident, $client:expr, $All:ident, $all:expr
    ) => {
        mod $module {
            use super::*;

            fn client(clientset: &Clientset, namespace: &str) -> $Client {
                ($client)(clientset, namespace)
            }

            fn all(clientset: &Clientset) -> $All {
                ($all)(clientset)
            }

            /// An apply configuration that speaks of one field.
            fn configuration(name: &str, value: &str) -> Value {
                let whole = serde_json::to_value($sample(named(name))).expect("the sample is JSON");
                let mut spec = whole["spec"].clone();
                spec[$json] = json!(value);
                json!({
                    "apiVersion": whole["apiVersion"],
                    "kind": whole["kind"],
                    "metadata": {"name": name},
                    "spec": spec,
                })
            }

            #[tokio::test]
            async fn create_stores_the_object_and_gives_it_back_as_the_server_holds_it() {
                require_servers!();
                let (clientset, namespace) = clientset("create").await;
                let client = client(&clientset, &namespace);
                let sent = $sample(labelled("example", "env", "test"));
                let created = client.create(&sent).field_manager("a-test").await.unwrap();
                assert_eq!(created.spec, sent.spec);
                assert_eq!(created.labels(), sent.labels());
                assert_eq!(created.namespace().as_deref(), Some(&*namespace));
                assert_eq!(created.metadata.generation, Some(1));
                assert!(created.uid().is_some() && created.metadata.creation_timestamp.is_some());
                assert_eq!(created.managed_fields()[0].manager.as_deref(), Some("a-test"));
                assert_eq!(client.get("example").await.unwrap(), created);
            }

            #[tokio::test]
            async fn generate_name_is_completed_by_the_server() {
                require_servers!();
                let (clientset, namespace) = clientset("generate").await;
                let client = client(&clientset, &namespace);
                let metadata =
                    ObjectMeta { generate_name: Some("some-".to_owned()), ..ObjectMeta::default() };
                let sample = $sample(metadata);
                let (one, other) =
                    (client.create(&sample).await.unwrap(), client.create(&sample).await.unwrap());
                assert!(one.name_any().starts_with("some-") && other.name_any().starts_with("some-"));
                assert_ne!(one.name_any(), other.name_any());
            }

            #[tokio::test]
            async fn update_replaces_the_object_and_counts_its_generations() {
                require_servers!();
                let (clientset, namespace) = clientset("update").await;
                let client = client(&clientset, &namespace);
                let mut object = client.create(&$sample(labelled("example", "env", "test"))).await.unwrap();
                object.spec.$field = "changed".to_owned();
                object.metadata.labels = None;
                let updated = client.update(&object).await.unwrap();
                assert_eq!(updated.spec.$field, "changed");
                assert!(updated.labels().is_empty(), "what an update leaves out is gone");
                assert_eq!(updated.metadata.generation, Some(2));
                assert_ne!(updated.resource_version(), object.resource_version());
                assert_eq!(client.get("example").await.unwrap(), updated);
            }

            #[tokio::test]
            async fn delete_takes_away_only_what_its_preconditions_describe() {
                require_servers!();
                let (clientset, namespace) = clientset("delete").await;
                let client = client(&clientset, &namespace);
                let created = client.create(&$sample(named("example"))).await.unwrap();
                let (uid, version) = (created.uid().unwrap(), created.resource_version().unwrap());

                let refused = client.delete("example").precondition_uid("another").await.unwrap_err();
                assert!(refused.is_conflict(), "{refused}");
                let refused = client.delete("example").precondition_resource_version("1").await.unwrap_err();
                assert!(refused.is_conflict(), "{refused}");
                assert_eq!(client.get("example").await.unwrap(), created);

                let deleted = client
                    .delete("example")
                    .precondition_uid(&*uid)
                    .precondition_resource_version(version)
                    .await
                    .unwrap();
                assert!(matches!(deleted, Deleted::Status(_)), "{deleted:?}");
                assert!(client.get("example").await.unwrap_err().is_not_found());
                assert!(client.delete("example").await.unwrap_err().is_not_found());
            }

            #[tokio::test]
            async fn a_deleted_object_waits_for_its_finalizers_and_for_what_the_propagation_adds() {
                require_servers!();
                let (clientset, namespace) = clientset("propagation").await;
                let client = client(&clientset, &namespace);
                let hold = "example.com/hold".to_owned();
                for (policy, added) in [
                    (PropagationPolicy::Foreground, Some("foregroundDeletion")),
                    (PropagationPolicy::Orphan, Some("orphan")),
                    (PropagationPolicy::Background, None),
                ] {
                    let finalizers = Some(vec![hold.clone()]);
                    client.create(&$sample(ObjectMeta { finalizers, ..named("held") })).await.unwrap();
                    let deleted = client.delete("held").propagation(policy).await.unwrap();
                    let waiting = deleted.object().expect("the server answers with what waits");
                    assert!(waiting.metadata.deletion_timestamp.is_some());
                    let found: BTreeSet<_> = waiting.finalizers().iter().cloned().collect();
                    assert_eq!(found, added.map(str::to_owned).into_iter().chain([hold.clone()]).collect());

                    let release = Patch::merge(&json!({"metadata": {"finalizers": null}}));
                    client.patch("held", &release).await.unwrap();
                    assert!(client.get("held").await.unwrap_err().is_not_found());
                }
            }

            #[tokio::test]
            async fn delete_collection_takes_away_what_its_selectors_choose() {
                require_servers!();
                let (clientset, namespace) = clientset("collection").await;
                let client = client(&clientset, &namespace);
                for (name, env) in [("a", "test"), ("b", "test"), ("c", "live"), ("d", "live")] {
                    client.create(&$sample(labelled(name, "env", env))).await.unwrap();
                }
                let tests = ListParams::default().labels("env=test");
                client.delete_collection(&tests).dry_run().await.unwrap();
                let everything = ListParams::default();
                assert_eq!(client.list(&everything).await.unwrap().items.len(), 4);

                client.delete_collection(&tests).await.unwrap();
                let left = client.list(&everything).await.unwrap().items;
                assert_eq!(names(&left), ["c", "d"].map(str::to_owned).into());

                let by_name = ListParams::default().fields("metadata.name=c");
                client.delete_collection(&by_name).propagation(PropagationPolicy::Background).await.unwrap();
                let left = client.list(&everything).await.unwrap().items;
                assert_eq!(names(&left), ["d".to_owned()].into());
            }

            #[tokio::test]
            async fn get_reads_the_newest_state_or_one_that_is_not_older_than_asked_for() {
                require_servers!();
                let (clientset, namespace) = clientset("get").await;
                let client = client(&clientset, &namespace);
                let created = client.create(&$sample(named("example"))).await.unwrap();
                assert_eq!(client.get("example").await.unwrap(), created);
                let version = created.resource_version().unwrap();
                assert_eq!(client.get("example").resource_version(version).await.unwrap(), created);
                eventually("a state that is at hand is the object's", async || {
                    client.get("example").resource_version("0").await.is_ok_and(|found| found == created)
                })
                .await;
            }

            #[tokio::test]
            async fn list_selects_and_is_read_in_pages() {
                require_servers!();
                let (clientset, namespace) = clientset("list").await;
                let client = client(&clientset, &namespace);
                for number in 0..7 {
                    let parity = if number % 2 == 0 { "even" } else { "odd" };
                    let object = $sample(labelled(&format!("n{number}"), "parity", parity));
                    client.create(&object).await.unwrap();
                }
                let odd = client.list(&ListParams::default().labels("parity in (odd)")).await.unwrap();
                assert_eq!(names(&odd.items), ["n1", "n3", "n5"].map(str::to_owned).into());
                let one = client.list(&ListParams::default().fields("metadata.name=n4")).await.unwrap();
                assert_eq!(names(&one.items), ["n4".to_owned()].into());

                let mut pages = client.pages(&ListParams::default().limit(3));
                let (mut found, mut versions, mut sizes) = (Vec::new(), BTreeSet::new(), Vec::new());
                while let Some(page) = pages.next().await {
                    let page = page.unwrap();
                    sizes.push(page.len());
                    found.extend(page);
                    versions.insert(pages.resource_version().map(str::to_owned));
                }
                assert_eq!(sizes, [3, 3, 1]);
                assert_eq!(names(&found).len(), 7);
                assert_eq!(versions.len(), 1, "all pages are of one version");
            }

            #[tokio::test]
            async fn list_gives_the_state_of_the_version_that_is_asked_for() {
                require_servers!();
                let (clientset, namespace) = clientset("version").await;
                let client = client(&clientset, &namespace);
                client.create(&$sample(named("first"))).await.unwrap();
                let then = client.list(&ListParams::default()).await.unwrap();
                client.create(&$sample(named("second"))).await.unwrap();
                let version = then.metadata.resource_version.clone().unwrap();
                let exact = ListParams::default().at(&version).matching(VersionMatch::Exact);
                assert_eq!(client.list(&exact).await.unwrap().items, then.items);
                let newer = ListParams::default().at(&version).matching(VersionMatch::NotOlderThan);
                assert!(names(&client.list(&newer).await.unwrap().items).contains("first"));
            }

            #[tokio::test]
            async fn all_namespaces_are_listed_and_watched_at_once() {
                require_servers!();
                let (clientset, here) = clientset("here").await;
                let there = crate::support::namespace(clientset.client(), "there").await;
                let mine = ListParams::default().labels(&format!("test={here}"));
                for namespace in [&here, &there] {
                    let object = $sample(labelled("example", "test", &here));
                    client(&clientset, namespace).create(&object).await.unwrap();
                }
                let list = all(&clientset).list(&mine).await.unwrap();
                let found: BTreeSet<_> = list.items.iter().filter_map(|item| item.namespace()).collect();
                assert_eq!(found, [here.clone(), there.clone()].into());

                let mut watch = all(&clientset).watch(&mine);
                let mut told = BTreeSet::new();
                for _ in 0..2 {
                    let WatchEvent::Added(object) = next(&mut watch).await else {
                        panic!("a watch without a version begins with what is there");
                    };
                    told.extend(object.namespace());
                }
                assert_eq!(told, found);
            }

            #[tokio::test]
            async fn watch_tells_of_each_change_after_its_version_and_under_its_selector() {
                require_servers!();
                let (clientset, namespace) = clientset("watch").await;
                let client = client(&clientset, &namespace);
                client.create(&$sample(labelled("before", "env", "test"))).await.unwrap();
                let list = client.list(&ListParams::default()).await.unwrap();
                let mut params = ListParams::default().labels("env=test");
                params.resource_version = list.metadata.resource_version;
                let mut watch = client.watch(&params);

                client.create(&$sample(labelled("other", "env", "live"))).await.unwrap();
                let created = client.create(&$sample(labelled("example", "env", "test"))).await.unwrap();
                assert_eq!(next(&mut watch).await, WatchEvent::Added(created.clone()));

                let mut changed = created;
                changed.spec.$field = "changed".to_owned();
                let changed = client.update(&changed).await.unwrap();
                assert_eq!(next(&mut watch).await, WatchEvent::Modified(changed));

                let relabel = |env: &str| Patch::merge(&json!({"metadata": {"labels": {"env": env}}}));
                client.patch("example", &relabel("live")).await.unwrap();
                let WatchEvent::Deleted(left) = next(&mut watch).await else {
                    panic!("what leaves the selector is told as deleted");
                };
                assert_eq!(left.name_any(), "example");
                client.patch("example", &relabel("test")).await.unwrap();
                assert!(matches!(next(&mut watch).await, WatchEvent::Added(_)));

                client.delete("example").await.unwrap();
                let WatchEvent::Deleted(deleted) = next(&mut watch).await else {
                    panic!("a deletion is told");
                };
                assert_eq!(deleted.spec.$field, "changed");
            }

            #[tokio::test]
            async fn patch_changes_what_it_names_by_a_merge_or_by_operations() {
                require_servers!();
                let (clientset, namespace) = clientset("patch").await;
                let client = client(&clientset, &namespace);
                let created = client.create(&$sample(labelled("example", "env", "test"))).await.unwrap();

                let merge = Patch::merge(&json!({"spec": {$json: "merged"}}));
                let merged = client.patch("example", &merge).field_manager("a-test").await.unwrap();
                assert_eq!(merged.spec.$field, "merged");
                assert_eq!(merged.labels(), created.labels());

                let path = concat!("/spec/", $json);
                let operations = |before: &str, after: &str| {
                    Patch::json(&json!([
                        {"op": "test", "path": path, "value": before},
                        {"op": "replace", "path": path, "value": after},
                    ]))
                };
                let replaced = client.patch("example", &operations("merged", "replaced")).await.unwrap();
                assert_eq!(replaced.spec.$field, "replaced");
                let refused = client.patch("example", &operations("merged", "again")).await.unwrap_err();
                assert!(refused.is_invalid(), "a test that does not hold refuses the whole: {refused}");
                assert_eq!(client.get("example").await.unwrap(), replaced);
            }

            #[tokio::test]
            async fn a_strategic_merge_is_refused_for_custom_resources() {
                require_servers!();
                let (clientset, namespace) = clientset("strategic").await;
                let client = client(&clientset, &namespace);
                client.create(&$sample(named("example"))).await.unwrap();
                let strategic = Patch::strategic(&json!({"spec": {$json: "merged"}}));
                let refused = client.patch("example", &strategic).await.unwrap_err();
                assert_eq!(refused.code(), Some(415), "{refused}");
            }

            #[tokio::test]
            async fn apply_creates_owns_its_fields_and_takes_others_over_by_force_only() {
                require_servers!();
                let (clientset, namespace) = clientset("apply").await;
                let client = client(&clientset, &namespace);
                let created = client.apply_untyped(&configuration("example", "first")).field_manager("one").await.unwrap();
                assert_eq!(created.spec.$field, "first");
                let same = client.apply_untyped(&configuration("example", "first")).field_manager("one").await.unwrap();
                assert_eq!(same.resource_version(), created.resource_version());

                let second = configuration("example", "second");
                let conflict = client.apply_untyped(&second).field_manager("other").await.unwrap_err();
                assert!(conflict.is_conflict(), "{conflict}");
                let message = conflict.to_string();
                assert!(message.contains("\"one\"") && message.contains($json), "{message}");
                assert_eq!(client.get("example").await.unwrap().spec.$field, "first");

                let rehearsed = client.apply_untyped(&second).field_manager("other").force().dry_run().await.unwrap();
                assert_eq!(rehearsed.spec.$field, "second");
                assert_eq!(client.get("example").await.unwrap().spec.$field, "first");

                let forced = client.apply_untyped(&second).field_manager("other").force().await.unwrap();
                assert_eq!(forced.spec.$field, "second");
                let conflict = client.apply_untyped(&configuration("example", "third")).field_manager("one").await.unwrap_err();
                assert!(conflict.is_conflict(), "the field has another owner now: {conflict}");
            }

            #[tokio::test]
            async fn a_patch_of_an_object_that_has_changed_is_refused() {
                require_servers!();
                let (clientset, namespace) = clientset("if-unchanged").await;
                let client = client(&clientset, &namespace);
                let read = client.create(&$sample(named("example"))).await.unwrap();
                let path = concat!("/spec/", $json);
                for locked in [
                    Patch::merge(&json!({"spec": {$json: "merged"}})),
                    Patch::json(&json!([{"op": "replace", "path": path, "value": "replaced"}])),
                ] {
                    let fresh = client.get("example").await.unwrap();
                    client.patch("example", &locked.clone().if_unchanged(&fresh)).await.unwrap();
                    let refused = client.patch("example", &locked.if_unchanged(&read)).await.unwrap_err();
                    assert!(refused.is_conflict() && refused.conflicts().is_empty(), "{refused}");
                }
                assert_eq!(client.get("example").await.unwrap().spec.$field, "replaced");
            }

            #[tokio::test]
            async fn a_dry_run_of_any_verb_changes_nothing() {
                require_servers!();
                let (clientset, namespace) = clientset("dry-run").await;
                let client = client(&clientset, &namespace);
                let before = client.create(&$sample(named("example"))).await.unwrap();

                let created = client.create(&$sample(named("new"))).dry_run().await.unwrap();
                assert!(created.uid().is_some(), "the answer is as if it had been done");
                let mut changed = before.clone();
                changed.spec.$field = "changed".to_owned();
                let updated = client.update(&changed).dry_run().await.unwrap();
                assert_eq!(updated.spec.$field, "changed");
                let merge = Patch::merge(&json!({"spec": {$json: "merged"}}));
                assert_eq!(client.patch("example", &merge).dry_run().await.unwrap().spec.$field, "merged");
                let config = configuration("example", "applied");
                let applied = client.apply_untyped(&config).field_manager("a-test").force().dry_run().await.unwrap();
                assert_eq!(applied.spec.$field, "applied");
                client.delete("example").dry_run().await.unwrap();

                let after = client.list(&ListParams::default()).await.unwrap().items;
                assert_eq!(after, [before]);
            }

            #[tokio::test]
            async fn api_is_kubes_own_client_of_the_same_place() {
                require_servers!();
                let (clientset, namespace) = clientset("api").await;
                let client = client(&clientset, &namespace);
                let created = client.create(&$sample(named("example"))).await.unwrap();
                assert_eq!(client.api().get("example").await.unwrap(), created);
                let metadata = client.api().get_metadata("example").await.unwrap();
                assert_eq!(metadata.uid(), created.uid());
            }
        }
    };
}

verbs_of!(
    networks,
    network,
    cidr,
    "cidr",
    NetworkClient,
    |clientset: &Clientset, namespace: &str| clientset.samplecrd_v1().networks(namespace),
    AllNetworks,
    |clientset: &Clientset| clientset.samplecrd_v1().all_networks()
);
verbs_of!(
    app_services,
    app_service,
    deployment_name,
    "deploymentName",
    AppServiceClient,
    |clientset: &Clientset, namespace: &str| clientset.appcontroller_v1alpha1().app_services(namespace),
    AllAppServices,
    |clientset: &Clientset| clientset.appcontroller_v1alpha1().all_app_services()
);
