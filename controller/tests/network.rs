//! The controller of Networks on an API server in memory, with networks in memory, in paused time: what it writes, and
//! what it does when the server fails.

use std::time::Duration;

use genclient_fake::{Action, Fault, Server, Verb};
use genclient_runtime::{Manager, ObjectMeta};
use samplecrd_apis::samplecrd::v1::{Network, NetworkSpec};
use samplecrd_client::{clientset::typed::samplecrd::v1::NetworkClient, fake::Clientset};
use samplecrd_controller::{
    Controller, FINALIZER, Options, RunError,
    provider::{Desired, Memory},
};
use tokio::{sync::oneshot, task::JoinHandle};

/// A network with this range, whose gateway is its first address.
fn network(cidr: &str, gateway: &str) -> Network {
    Network {
        metadata: ObjectMeta { name: Some("example".to_owned()), ..ObjectMeta::default() },
        spec: NetworkSpec { cidr: cidr.to_owned(), gateway: gateway.to_owned() },
    }
}

/// A controller that runs.
struct Running {
    fake: Clientset,
    networks: NetworkClient,
    memory: Memory,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), RunError>>,
}

impl Running {
    async fn new(finalizer: bool) -> Self {
        let fake = Clientset::new();
        let memory = Memory::default();
        let manager = Manager::builder("test").build(fake.client().clone()).unwrap();
        let options = Options {
            finalizer,
            drift_interval: Duration::from_secs(300),
            namespaces: Vec::new(),
            allow_mass_deletion: false,
        };
        let controller = Controller::new(&manager, memory.clone(), options).unwrap();
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(controller.run(2, async { stopped.await.unwrap_or_default() }));
        manager.factory().wait_for_cache_sync(Duration::from_secs(60)).await.unwrap();
        let networks = fake.samplecrd_v1().networks("default");
        Self { fake, networks, memory, stop, task }
    }

    /// Waits until the controller has nothing more to do.
    async fn settle(&self) {
        tokio::time::sleep(Duration::from_secs(60)).await;
    }

    /// The networks in memory.
    fn held(&self) -> Vec<Desired> {
        self.memory.networks().into_values().collect()
    }

    /// What was written to Networks since the last time, one line for each request.
    fn written(&self) -> Vec<String> {
        let actions = self.fake.actions().writes().of("networks");
        actions.iter().map(|action| action.to_string().replace("samplecrd.k8s.io/v1 ", "")).collect()
    }

    /// The reasons of the events.
    fn reasons(&self) -> Vec<String> {
        let reason = |action: &Action| action.body()?["reason"].as_str().map(str::to_owned);
        self.fake.actions().of("events").iter().filter_map(reason).collect()
    }

