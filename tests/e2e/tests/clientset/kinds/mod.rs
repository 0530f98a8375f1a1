//! The generated client of Kubernetes' own kinds: some of each shape, and with the feature `every-kind` every kind
//! that the server serves. The compiler needs minutes for all of them, so `hack/test.sh --long` has that feature.
//!
//! The server has all its APIs enabled, those that are not stable too.

mod discovery;
mod schemas;
mod subresources;
mod table;

use std::{pin::Pin, time::Duration};

use futures::StreamExt as _;
use genclient_runtime::{
    Patch, SharedInformer,
    client::{Delete, Get, List, PatchRequest, WatchEvent, WatchStream, Write},
    kube::{ResourceExt as _, core::ObjectList},
    object::Watched,
};
use genclient_testenv::{TestEnv, require_servers};
use k8s_openapi::api::core::v1::ServiceAccount;
use kubernetes_client::{clientset::Clientset, informers::SharedInformerFactory};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::support::{PATIENCE, eventually, in_time, named, namespace};

/// The smallest valid object of each kind.
const FIXTURES: &str = include_str!("fixtures.yaml");

/// How many kinds are tested at once.
const AT_ONCE: usize = 8;

/// The control plane that serves everything it knows.
async fn cluster() -> &'static TestEnv {
    static CLUSTER: OnceCell<TestEnv> = OnceCell::const_new();
    let start = || {
        let builder = TestEnv::builder().own_servers().without_controller_manager();
        let builder = builder.apiserver_arg("--runtime-config=api/all=true");
        builder.apiserver_arg("--feature-gates=AllAlpha=true,AllBeta=true").start()
    };
    CLUSTER.get_or_try_init(start).await.expect("the control plane starts")
}

/// A clientset, and a namespace with the service account that a pod needs.
async fn clientset(prefix: &str) -> (Clientset, String) {
    let client = cluster().await.client().expect("the administrator has a client");
    let namespace = namespace(&client, prefix).await;
    let clientset = Clientset::new(client);
    let account = ServiceAccount { metadata: named("default"), ..ServiceAccount::default() };
    let accounts = clientset.core_v1().service_accounts(&namespace);
    accounts.create(&account).await.expect("a service account is created");
    (clientset, namespace)
}

/// What the test needs of a generated client.
trait Writes {
    type Kind;

    fn create(&self, object: &Self::Kind) -> Write<Self::Kind>;
    fn get(&self, name: &str) -> Get<Self::Kind>;
    fn patch(&self, name: &str, patch: &Patch) -> PatchRequest<Self::Kind>;
    fn delete(&self, name: &str) -> Delete<Self::Kind>;
}

/// How the test of one kind ended.
type Outcome = Result<bool, String>;

/// A kind, and the test that uses its generated code.
struct Kind {
    api_version: &'static str,
    kind: &'static str,
    plural: &'static str,
    test: fn(Test) -> Pin<Box<dyn Future<Output = Outcome> + Send>>,
}

impl Kind {
    fn of<K: k8s_openapi::Resource>(test: fn(Test) -> Pin<Box<dyn Future<Output = Outcome> + Send>>) -> Self {
        Self { api_version: K::API_VERSION, kind: K::KIND, plural: K::URL_PATH_SEGMENT, test }
    }

    fn name(&self) -> String {
        format!("{} {}", self.api_version, self.kind)
    }
}

/// What the test of one kind has at hand.
struct Test {
    clientset: Clientset,
    factory: SharedInformerFactory,
    namespace: String,
    /// The object to write, if there is one.
    fixture: Option<Value>,
}

impl Test {
    /// Lists, watches, syncs an informer and, with a fixture, writes; says whether it wrote.
    async fn check<K, C>(
        &self,
        list: List<ObjectList<K>>,
        mut watch: WatchStream<K>,
        informer: SharedInformer<K>,
        client: &C,
    ) -> Outcome
    where
        K: Watched + DeserializeOwned + Clone + genclient_runtime::kube::Resource<DynamicType = ()>,
        C: Writes<Kind = K>,
    {
        self.factory.start();
        list.await.map_err(|error| format!("list: {error}"))?;
        let synced = tokio::time::timeout(PATIENCE, informer.wait_for_sync()).await;
        if synced != Ok(true) {
            return Err("the informer did not sync".to_owned());
        }
        let Some(fixture) = self.fixture.clone() else {
            // An empty watch is silent; what is wrong with one shows at once.
            return match tokio::time::timeout(Duration::from_millis(500), watch.next()).await {
                Ok(Some(Err(error))) => Err(format!("watch: {error}")),
                Ok(None) => Err("the watch ended".to_owned()),
                Ok(Some(Ok(_))) | Err(_) => Ok(false),
            };
        };
        let object: K = serde_json::from_value(fixture).map_err(|error| format!("fixture: {error}"))?;
        let name = object.name_any();
        client.create(&object).await.map_err(|error| format!("create: {error}"))?;
        client.get(&name).await.map_err(|error| format!("get: {error}"))?;
        let patch = Patch::merge(&json!({ "metadata": { "labels": { "genclient": "sample" } } }));
        let patched = client.patch(&name, &patch).await.map_err(|error| format!("patch: {error}"))?;
        let labelled = |object: &K| object.name_any() == name && object.labels().contains_key("genclient");
        if !labelled(&patched) {
            return Err("the patch was not answered with the label".to_owned());
        }
        let seen = async {
            while let Some(event) = watch.next().await {
                match event {
                    Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) if labelled(&object) => {
                        return Ok(());
                    }
                    Ok(WatchEvent::Invalid(invalid)) => return Err(format!("watch: {invalid:?}")),
                    Ok(_) => {}
                    Err(error) => return Err(format!("watch: {error}")),
                }
            }
            Err("the watch ended".to_owned())
        };
        tokio::time::timeout(PATIENCE, seen).await.map_err(|_| "the watch did not tell of the object")??;
        eventually("the informer has the object", async || {
            informer.store().snapshot().iter().any(|object| labelled(object))
        })
        .await;
        client.delete(&name).await.map_err(|error| format!("delete: {error}"))?;
        Ok(true)
    }
}

