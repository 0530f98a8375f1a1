//! One key at a time, with a cache that the test fills and an API server that answers as the test says.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use bytes::Bytes;
use genclient_runtime::{
    Client, ObjectMeta, SharedInformer,
    events::Reporter,
    informer::InformerConfig,
    reflector::{Delta, InvalidObject, Scope, delta_queue},
};
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use samplecrd_apis::samplecrd::v1::NetworkSpec;
use serde_json::Value;

use super::*;
use crate::provider::{Actual, ErrorKind, Memory};

/// Memory that can be told to fail.
#[derive(Clone, Default)]
struct Flaky {
    memory: Memory,
    failure: Arc<Mutex<Option<ErrorKind>>>,
    writes: Arc<AtomicUsize>,
}

impl Flaky {
    fn check(&self) -> Result<(), provider::Error> {
        self.failure.lock().map_or(Ok(()), |kind| Err(provider::Error::new(kind, "as the test says")))
    }
}

impl Provider for Flaky {
    async fn get(&self, owner: &Owner) -> Result<Option<Actual>, provider::Error> {
        self.check()?;
        self.memory.get(owner).await
    }

    async fn apply(&self, owner: &Owner, desired: &Desired) -> Result<Actual, provider::Error> {
        self.check()?;
        self.writes.fetch_add(1, SeqCst);
        self.memory.apply(owner, desired).await
    }

    async fn delete(&self, owner: &Owner) -> Result<(), provider::Error> {
        self.check()?;
        self.memory.delete(owner).await
    }

    async fn delete_key(&self, key: &ObjectKey) -> Result<(), provider::Error> {
        self.check()?;
        self.memory.delete_key(key).await
    }

