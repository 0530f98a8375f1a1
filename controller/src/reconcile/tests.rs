//! One key at a time, with a cache that the test fills and an API server that answers as the test says.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use bytes::Bytes;
use genclient_runtime::{
    Client,
    events::Reporter,
    informer::InformerConfig,
    kube::core::PartialObjectMetaExt,
    object::CacheObject,
    reflector::{Delta, InvalidObject, Scope, delta_queue},
};
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use samplecrd_apis::samplecrd::v1::NetworkSpec;
use serde_json::{Value, json};

use super::*;
use crate::{
    provider::{self, Applied, ErrorKind, Fenced, Listed, Memory},
    sweep::{MassDeletion, Swept},
};

/// Memory that fails when a test says so.
#[derive(Clone, Default)]
struct Flaky {
    memory: Memory,
    failure: Arc<Mutex<Option<provider::Error>>>,
    /// Networks besides those in memory.
    more: Arc<Mutex<Vec<Listed>>>,
    writes: Arc<AtomicUsize>,
}

impl Flaky {
    fn fail(&self, kind: impl Into<Option<ErrorKind>>) {
        *self.failure.lock() = kind.into().map(|kind| provider::Error::new(kind, "as the test says"));
    }

    fn check(&self) -> Result<(), provider::Error> {
        self.failure.lock().clone().map_or(Ok(()), Err)
    }

    /// The uids of the networks.
    fn uids(&self) -> Vec<String> {
        self.memory.networks().into_keys().map(|owner| owner.uid).collect()
    }

    async fn holds(&self, name: &str, uid: &str) {
        let desired = Desired::parse("10.0.0.0/24", "10.0.0.1").unwrap();
        let owner = Owner { namespace: "default".into(), name: name.into(), uid: uid.into() };
        self.memory.apply(&owner, &desired).await.unwrap();
    }
}

impl Provider for Flaky {
    async fn apply(&self, owner: &Owner, desired: &Desired) -> Result<Applied, provider::Error> {
        self.check()?;
        let applied = self.memory.apply(owner, desired).await?;
        self.writes.fetch_add(usize::from(applied.change != Change::None), SeqCst);
        Ok(applied)
    }

    async fn tidy(&self, _: &Owner) -> Result<(), provider::Error> {
        self.check()
    }

    async fn delete(&self, owner: &Owner) -> Result<(), provider::Error> {
        self.check()?;
        self.memory.delete(owner).await
    }

    async fn list(&self) -> Result<Vec<Listed>, provider::Error> {
        let mut listed = self.memory.list().await?;
        listed.extend(self.more.lock().clone());
        Ok(listed)
    }
}

struct Setup {
    reconciler: Arc<Reconciler<Flaky>>,
    provider: Flaky,
    /// Method, path and body of every request to the API server.
    requests: Arc<Mutex<Vec<(Method, String, Value)>>>,
}

impl Setup {
    async fn reconcile(&self) -> Result<Action, Error> {
        Arc::clone(&self.reconciler).reconcile(key()).await
    }

    /// The finalizers that were asked for.
    fn patches(&self) -> Vec<Value> {
        let requests = self.requests.lock();
        let patches = requests.iter().filter(|(method, ..)| *method == Method::PATCH);
        let patches = patches.filter(|(_, path, _)| path.contains("/networks/"));
        patches.map(|(_, _, body)| body["metadata"]["finalizers"].clone()).collect()
    }

    /// The reasons of the events that were recorded.
    async fn events(&self) -> Vec<String> {
        assert_eq!(self.reconciler.events.flush(Duration::from_secs(60)).await, 0);
        let requests = self.requests.lock();
        let events = requests.iter().filter(|(_, path, _)| path.contains("/events"));
        events.map(|(_, _, body)| body["reason"].as_str().unwrap_or("again").to_owned()).collect()
    }
}

fn key() -> ObjectKey {
    ObjectKey::namespaced("default", "a")
}

