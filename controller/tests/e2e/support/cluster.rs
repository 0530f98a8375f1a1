//! A namespace in a cluster that knows the Network resource.

use std::{path::PathBuf, sync::atomic::AtomicUsize, sync::atomic::Ordering::SeqCst};

use genclient_runtime::{Api, Client, ListParams, ObjectMeta, Patch, k8s_openapi::api::core::v1::Event};
use genclient_testenv::TestEnv;
use samplecrd_apis::samplecrd::v1::{Network, NetworkSpec};
use samplecrd_client::clientset::{Clientset, typed::samplecrd::v1::NetworkClient};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::{Controller, eventually};

/// The example of the walk-through.
pub const EXAMPLE: &str = include_str!("../../../example/example-network.yaml");

/// The file with the CRD.
pub fn crd() -> String {
    crd_of("networks.samplecrd.k8s.io")
}

/// The file with this CRD.
pub fn crd_of(name: &str) -> String {
    let file =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../generated/samplecrd/crds/{name}.yaml"));
    assert!(file.exists(), "{}", file.display());
    file.display().to_string()
}

/// A namespace of its own.
pub struct Cluster<'a> {
    pub env: &'a TestEnv,
    pub namespace: String,
    pub client: Client,
    /// The flags of its controllers.
    flags: Vec<String>,
}

impl Cluster<'static> {
    /// In the cluster that all tests share. Nothing is broken there.
    pub async fn shared(name: &str) -> Self {
        static CRD: OnceCell<()> = OnceCell::const_new();
        let env = TestEnv::shared().await.unwrap();
        CRD.get_or_init(|| async { install_crd(env).await }).await;
        Self::with_namespace(env, name).await
    }
}

impl<'a> Cluster<'a> {
    /// In a cluster of the test's own.
    pub async fn of(env: &'a TestEnv, name: &str) -> Self {
        install_crd(env).await;
        Self::with_namespace(env, name).await
    }

    /// In a cluster of the test's own that takes any text for a range and a gateway, as before there were
    /// rules.
    pub async fn without_rules(env: &'a TestEnv, name: &str) -> Self {
        let cluster = Self::of(env, name).await;
        let text = json!({ "type": "string" });
        let properties = json!({ "cidr": text, "gateway": text });
        cluster.set_spec_schema(&json!({ "type": "object", "properties": properties })).await;
        cluster
    }

    /// Replaces what the API server demands of a spec.
    pub async fn set_spec_schema(&self, schema: &Value) {
        let path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
        let patch = json!([{ "op": "replace", "path": path, "value": schema }]).to_string();
        self.env
            .kubectl(&["patch", "crd", "networks.samplecrd.k8s.io", "--type=json", "-p", &patch])
            .await
            .unwrap();
    }

    async fn with_namespace(env: &'a TestEnv, name: &str) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, SeqCst);
        let namespace = format!("{name}-{}-{number}", std::process::id());
        env.kubectl(&["create", "namespace", &namespace]).await.unwrap();
        Self { env, namespace, client: env.client().unwrap(), flags: Vec::new() }
    }

    /// Gives its controllers these flags.
    pub fn with_flags(mut self, flags: &[&str]) -> Self {
        self.flags.extend(flags.iter().copied().map(String::from));
        self
    }

    /// The uid that identifies the cluster.
    pub async fn uid(&self) -> String {
        let path = "jsonpath={.metadata.uid}";
        self.env.kubectl(&["get", "namespace", "kube-system", "-o", path]).await.unwrap()
    }

    /// The namespace's Networks.
    pub fn networks(&self) -> NetworkClient {
        Clientset::new(self.client.clone()).samplecrd_v1().networks(&self.namespace)
    }

    /// Runs the controller for this namespace only, as an installation of its own.
    pub fn controller(&self, args: &[&str]) -> Controller {
        self.controller_with(args, &[])
    }

    /// The same with variables.
    pub fn controller_with(&self, args: &[&str], variables: &[(&str, String)]) -> Controller {
        let mut all = vec!["--namespace", &self.namespace, "--installation", &self.namespace];
        all.extend(self.flags.iter().map(String::as_str));
        all.extend(args);
        Controller::start(self.env, &all, variables)
    }

    /// Runs an example for this namespace only.
    pub fn example(&self, name: &str, args: &[&str]) -> Controller {
        let mut all = vec!["--namespace", &self.namespace];
        all.extend(args);
        Controller::example(self.env, name, &all)
    }

    /// Runs kubectl in this namespace, and returns what it says.
    pub async fn kubectl(&self, args: &[&str]) -> String {
        let mut all = vec!["--namespace", &self.namespace];
        all.extend(args);
        self.env.kubectl(&all).await.unwrap()
    }

    /// Makes a Network.
    pub async fn create(&self, name: &str, cidr: &str, gateway: &str) -> Network {
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        let spec = NetworkSpec { cidr: cidr.to_owned(), gateway: gateway.to_owned() };
        self.networks().create(&Network { metadata, spec }).await.unwrap()
    }

    /// Changes a Network.
    pub async fn change(&self, name: &str, cidr: &str, gateway: &str) -> Network {
        let patch = Patch::merge(&json!({ "spec": { "cidr": cidr, "gateway": gateway } }));
        self.networks().patch(name, &patch).await.unwrap()
    }

    /// Deletes a Network, without waiting until it is gone.
    pub async fn delete(&self, name: &str) {
        self.networks().delete(name).await.unwrap();
    }

    /// Waits until there is no such Network.
    pub async fn gone(&self, name: &str) {
        let networks = self.networks();
        let gone = async || networks.get(name).await.is_err_and(|error| error.is_not_found());
        eventually(&format!("the object {name} is gone"), gone, |gone| *gone).await;
    }

    /// The events about an object of this name: type, reason, message and resource version.
    pub async fn events(&self, name: &str) -> Vec<[String; 4]> {
        let events: Api<Event> = Api::namespaced(self.client.clone(), &self.namespace);
        let params = ListParams::default().fields(&format!("involvedObject.name={name}"));
        let mut events: Vec<_> = events
            .list(&params)
            .await
            .unwrap()
            .into_iter()
            .map(|event| {
                let version = event.metadata.resource_version;
                [event.type_, event.reason, event.message, version].map(Option::unwrap_or_default)
            })
            .collect();
        events.sort();
        events
    }

    /// Waits for an event of this type and reason whose message contains the text.
    pub async fn has_event(&self, name: &str, type_: &str, reason: &str, text: &str) {
        let what = format!("{name} has the event {type_} {reason} {text:?}");
        eventually(
            &what,
            async || self.events(name).await,
            |events| {
                events.iter().any(|[t, r, message, _]| t == type_ && r == reason && message.contains(text))
            },
        )
        .await;
    }
}

async fn install_crd(env: &TestEnv) {
    for crd in [crd(), crd_of("appservices.appcontroller.k8s.io")] {
        env.kubectl(&["apply", "-f", &crd]).await.unwrap();
        env.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", "-f", &crd]).await.unwrap();
    }
}