    async fn owners(&self) -> Result<Vec<Owner>, provider::Error> {
        self.memory.owners().await
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
        let patches = requests.iter().filter(|(_, path, _)| path.contains("/networks/"));
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

/// A reconciler with these objects in its cache; `status` is the API server's answer to patches.
async fn setup(objects: Vec<Network>, status: u16, finalizer: bool) -> Setup {
    setup_with(objects, Vec::new(), status, finalizer).await
}

/// The same with objects that could not be read.
async fn setup_with(
    objects: Vec<Network>,
    invalid: Vec<InvalidObject>,
    status: u16,
    finalizer: bool,
) -> Setup {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let seen = requests.clone();
    let service = tower::service_fn(move |request: Request<genclient_runtime::kube::client::Body>| {
        let seen = seen.clone();
        async move {
            let (head, body) = request.into_parts();
            let body: Value = serde_json::from_slice(&body.collect().await?.to_bytes())?;
            let path = head.uri.path().to_owned();
            let (status, answer) = match status {
                _ if path.contains("/events") => (201, body.clone()),
                200 => (200, serde_json::to_value(network(|_| {}))?),
                code => {
                    let reason = if code == 404 { "NotFound" } else { "Conflict" };
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

    let provider = Flaky::default();
    let reconciler = Reconciler {
        clientset: Clientset::new(client.clone()),
        networks: NetworkLister::new(informer.lister()),
        informer,
        provider: provider.clone(),
        events: EventRecorder::new(client, Reporter::from("test")),
        options: Options { finalizer, drift_interval: Duration::from_secs(300), namespaces: Vec::new() },
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
    let setup = setup(vec![network(theirs)], 200, true).await;
    assert_eq!(setup.reconcile().await.unwrap(), again());
    assert_eq!(setup.patches(), [json!(["theirs", FINALIZER])]);
    assert_eq!(setup.provider.memory.networks().len(), 1);
    assert_eq!(setup.events().await, ["Synced"]);
}

#[tokio::test]
async fn an_object_that_was_deleted_meanwhile_gets_no_network() {
    let setup = setup(vec![network(|_| {})], 404, true).await;
    assert_eq!(setup.reconcile().await.unwrap(), Action::await_change());
    assert!(setup.provider.memory.networks().is_empty());
    assert!(setup.events().await.is_empty());
}

#[tokio::test]
async fn a_conflict_is_tried_again_and_is_no_news() {
    let setup = setup(vec![network(|_| {})], 409, true).await;
    let error = setup.reconcile().await.unwrap_err();
    assert!(matches!(&error, Error::Api(error) if error.is_conflict()), "{error}");
    assert!(setup.provider.memory.networks().is_empty());
    assert!(setup.events().await.is_empty());
}

#[tokio::test]
async fn drift_is_repaired_without_a_request_to_the_api_server() {
    let setup = setup(vec![network(|_| {})], 200, false).await;
    setup.reconcile().await.unwrap();
    setup.reconcile().await.unwrap();
    assert_eq!(setup.provider.writes.load(SeqCst), 1, "what is as desired is not written");
    setup.provider.memory.delete_key(&key()).await.unwrap();
    assert_eq!(setup.reconcile().await.unwrap(), again());
    assert_eq!(setup.provider.memory.networks().len(), 1);
    assert!(setup.patches().is_empty());
    assert_eq!(setup.events().await, ["Synced"], "once for each state of the spec");
}

#[tokio::test]
async fn a_failure_that_can_pass_is_retried_and_its_end_is_told() {
    let setup = setup(vec![network(|_| {})], 200, false).await;
    setup.reconcile().await.unwrap();
    *setup.provider.failure.lock() = Some(ErrorKind::Unavailable);
    assert!(matches!(setup.reconcile().await, Err(Error::Provider(_))));
    *setup.provider.failure.lock() = None;
    assert_eq!(setup.reconcile().await.unwrap(), again());
    let events = setup.events().await;
    assert_eq!(events[..2], ["Synced", "ProviderUnavailable"]);
    assert_eq!(events.len(), 3, "that it is well again is news: {events:?}");
}

#[tokio::test]
async fn a_refusal_is_told_and_looked_at_slowly() {
    let setup = setup(vec![network(|_| {})], 200, false).await;
    *setup.provider.failure.lock() = Some(ErrorKind::OverQuota);
    assert_eq!(setup.reconcile().await.unwrap(), again());
    assert_eq!(setup.events().await, ["QuotaExceeded"]);
}

#[tokio::test]
async fn a_bad_spec_is_told_and_waited_for_before_anything_is_written() {
    let bad = |network: &mut Network| network.spec.gateway = "10.0.1.1".into();
    let setup = setup(vec![network(bad)], 200, true).await;
    assert_eq!(setup.reconcile().await.unwrap(), Action::await_change());
    assert!(setup.patches().is_empty());
    assert_eq!(setup.events().await, ["InvalidSpec"]);
}

#[tokio::test]
async fn an_object_on_its_way_out_keeps_its_finalizer_until_the_network_is_gone() {
    let deleted = |network: &mut Network| {
        network.metadata.finalizers = Some(vec![FINALIZER.into(), "theirs".into()]);
        network.metadata.deletion_timestamp = Some(serde_json::from_str("\"2026-01-01T00:00:00Z\"").unwrap());
    };
    let setup = setup(vec![network(deleted)], 200, true).await;
    let desired = Desired::parse("10.0.0.0/24", "10.0.0.1").unwrap();
    let owner = Owner { namespace: "default".into(), name: "a".into(), uid: "uid-1".into() };
    setup.provider.memory.insert(&owner, desired);
    *setup.provider.failure.lock() = Some(ErrorKind::InUse);
    assert!(setup.reconcile().await.is_err());
    assert!(setup.patches().is_empty());
    *setup.provider.failure.lock() = None;
    assert_eq!(setup.reconcile().await.unwrap(), Action::await_change());
    assert_eq!(setup.patches(), [json!(["theirs"])]);
    assert!(setup.provider.memory.networks().is_empty());
}

#[tokio::test]
async fn what_is_not_in_the_cache_is_deleted_by_its_key() {
    let setup = setup(Vec::new(), 200, true).await;
    let desired = Desired::parse("10.0.0.0/24", "10.0.0.1").unwrap();
    let owner = Owner { namespace: "default".into(), name: "a".into(), uid: "uid-0".into() };
    setup.provider.memory.insert(&owner, desired);
    assert_eq!(setup.reconcile().await.unwrap(), Action::await_change());
    assert!(setup.provider.memory.networks().is_empty());
    assert!(setup.requests.lock().is_empty());
}

#[tokio::test]
async fn the_network_of_an_object_that_cannot_be_read_is_left_alone() {
    let unreadable = InvalidObject {
        key: key(),
        uid: "uid-1".into(),
        resource_version: "7".into(),
        error: "spec.cidr: not a string".into(),
    };
    let setup = setup_with(Vec::new(), vec![unreadable], 200, false).await;
    let desired = Desired::parse("10.0.0.0/24", "10.0.0.1").unwrap();
    let owner = Owner { namespace: "default".into(), name: "a".into(), uid: "uid-1".into() };
    setup.provider.memory.insert(&owner, desired);
    assert_eq!(setup.reconcile().await.unwrap(), Action::await_change());
    assert_eq!(setup.provider.memory.networks().len(), 1);
}