fn network(change: impl FnOnce(&mut Network)) -> Network {
    let metadata = ObjectMeta {
        name: Some("a".into()),
        namespace: Some("default".into()),
        uid: Some("uid-1".into()),
        resource_version: Some("7".into()),
        generation: Some(1),
        ..ObjectMeta::default()
    };
    let spec = NetworkSpec { cidr: "10.0.0.0/24".into(), gateway: "10.0.0.1".into() };
    let mut network = Network { metadata, spec };
    change(&mut network);
    network
}

/// What a test begins with.
struct World {
    /// The objects that the caches hold.
    objects: Vec<Network>,
    /// Those of them that do not decode.
    unreadable: Vec<&'static str>,
    /// The uids of objects that only the API server knows.
    unseen: Vec<&'static str>,
    /// The API server's answer to patches.
    status: u16,
    options: Options,
}

impl Default for World {
    fn default() -> Self {
        let options = Options {
            finalizer: false,
            drift_interval: Duration::from_secs(300),
            namespaces: Vec::new(),
            allow_mass_deletion: false,
        };
        Self {
            objects: vec![network(|_| {})],
            unreadable: Vec::new(),
            unseen: Vec::new(),
            status: 200,
            options,
        }
    }
}

fn with_finalizer() -> World {
    let mut world = World::default();
    world.options.finalizer = true;
    world
}

/// An informer whose cache holds this.
async fn informer<K: CacheObject>(objects: Vec<K>, invalid: Vec<InvalidObject>) -> SharedInformer<K> {
    let config = InformerConfig::new("networks");
    let informer = SharedInformer::new(config);
    let (sender, receiver) = delta_queue(8);
    let running = informer.clone();
    tokio::spawn(async move { running.run(receiver).await });
    let objects = objects.into_iter().map(Arc::new).collect();
    let resource_version = "7".to_owned();
    let list = Delta::Replace { scope: Scope::All, objects, invalid, resource_version };
    sender.send_all([list]).await.unwrap();
    informer.wait_for_sync().await;
    informer
}

async fn setup(world: World) -> Setup {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let (seen, status) = (requests.clone(), world.status);
    let mut alive: Vec<_> = world.objects.iter().map(|object| object.metadata.clone()).collect();
    alive
        .extend(world.unseen.iter().map(|uid| ObjectMeta { uid: Some((*uid).into()), ..Default::default() }));
    let items: Vec<_> = alive.into_iter().map(|meta| json!({ "metadata": meta })).collect();
    let service = tower::service_fn(move |request: Request<genclient_runtime::kube::client::Body>| {
        let (seen, items) = (seen.clone(), items.clone());
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            let body: Value = if body.is_empty() { Value::Null } else { serde_json::from_slice(&body)? };
            let path = head.uri.path().to_owned();
            let (status, answer) = match status {
                _ if path.contains("/events") => (201, body.clone()),
                _ if head.method == Method::GET => (200, json!({ "metadata": {}, "items": items })),
                200 => (200, serde_json::to_value(network(|_| {}))?),
                code => {
                    let reason = match code {
                        403 => "Forbidden",
                        404 => "NotFound",
                        _ => "Conflict",
                    };
                    let answer = json!({
                        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
                        "reason": reason, "message": reason,
                    });
                    (code, answer)
                }
            };
            seen.lock().push((head.method, path, body));
            let answer =
                Response::builder().status(status).body(Full::new(Bytes::from(answer.to_string())))?;
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(answer)
        }
    });
    let client = Client::new(service, "default");

    let metas = world.objects.iter().map(|object| object.metadata.clone().into_response_partial());
    let objects: SharedInformer<NetworkMeta> = informer(metas.collect(), Vec::new()).await;
    let (invalid, readable): (Vec<_>, Vec<_>) =
        world.objects.into_iter().partition(|object| world.unreadable.contains(&uid(&object.metadata)));
    let invalid = invalid.into_iter().map(|object| {
        let mut invalid = InvalidObject::new(ObjectKey::of(&object), "spec.cidr: not a string");
        invalid.uid = uid(&object.metadata).into();
        invalid.resource_version = "7".into();
        invalid
    });
    let informer = informer(readable, invalid.collect()).await;

    let provider = Flaky::default();
    let reconciler = Reconciler {
        client: client.clone().into(),
        by_uid: objects.add_index("uid", |object| object.metadata.uid.clone()).unwrap(),
        objects,
        networks: NetworkLister::new(informer.lister()),
        informer,
        provider: Fenced::new(provider.clone(), None),
        events: EventRecorder::new(client, Reporter::from("test")),
        options: world.options,
        condemned: Default::default(),
        reported: Default::default(),
    };
    Setup { reconciler: Arc::new(reconciler), provider, requests }
}

