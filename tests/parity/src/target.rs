//! The servers that scenarios run on.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use genclient_tally::Tally;
use genclient_testenv::{Builder, Error, TestEnv};
use http::{Response, header::USER_AGENT};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::{
    kinds,
    scenario::{self, Request},
};

/// A server, with the shared custom resources installed.
#[derive(Clone)]
pub struct Target {
    /// The name in reports.
    pub name: &'static str,
    /// What it answered to scenarios.
    pub answers: Arc<Tally>,
    server: Server,
    client: kube::Client,
}

#[derive(Clone)]
enum Server {
    Real(&'static TestEnv),
    Fake(genclient_fake::Server),
}

/// The name that fields are managed by when a request does not name a manager.
pub const MANAGER: &str = "parity";

impl Target {
    /// The real server that all tests of this process share.
    pub async fn real(name: &'static str) -> Self {
        let env = control_plane().await.expect("the control plane starts");
        Self::on(name, env).await
    }

    /// A real server that answers from etcd alone, and so forgets what is compacted at once.
    pub async fn real_without_cache() -> Self {
        let builder = builder().apiserver_arg("--watch-cache=false").without_controller_manager();
        let env = builder.start().await.expect("the control plane starts");
        // It must outlive the client, and ends with the process.
        Self::on("real", Box::leak(Box::new(env))).await
    }

    async fn on(name: &'static str, env: &'static TestEnv) -> Self {
        let mut config = env.config();
        // A retry hides an answer.
        config.default_retry = false;
        let client = kube::Client::try_from(config).expect("the configuration makes a client");
        Self { name, answers: Arc::default(), server: Server::Real(env), client }.prepared().await
    }

    /// A new fake.
    pub async fn fake() -> Self {
        let server = genclient_fake::Server::new();
        let client = server.client();
        Self { name: "fake", answers: Arc::default(), server: Server::Fake(server), client }.prepared().await
    }

    async fn prepared(self) -> Self {
        kinds::install(&self).await;
        self
    }

    /// Makes the server forget all versions but the current ones.
    pub async fn compact(&self) {
        match &self.server {
            Server::Real(env) => {
                env.compact_etcd().await.expect("etcd is compacted");
            }
            Server::Fake(server) => server.compact(),
        }
    }

    /// Sends a request.
    pub async fn send(&self, request: &Request, body: Vec<u8>) -> Result<Response<Body>, String> {
        let mut builder = http::Request::builder().method(request.method).uri(&request.path);
        for (name, value) in &request.headers {
            builder = builder.header(*name, value);
        }
        if !request.headers.iter().any(|(name, _)| *name == "user-agent") {
            builder = builder.header(USER_AGENT, format!("{MANAGER}/1.0"));
        }
        let request = builder.body(Body::from(body)).map_err(|error| error.to_string())?;
        self.client.send(request).await.map_err(|error| error.to_string())
    }

    /// Creates a namespace with a name that no other run of a scenario has, and returns the name.
    pub async fn unique(&self) -> String {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        // As many digits for every run, so that no message and no table differs by its length.
        let id = format!("p{:06}", NEXT.fetch_add(1, Ordering::Relaxed));
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": id}});
        let answer = self.ask(scenario::create("/api/v1/namespaces", namespace)).await;
        assert_eq!(answer["status"], 201, "the namespace of a scenario is created: {answer:#}");
        id
    }

    /// Sends one request as it is, and returns the answer as it came.
    pub async fn ask(&self, step: scenario::Step) -> Value {
        let mut run = crate::run::Run::new(self, String::new());
        run.step(&step).await
    }
}

/// The control plane of all tests of this process.
///
/// It has the controllers whose work the fake does as well, and no others: garbage collection and the removal of
/// a namespace's content. Otherwise Deployments would get ReplicaSets, and namespaces a ConfigMap. The controller
/// of service accounts is among them because its work shows that the controller manager is ready.
async fn control_plane() -> Result<&'static TestEnv, Error> {
    static ENV: OnceCell<TestEnv> = OnceCell::const_new();
    ENV.get_or_try_init(|| {
        builder()
            .controller_manager_arg(
                "--controllers=garbage-collector-controller,namespace-controller,serviceaccount-controller",
            )
            .start()
    })
    .await
}

fn builder() -> Builder {
    // It would wait for a service account and add a volume to every pod.
    TestEnv::builder().own_servers().apiserver_arg("--disable-admission-plugins=ServiceAccount")
}