    /// Ends the controller, which has to end in order.
    async fn stop(self) {
        self.stop.send(()).unwrap();
        self.task.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_network_is_created_changed_and_deleted_with_its_object() {
    let running = Running::new(true).await;
    running.networks.create(&network("10.0.0.0/24", "10.0.0.1")).await.unwrap();
    running.settle().await;
    assert_eq!(running.held(), [Desired::parse("10.0.0.0/24", "10.0.0.1").unwrap()]);
    // The cache may not show the finalizer yet when the object is looked at again, and then it is added once more.
    let mut written = running.written();
    written.dedup();
    assert_eq!(written, ["create networks default/", "merge-patch networks default/example"]);
    let stored = running.networks.get("example").await.unwrap();
    assert_eq!(stored.metadata.finalizers.as_deref(), Some(&[FINALIZER.to_owned()][..]));

    running.fake.clear_actions();
    let changed = Network { metadata: stored.metadata, ..network("10.0.1.0/24", "10.0.1.1") };
    running.networks.update(&changed).await.unwrap();
    running.settle().await;
    assert_eq!(running.held(), [Desired::parse("10.0.1.0/24", "10.0.1.1").unwrap()]);
    assert_eq!(running.written(), ["update networks default/example"], "the controller writes nothing");
    assert_eq!(running.reasons(), ["Synced"]);

    running.fake.clear_actions();
    running.networks.delete("example").await.unwrap();
    assert_eq!(running.held().len(), 1, "the finalizer keeps the object and its network");
    running.settle().await;
    assert_eq!(running.held(), []);
    // The cache may show the object once more, which is not found then.
    let mut written = running.written();
    written.dedup();
    assert_eq!(written, ["delete networks default/example", "merge-patch networks default/example"]);
    assert!(running.networks.get("example").await.unwrap_err().is_not_found());
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn without_a_finalizer_the_network_goes_after_its_object() {
    let running = Running::new(false).await;
    running.networks.create(&network("10.0.0.0/24", "10.0.0.1")).await.unwrap();
    running.settle().await;
    running.networks.delete("example").await.unwrap();
    running.settle().await;
    assert_eq!(running.held(), []);
    assert_eq!(running.written(), ["create networks default/", "delete networks default/example"]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_bad_spec_is_reported_once_and_changes_nothing_until_it_is_mended() {
    let running = Running::new(true).await;
    // Most mistakes are refused by the rules of the CRD, but not this one: the gateway is the broadcast address.
    let refused = running.networks.create(&network("10.0.0.0/99", "10.0.0.1")).await.unwrap_err();
    assert!(refused.is_invalid(), "{refused}");
    running.fake.clear_actions();
    running.networks.create(&network("10.0.0.0/24", "10.0.0.255")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(running.held(), []);
    assert_eq!(running.written(), ["create networks default/"], "not even a finalizer");
    assert_eq!(running.reasons(), ["GatewayIsBroadcastAddress"]);
    let stored = running.networks.get("example").await.unwrap();
    let mended = Network { metadata: stored.metadata, ..network("10.0.0.0/24", "10.0.0.1") };
    running.networks.update(&mended).await.unwrap();
    running.settle().await;
    assert_eq!(running.held().len(), 1);
    running.stop().await;
}

/// Whether the object has a finalizer on the server, read without a request.
fn has_finalizer(server: &Server) -> bool {
    let path = "/apis/samplecrd.k8s.io/v1/namespaces/default/networks/example";
    let request = http::Request::get(path).body(bytes::Bytes::new()).unwrap();
    let stored: Network = serde_json::from_slice(server.respond(request).body().bytes().unwrap()).unwrap();
    stored.metadata.finalizers.is_some_and(|finalizers| finalizers.contains(&FINALIZER.to_owned()))
}

#[tokio::test(start_paused = true)]
async fn no_network_is_created_before_its_finalizer_is_written() {
    let running = Running::new(true).await;
    let server = running.fake.server();
    let faults =
        [Fault::conflict(), Fault::internal_error("no"), Fault::too_many_requests(Duration::from_secs(7))];
    for (number, fault) in faults.into_iter().enumerate() {
        server.on(Verb::Patch, "networks").nth(number + 1).fail(fault);
    }
    server.on(Verb::Patch, "networks").nth(4).drop_connection();
    let memory = running.memory.clone();
    let checked = server.on(Verb::Patch, "networks").then(move |server, _| {
        assert!(has_finalizer(server) || memory.networks().is_empty(), "a network without a finalizer");
    });
    running.networks.create(&network("10.0.0.0/24", "10.0.0.1")).await.unwrap();
    running.settle().await;
    assert!(checked.seen() >= 5, "four attempts failed");
    assert!(has_finalizer(server));
    assert_eq!(running.held().len(), 1);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_is_missed_while_the_watch_is_down_deletes_the_network_too() {
    let running = Running::new(false).await;
    running.networks.create(&network("10.0.0.0/24", "10.0.0.1")).await.unwrap();
    running.settle().await;
    assert_eq!(running.held().len(), 1);
    let server = running.fake.server();
    server.on(Verb::Watch, "networks").times(6).fail(Fault::unavailable());
    assert_eq!(server.cut_watches("networks"), 2, "of the objects, and of their metadata");
    running.networks.delete("example").await.unwrap();
    server.compact();
    tokio::time::sleep(Duration::from_secs(900)).await;
    assert_eq!(running.held(), [], "the sweep found it");
    running.stop().await;
}