fn again() -> Action {
    Action::requeue(Duration::from_secs(300))
}

#[tokio::test]
async fn the_finalizer_comes_before_the_network() {
    let theirs = |network: &mut Network| network.metadata.finalizers = Some(vec!["theirs".into()]);
    let setup = setup(World { objects: vec![network(theirs)], ..with_finalizer() }).await;
    assert_eq!(setup.reconcile().await.unwrap(), again());
    assert_eq!(setup.patches(), [json!(["theirs", FINALIZER])]);
    assert_eq!(setup.provider.uids(), ["uid-1"]);
    assert_eq!(setup.events().await, ["Synced"]);
}

#[tokio::test]
async fn an_object_that_was_deleted_meanwhile_gets_no_network() {
    let setup = setup(World { status: 404, ..with_finalizer() }).await;
    assert_eq!(setup.reconcile().await.unwrap(), Action::await_change());
    assert!(setup.provider.uids().is_empty());
    assert!(setup.events().await.is_empty());
}

#[tokio::test]
async fn a_conflict_is_tried_again_soon_without_an_event() {
    let setup = setup(World { status: 409, ..with_finalizer() }).await;
    assert_eq!(setup.reconcile().await.unwrap(), Action::requeue(Duration::from_secs(1)));
    assert!(setup.provider.uids().is_empty());
    assert!(setup.events().await.is_empty());
}

#[tokio::test]
async fn what_the_api_server_forbids_is_tried_again_slowly() {
    let setup = setup(World { status: 403, ..with_finalizer() }).await;
    assert_eq!(setup.reconcile().await.unwrap(), again());
    assert!(setup.provider.uids().is_empty());
}

#[tokio::test]
async fn drift_is_repaired_without_a_request_to_the_api_server() {
    let setup = setup(World::default()).await;
    setup.reconcile().await.unwrap();
    setup.reconcile().await.unwrap();
    assert_eq!(setup.provider.writes.load(SeqCst), 1, "what is as desired is not written");
    setup.provider.memory.delete(&owner(&key(), "uid-1")).await.unwrap();
    assert_eq!(setup.reconcile().await.unwrap(), again());
    assert_eq!(setup.provider.uids(), ["uid-1"]);
    assert!(setup.patches().is_empty());
    assert_eq!(setup.events().await, ["Synced"], "once for each state of the spec");
}

#[tokio::test]
async fn a_restart_with_nothing_to_do_writes_no_event() {
    let setup = setup(World::default()).await;
    setup.provider.holds("a", "uid-1").await;
    assert_eq!(setup.reconcile().await.unwrap(), again());
    assert!(setup.events().await.is_empty());
}

#[tokio::test]
async fn a_failure_that_can_pass_is_retried_and_its_end_is_reported() {
    let setup = setup(World::default()).await;
    setup.reconcile().await.unwrap();
    setup.provider.fail(ErrorKind::Unavailable);
    assert!(matches!(setup.reconcile().await, Err(Error::Provider(_))));
    setup.provider.fail(None);
    assert_eq!(setup.reconcile().await.unwrap(), again());
    let events = setup.events().await;
    assert_eq!(events[..2], ["Synced", "ProviderUnavailable"]);
    assert_eq!(events.len(), 3, "the end of the failure is reported: {events:?}");
}