/// The fixture of a kind in a namespace.
fn fixture(api_version: &str, kind: &str, namespace: &str) -> Option<Value> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(&FIXTURES.replace("$NAMESPACE", namespace))
        .expect("the fixtures are YAML");
    documents.into_iter().find(|document| document["apiVersion"] == api_version && document["kind"] == kind)
}

#[test]
#[cfg(feature = "every-kind")]
fn the_table_has_every_kind_of_the_generated_client() {
    use genclient_runtime::scheme::KnownObject as _;
    let listed: std::collections::BTreeSet<String> = table::kinds().iter().map(Kind::name).collect();
    let known: std::collections::BTreeSet<String> = kubernetes_client::clientset::scheme::Object::KNOWN_TYPES
        .iter()
        .map(|known| format!("{} {}", known.api_version, known.kind))
        .collect();
    assert!(listed.is_subset(&known), "{:?}", listed.difference(&known));
    let others: Vec<_> = known.difference(&listed).map(String::as_str).collect();
    assert_eq!(
        others,
        [
            "authentication.k8s.io/v1 SelfSubjectReview",
            "authentication.k8s.io/v1 TokenReview",
            "authorization.k8s.io/v1 LocalSubjectAccessReview",
            "authorization.k8s.io/v1 SelfSubjectAccessReview",
            "authorization.k8s.io/v1 SelfSubjectRulesReview",
            "authorization.k8s.io/v1 SubjectAccessReview",
            "v1 Binding",
            "v1 ComponentStatus",
        ],
        "these have tests of their own"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_that_the_server_serves_is_listed_watched_cached_and_written() {
    require_servers!(ControlPlane);
    let (clientset, namespace) = clientset("kinds").await;
    let served = discovery::resources(clientset.client()).await;
    let factory = SharedInformerFactory::builder(clientset.clone()).build();
    let (present, absent): (Vec<_>, Vec<_>) = table::kinds().into_iter().partition(|kind| {
        served.iter().any(|served| served.api_version == kind.api_version && served.name == kind.plural)
    });
    let outcomes = futures::stream::iter(&present).map(|kind| {
        let test = Test {
            clientset: clientset.clone(),
            factory: factory.clone(),
            namespace: namespace.clone(),
            fixture: fixture(kind.api_version, kind.kind, &namespace),
        };
        let outcome = tokio::spawn((kind.test)(test));
        async move { (kind.name(), outcome.await.unwrap_or_else(|error| Err(error.to_string()))) }
    });
    let outcomes: Vec<(String, Outcome)> =
        in_time("every kind is tested", outcomes.buffered(AT_ONCE).collect()).await;
    factory.shutdown().await;
    let with = |wanted: fn(&Outcome) -> bool| -> Vec<&str> {
        let names = outcomes.iter().filter(|(_, outcome)| wanted(outcome));
        names.map(|(name, _)| name.as_str()).collect()
    };
    let (written, read) = (with(|outcome| *outcome == Ok(true)), with(|outcome| *outcome == Ok(false)));
    let absent: Vec<String> = absent.iter().map(Kind::name).collect();
    println!("written and read: {}; only read: {read:?}; not served: {absent:?}", written.len());
    let failed: Vec<_> = outcomes.iter().filter(|(_, outcome)| outcome.is_err()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let floor = if cfg!(feature = "every-kind") { 75 } else { 14 };
    assert!(written.len() >= floor, "most kinds have a fixture: {}", written.len());
}

#[tokio::test]
async fn a_kind_that_cannot_be_watched_is_read() {
    require_servers!(ControlPlane);
    let (clientset, _) = clientset("kinds-read").await;
    let found = clientset.core_v1().component_statuses().list(&Default::default()).await;
    assert!(found.is_ok_and(|list: ObjectList<_>| !list.items.is_empty()));
}
