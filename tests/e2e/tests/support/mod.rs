//! What the end-to-end tests have in common: a cluster with the generated definitions, a namespace
//! for each test, and sample objects.

#![allow(dead_code, reason = "each test program uses its own part")]

mod faults;
mod tap;

use std::time::Duration;

use genclient_runtime::{
    Client, ObjectMeta,
    kube::{Api, api::PostParams},
};
use genclient_testenv::TestEnv;
use k8s_openapi::api::core::v1::Namespace;
use samplecrd_apis::{
    appcontroller::v1alpha1::{AppService, AppServiceSpec},
    samplecrd::v1::{Network, NetworkSpec},
};
use samplecrd_client::clientset::Clientset;
use tokio::sync::OnceCell;

pub use faults::faulty_cluster;
pub use tap::Tap;

/// Long after anything should have happened, also on a machine that is busy with other things.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The folder of the generated definitions.
pub const CRDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../generated/samplecrd/crds");

/// The definitions' names, as kubectl has them.
pub const CRD_NAMES: [&str; 2] = ["crd/networks.samplecrd.k8s.io", "crd/appservices.appcontroller.k8s.io"];

/// The cluster that the tests of this program share, with the generated definitions installed.
pub async fn cluster() -> &'static TestEnv {
    static INSTALLED: OnceCell<()> = OnceCell::const_new();
    let env = TestEnv::shared().await.expect("the control plane starts");
    INSTALLED.get_or_init(|| install_crds(env)).await;
    env
}

/// A clientset of the shared cluster, and a namespace in it that no other test uses.
pub async fn clientset(prefix: &str) -> (Clientset, String) {
    let client = cluster().await.client().expect("the administrator has a client");
    let namespace = namespace(&client, prefix).await;
    (Clientset::new(client), namespace)
}

/// The generated definitions without their rules: to a client any text is a range.
pub fn crds_without_rules() -> String {
    let mut text = String::new();
    for name in CRD_NAMES {
        let file = format!("{CRDS}/{}.yaml", name.trim_start_matches("crd/"));
        let manifest = std::fs::read_to_string(file).expect("the definition is there");
        let mut rules = None;
        text.push_str("---\n");
        for line in manifest.lines() {
            let indent = line.len() - line.trim_start().len();
            // The entries of a list are as deep as its name, or deeper.
            if rules.is_some_and(|rules| indent > rules || indent == rules && line.trim().starts_with("- ")) {
                continue;
            }
            rules = (line.trim() == "x-kubernetes-validations:").then_some(indent);
            if rules.is_none() && !line.trim().starts_with("maxLength:") {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    text
}

/// Installs the generated definitions without their rules, or brings them back to that, and waits until
/// the server serves them.
pub async fn install_crds(env: &TestEnv) {
    env.kubectl_with_input(
        &["apply", "--server-side", "--force-conflicts", "-f", "-"],
        &crds_without_rules(),
    )
    .await
    .expect("the server accepts the definitions");
    env.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", CRD_NAMES[0], CRD_NAMES[1]])
        .await
        .expect("the definitions are established");
    // The condition is written a moment before the resources are served.
    let clientset = Clientset::new(env.client().expect("the administrator has a client"));
    eventually("both kinds are served", async || {
        let all = Default::default();
        clientset.samplecrd_v1().all_networks().list(&all).await.is_ok()
            && clientset.appcontroller_v1alpha1().all_app_services().list(&all).await.is_ok()
    })
    .await;
}

/// A new namespace.
pub async fn namespace(client: &Client, prefix: &str) -> String {
    let metadata = ObjectMeta { generate_name: Some(format!("{prefix}-")), ..ObjectMeta::default() };
    let namespace = Namespace { metadata, ..Namespace::default() };
    let created = Api::all(client.clone()).create(&PostParams::default(), &namespace).await;
    created.expect("a namespace is created").metadata.name.expect("the server gives it a name")
}

/// Asks again and again until the answer is yes; gives up long after it should have been.
pub async fn eventually<F>(what: &str, mut holds: impl FnMut() -> F)
where
    F: Future<Output = bool>,
{
    let poll = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, poll).await;
    assert!(in_time.is_ok(), "it did not happen within {PATIENCE:?} that {what}");
}

/// Waits for something that must happen.
pub async fn in_time<T>(what: &str, future: impl Future<Output = T>) -> T {
    let outcome = tokio::time::timeout(PATIENCE, future).await;
    outcome.unwrap_or_else(|_| panic!("it did not happen within {PATIENCE:?}: {what}"))
}

/// Metadata with a name.
pub fn named(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() }
}

/// Metadata with a name and a label.
pub fn labelled(name: &str, key: &str, value: &str) -> ObjectMeta {
    ObjectMeta { labels: Some([(key.to_owned(), value.to_owned())].into()), ..named(name) }
}

/// A network.
pub fn network(metadata: ObjectMeta) -> Network {
    Network {
        metadata,
        spec: NetworkSpec { cidr: "192.168.0.0/16".to_owned(), gateway: "192.168.0.1".to_owned() },
    }
}

/// An application.
pub fn app_service(metadata: ObjectMeta) -> AppService {
    AppService {
        metadata,
        spec: AppServiceSpec { deployment_name: "web".to_owned(), replicas: Some(2), image: None },
        status: None,
    }
}