#[tokio::test]
async fn the_patience_that_the_provider_asks_for_is_kept_up_to_the_drift_interval() {
    let setup = setup(World::default()).await;
    for (asked, kept) in [(7, 7), (4000, 300)] {
        let mut busy = provider::Error::new(ErrorKind::Unavailable, "busy");
        busy.retry_after = Some(Duration::from_secs(asked));
        *setup.provider.failure.lock() = Some(busy);
        assert_eq!(setup.reconcile().await.unwrap(), Action::requeue(Duration::from_secs(kept)));
    }
}

#[tokio::test]
async fn a_refusal_is_reported_and_retried_slowly() {
    let setup = setup(World::default()).await;
    setup.provider.fail(ErrorKind::OverQuota);
    assert_eq!(setup.reconcile().await.unwrap(), again());
    assert_eq!(setup.events().await, ["QuotaExceeded"]);
}

#[tokio::test]
async fn refusals_that_differ_only_in_their_request_are_one_event() {
    let setup = setup(World::default()).await;
    for n in 0..5 {
        let mut refusal = provider::Error::new(ErrorKind::Rejected, "POST /subnets was answered with 400");
        refusal.request_id = Some(format!("req-{n}"));
        *setup.provider.failure.lock() = Some(refusal);
        assert_eq!(setup.reconcile().await.unwrap(), again());
    }
    let events = setup.events().await;
    assert_eq!(events[0], "ProviderRejected");
    assert!(events[1..].iter().all(|event| event == "again"), "{events:?}");
    let requests = setup.requests.lock();
    let (_, _, first) = requests.iter().find(|(_, path, _)| path.contains("/events")).unwrap();
    assert_eq!(first["note"], "POST /subnets was answered with 400");
    let (_, _, last) = requests.last().unwrap();
    assert_eq!(last["series"]["count"], 5, "{last}");
}

#[tokio::test]
async fn a_bad_spec_is_reported_once_and_nothing_is_written() {
    let bad = |network: &mut Network| network.spec.gateway = "10.0.1.1".into();
    let setup = setup(World { objects: vec![network(bad)], ..with_finalizer() }).await;
    for _ in 0..3 {
        assert_eq!(setup.reconcile().await.unwrap(), again(), "its network is tidied up again");
    }
    assert!(setup.patches().is_empty());
    assert_eq!(setup.events().await, ["GatewayOutsideCidr"]);
}

fn deleted(network: &mut Network) {
    network.metadata.finalizers = Some(vec![FINALIZER.into(), "theirs".into()]);
    network.metadata.deletion_timestamp = Some(serde_json::from_str("\"2026-01-01T00:00:00Z\"").unwrap());
}

#[tokio::test]
async fn an_object_on_its_way_out_keeps_its_finalizer_until_the_network_is_gone() {
    let setup = setup(World { objects: vec![network(deleted)], ..with_finalizer() }).await;
    setup.provider.holds("a", "uid-1").await;
    setup.provider.fail(ErrorKind::InUse);
    assert!(setup.reconcile().await.is_err());
    assert!(setup.patches().is_empty());
    setup.provider.fail(None);
    assert_eq!(setup.reconcile().await.unwrap(), Action::await_change());
    assert_eq!(setup.patches(), [json!(["theirs"])]);
    assert!(setup.provider.uids().is_empty());
}

#[tokio::test]
async fn an_object_that_cannot_be_read_is_finalized_by_its_metadata() {
    let world = World { objects: vec![network(deleted)], unreadable: vec!["uid-1"], ..with_finalizer() };
    let setup = setup(world).await;
    setup.provider.holds("a", "uid-1").await;
    assert_eq!(setup.reconcile().await.unwrap(), Action::await_change());
    assert_eq!(setup.patches(), [json!(["theirs"])]);
    assert!(setup.provider.uids().is_empty());
}

