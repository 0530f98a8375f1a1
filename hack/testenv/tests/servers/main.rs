//! The test environment does what it promises, shown on the real servers.

mod faults;
mod kubernetes;
mod leftovers;
mod openstack;
mod skipping;

use std::time::Duration;

use kube::{Api, Client, Resource, api::PostParams};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Asks again and again until the answer is yes; gives up, with a message, long after it should have been.
async fn eventually<F>(what: &str, mut holds: impl FnMut() -> F)
where
    F: Future<Output = bool>,
{
    let poll = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(60), poll).await;
    assert!(in_time.is_ok(), "it did not happen within a minute that {what}");
}

/// An object from JSON, which is shorter than the types and reads like a manifest.
fn object<K: DeserializeOwned>(json: Value) -> K {
    serde_json::from_value(json).expect("the JSON in the test fits the type")
}

async fn create<K>(api: &Api<K>, json: Value) -> K
where
    K: Resource + Clone + std::fmt::Debug + serde::Serialize + DeserializeOwned,
{
    api.create(&PostParams::default(), &object(json)).await.expect("the API server takes the object")
}

/// A namespace that no other test uses, once pods can be created in it.
async fn namespace(client: &Client, prefix: &str) -> String {
    use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
    let namespaces = Api::<Namespace>::all(client.clone());
    let created = create(&namespaces, json!({"metadata": {"generateName": format!("{prefix}-")}})).await;
    let name = created.metadata.name.expect("the server has given it a name");
    let accounts = Api::<ServiceAccount>::namespaced(client.clone(), &name);
    eventually("a namespace gets its service account", async || {
        accounts.get_opt("default").await.is_ok_and(|account| account.is_some())
    })
    .await;
    name
}