#[tokio::test]
async fn the_network_of_an_object_that_cannot_be_read_is_left_alone() {
    let setup = setup(World { unreadable: vec!["uid-1"], ..World::default() }).await;
    setup.provider.holds("a", "uid-1").await;
    assert_eq!(setup.reconcile().await.unwrap(), again());
    assert_eq!(setup.reconciler.sweep().await.unwrap(), Swept::Found(Default::default()));
    assert_eq!(setup.provider.uids(), ["uid-1"]);
}

#[tokio::test]
async fn absence_from_the_cache_deletes_nothing_and_a_deletion_that_was_seen_deletes_by_uid() {
    let setup = setup(World { objects: Vec::new(), ..World::default() }).await;
    for uid in ["uid-0", "uid-1"] {
        setup.provider.holds("a", uid).await;
    }
    assert_eq!(setup.reconcile().await.unwrap(), Action::await_change());
    assert_eq!(setup.provider.uids(), ["uid-0", "uid-1"]);
    setup.reconciler.condemned.add(key(), "uid-0".into());
    assert_eq!(setup.reconcile().await.unwrap(), Action::await_change());
    assert_eq!(setup.provider.uids(), ["uid-1"]);
    assert!(setup.reconciler.condemned.of(&key()).is_empty());
    assert!(setup.requests.lock().is_empty());
}

#[tokio::test]
async fn left_overs_go_before_the_spec_is_looked_at() {
    let bad = |network: &mut Network| network.spec.cidr = "ten".into();
    let setup = setup(World { objects: vec![network(bad)], ..World::default() }).await;
    setup.provider.holds("a", "uid-0").await;
    setup.reconciler.condemned.add(key(), "uid-0".into());
    assert_eq!(setup.reconcile().await.unwrap(), again());
    assert!(setup.provider.uids().is_empty());
}

#[tokio::test]
async fn a_left_over_that_something_uses_is_not_forgotten() {
    let setup = setup(World { objects: Vec::new(), ..World::default() }).await;
    setup.provider.holds("a", "uid-0").await;
    setup.reconciler.condemned.add(key(), "uid-0".into());
    setup.provider.fail(ErrorKind::InUse);
    assert!(setup.reconcile().await.is_err());
    assert_eq!(setup.reconciler.condemned.of(&key()), ["uid-0"]);
}

#[tokio::test]
async fn an_object_that_came_back_is_spared() {
    let setup = setup(World::default()).await;
    setup.provider.holds("a", "uid-1").await;
    setup.reconciler.condemned.add(key(), "uid-1".into());
    setup.reconcile().await.unwrap();
    assert_eq!(setup.provider.uids(), ["uid-1"]);
    assert!(setup.reconciler.condemned.of(&key()).is_empty());
}

/// The keys that a sweep finds.
async fn swept(setup: &Setup) -> Vec<String> {
    match setup.reconciler.sweep().await.unwrap() {
        Swept::Found(keys) => keys.into_iter().map(|key| key.name).collect(),
        Swept::Refused(refused) => panic!("{refused}"),
    }
}

#[tokio::test]
async fn a_sweep_condemns_what_no_object_has_the_uid_of_whatever_its_name() {
    let setup = setup(World { unseen: vec!["uid-9"], ..World::default() }).await;
    // The object's network under another one's name, one that an earlier object left, one of an object that
    // the cache has not seen yet.
    setup.provider.holds("b", "uid-1").await;
    setup.provider.holds("a", "uid-0").await;
    setup.provider.holds("new", "uid-9").await;
    assert_eq!(swept(&setup).await, ["a"]);
    assert_eq!(setup.reconciler.condemned.of(&key()), ["uid-0"]);
    // The term may end before the key is reconciled, and its queue with it.
    assert_eq!(swept(&setup).await, ["a"], "the next sweep finds it again");
    setup.reconcile().await.unwrap();
    assert_eq!(setup.provider.uids(), ["uid-1", "uid-9"]);
}

#[tokio::test]
async fn a_sweep_finds_the_objects_of_duplicates_whatever_their_names() {
    let setup = setup(World::default()).await;
    setup.provider.holds("a", "uid-1").await;
    assert!(swept(&setup).await.is_empty());
    let probe = owner(&ObjectKey::namespaced("default", "probe"), "uid-1");
    setup.provider.more.lock().push(Listed { owner: probe, is_empty: false });
    assert_eq!(swept(&setup).await, ["a"]);
    assert!(setup.reconciler.condemned.of(&key()).is_empty());
}

#[tokio::test]
async fn a_sweep_leaves_other_namespaces_alone() {
    let mut world = World::default();
    world.options.namespaces = vec!["other".into()];
    let setup = setup(world).await;
    setup.provider.holds("a", "uid-0").await;
    assert!(swept(&setup).await.is_empty());
}

/// A world with this many objects, each with its network, and this many networks without an object.
async fn bereft(finalizer: bool, orphans: usize, others: usize) -> Setup {
    let object = |n: usize| {
        network(|network| {
            network.metadata.name = Some(format!("here-{n}"));
            network.metadata.uid = Some(format!("here-{n}"));
        })
    };
    let mut world = World { objects: (0..others).map(object).collect(), ..World::default() };
    world.options.finalizer = finalizer;
    let setup = setup(world).await;
    for name in (0..others).map(|n| format!("here-{n}")).chain((0..orphans).map(|n| format!("gone-{n}"))) {
        setup.provider.holds(&name, &name).await;
    }
    setup
}

#[tokio::test]
async fn a_sweep_refuses_to_delete_more_than_its_limit() {
    let without_finalizer = [(5, 0, false), (6, 0, true), (6, 5, true), (6, 6, false), (500, 499, true)];
    let with_finalizer =
        [(1, 0, false), (2, 0, true), (2, 37, true), (2, 38, false), (3, 7, true), (25, 475, false)];
    let cases = without_finalizer.map(|case| (false, case)).into_iter();
    for (finalizer, (orphans, others, refused)) in cases.chain(with_finalizer.map(|case| (true, case))) {
        let setup = bereft(finalizer, orphans, others).await;
        let swept = setup.reconciler.sweep().await.unwrap();
        let expected = Swept::Refused(MassDeletion { orphans, networks: orphans + others });
        let context = format!("finalizer {finalizer}, {orphans} of {}: {swept:?}", orphans + others);
        assert_eq!(swept == expected, refused, "{context}");
        let gone = ObjectKey::namespaced("default", "gone-0");
        assert_eq!(setup.reconciler.condemned.of(&gone).is_empty(), refused, "{context}");
    }
}

#[tokio::test]
async fn orphans_without_a_range_do_not_count_as_a_mass_deletion() {
    let setup = bereft(true, 1, 3).await;
    for n in 0..10 {
        let owner = owner(&ObjectKey::namespaced("default", format!("half-{n}")), &format!("half-{n}"));
        setup.provider.more.lock().push(Listed { owner, is_empty: true });
    }
    assert_eq!(swept(&setup).await.len(), 11);
}

#[tokio::test]
async fn deletions_that_were_seen_are_no_mass_deletion() {
    let setup = setup(World { objects: Vec::new(), ..World::default() }).await;
    for n in 0..20 {
        let name = format!("gone-{n}");
        setup.provider.holds(&name, &name).await;
        setup.reconciler.condemned.add(ObjectKey::namespaced("default", &name), name);
    }
    setup.provider.holds("a", "uid-0").await;
    let found = swept(&setup).await;
    assert_eq!((found.len(), &*found[0]), (21, "a"), "the orphan, and those that are condemned already");
}

#[tokio::test]
async fn a_mass_deletion_that_is_allowed_is_carried_out() {
    let mut world = World { objects: Vec::new(), ..World::default() };
    world.options.allow_mass_deletion = true;
    let setup = setup(world).await;
    for n in 0..20 {
        setup.provider.holds(&format!("gone-{n}"), &format!("gone-{n}")).await;
    }
    assert_eq!(swept(&setup).await.len(), 20);
}
