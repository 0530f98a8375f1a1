//! The webhook that injects a sidecar, called by the real API server.

use genclient_runtime::{
    client,
    k8s_openapi::api::{admissionregistration::v1::MutatingWebhookConfiguration, core::v1::Pod},
    kube::{Client, Config},
};
use genclient_testenv::require_servers;
use kubernetes_client::clientset::{Clientset, typed::core::v1::PodClient};
use serde_json::{Value, json};

use super::{apply, pod};
use crate::support::{Cluster, Controller, eventually};

/// The module that decides, with its own tests.
#[path = "../../../examples/sidecar_injector/inject.rs"]
mod inject;

use inject::{INJECT, INJECTED};

/// A namespace with the ConfigMap, and one whose Pods are injected.
struct Injection {
    home: Cluster<'static>,
    target: Cluster<'static>,
    /// The name of the MutatingWebhookConfiguration.
    name: String,
}

impl Injection {
    async fn new(name: &str) -> Self {
        let (home, target) = (Cluster::shared(name).await, Cluster::shared(&format!("{name}-target")).await);
        Self { name: format!("{}.samplecrd.k8s.io", home.namespace), home, target }
    }

    /// Runs the webhook for the target, and for its own namespace, which it spares.
    fn start(&self, args: &[&str]) -> Controller {
        let config_map = format!("{}/sidecar", self.home.namespace);
        let mut all = vec!["--config-map", &config_map, "--name", &self.name, "--listen", "127.0.0.1:0"];
        all.extend(["--namespace", &self.target.namespace, "--namespace", &self.home.namespace]);
        all.extend(args);
        Controller::example(self.home.env, "sidecar_injector", &all)
    }

    async fn set_template(&self, config: &str) {
        let metadata = json!({ "name": "sidecar" });
        let data = json!({ "config": config });
        let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data });
        apply(&self.home, &object).await;
    }

    fn pods(&self) -> PodClient {
        Clientset::new(self.target.client.clone()).core_v1().pods(&self.target.namespace)
    }

    /// Creates a Pod in the target.
    async fn create(&self, object: Value) -> Result<Pod, genclient_runtime::Error> {
        self.pods().create(&serde_json::from_value(object).unwrap()).await
    }

    /// Creates Pods until one is injected: the API server takes a moment to notice a new registration, and a new
    /// namespace to take Pods.
    async fn works(&self) {
        let probe = json!({ "generateName": "probe-", "annotations": { INJECT: "true" } });
        let spec = json!({ "containers": [{ "name": "main", "image": "busybox" }] });
        let probe = async || self.create(json!({ "metadata": probe, "spec": spec })).await.ok();
        eventually("a Pod is injected", probe, |pod| pod.as_ref().is_some_and(|pod| names(pod).len() == 2))
            .await;
    }

    async fn webhook(&self) -> Option<MutatingWebhookConfiguration> {
        let clientset = Clientset::new(self.home.client.clone());
        clientset.admissionregistration_v1().mutating_webhook_configurations().get(&self.name).await.ok()
    }

    /// Asks for `/readyz`, over a new connection, and trusts nothing but the registration's authority.
    async fn readiness(&self) -> Result<String, String> {
        let webhook = self.webhook().await.ok_or("it is not registered")?.webhooks.unwrap().remove(0);
        let bundle = webhook.client_config.ca_bundle.unwrap().0;
        let mut config = Config::new(webhook.client_config.url.unwrap().parse().unwrap());
        // kube would try again for a long time if it is not ready.
        config.default_retry = false;
        config.root_cert = Some(certificates_of(&bundle));
        let client: Client = client::connect(config).map_err(|error| error.to_string())?;
        let request = http::Request::get("/readyz").body(Vec::new()).unwrap();
        client.request_text(request).await.map_err(|error| error.to_string())
    }

    /// Removes the registration, which no test needs after this one.
    async fn end(self) {
        self.home.kubectl(&["delete", "mutatingwebhookconfiguration", &self.name]).await;
    }
}

/// The certificates of a PEM file, as DER.
fn certificates_of(pem: &[u8]) -> Vec<Vec<u8>> {
    use rustls::pki_types::{CertificateDer, pem::PemObject as _};
    CertificateDer::pem_slice_iter(pem).map(|certificate| certificate.unwrap().to_vec()).collect()
}

fn names(pod: &Pod) -> Vec<&str> {
    pod.spec.iter().flat_map(|spec| &spec.containers).map(|container| &*container.name).collect()
}

fn image_of_envoy(pod: &Pod) -> Option<&str> {
    let mut containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    containers.find(|container| container.name == "envoy")?.image.as_deref()
}

/// The template of the documents.
const TEMPLATE: &str = r#"
containers:
- name: envoy
  image: lyft/envoy:845747db88f102c0fd262ab234308e9e22f693a1
  command: ["/usr/local/bin/envoy"]
  args: ["--concurrency 4", "--config-path /etc/envoy/envoy.json", "--mode serve"]
  ports:
  - containerPort: 80
    protocol: TCP
  resources:
    limits: {cpu: "1000m", memory: "512Mi"}
    requests: {cpu: "100m", memory: "64Mi"}
  volumeMounts:
  - name: envoy-conf
    mountPath: /etc/envoy
volumes:
- name: envoy-conf
  configMap:
    name: envoy
"#;

#[tokio::test]
async fn new_pods_are_injected_once_unless_they_say_no() {
    require_servers!();
    let test = Injection::new("inject").await;
    test.set_template(TEMPLATE).await;
    let webhook = test.start(&[]);
    webhook.says(&["registered the webhook"]).await;
    test.works().await;
    assert_eq!(test.readiness().await.unwrap(), "ok");

    let injected = test.create(pod("plain", json!({}), json!({}))).await.unwrap();
    assert_eq!(names(&injected), ["main", "envoy"]);
    let spec = injected.spec.as_ref().unwrap();
    let envoy = &spec.containers[1];
    assert_eq!(envoy.volume_mounts.as_ref().unwrap()[0].mount_path, "/etc/envoy");
    let volumes = spec.volumes.as_ref().unwrap();
    assert_eq!(volumes.iter().filter(|volume| volume.name == "envoy-conf").count(), 1);
    assert!(injected.metadata.annotations.as_ref().unwrap().contains_key(INJECTED));

    // A copy of an injected Pod, as a backup has it.
    let mut copy = injected.clone();
    copy.metadata.name = Some("copy".to_owned());
    (copy.metadata.resource_version, copy.metadata.uid) = (None, None);
    assert_eq!(names(&test.pods().create(&copy).await.unwrap()), ["main", "envoy"]);

    let no = test.create(pod("no", json!({ INJECT: "false" }), json!({}))).await.unwrap();
    assert_eq!(names(&no), ["main"]);
    let spared = Clientset::new(test.home.client.clone()).core_v1().pods(&test.home.namespace);
    let plain = serde_json::from_value(pod("spared", json!({}), json!({}))).unwrap();
    assert_eq!(names(&spared.create(&plain).await.unwrap()), ["main"], "its own namespace is spared");

    // Who has an envoy keeps it. Who insists on the sidecar is told why not.
    let mut own = pod("own", json!({}), json!({}));
    own["spec"]["containers"][0]["name"] = json!("envoy");
    let kept = test.create(own.clone()).await.unwrap();
    assert_eq!((names(&kept), image_of_envoy(&kept)), (vec!["envoy"], Some("busybox")));
    own["metadata"] = json!({ "name": "insists", "annotations": { INJECT: "true" } });
    let refused = test.create(own).await.unwrap_err().to_string();
    assert!(refused.contains("the Pod has a container envoy of its own"), "{refused}");
    webhook.says(&["refused", "a container envoy of its own"]).await;

    webhook.stop().await;
    test.end().await;
}

#[tokio::test]
async fn a_change_of_the_config_map_is_used_at_once() {
    require_servers!();
    let test = Injection::new("inject-change").await;
    // It is not there yet.
    let webhook = test.start(&[]);
    webhook.says(&["nothing is injected", "sidecar does not exist"]).await;
    let not_ready = async || test.readiness().await.unwrap_or_else(|error| error);
    eventually("it says why it is not ready", not_ready, |text| text.contains("does not exist")).await;

    test.set_template("containers: [{name: envoy, image: 'envoy:1'}]").await;
    webhook.says(&["the template has changed"]).await;
    test.works().await;
    let first = test.create(pod("first", json!({}), json!({}))).await.unwrap();
    assert_eq!(image_of_envoy(&first), Some("envoy:1"));
    test.set_template("containers: [{name: envoy, image: 'envoy:2'}]").await;
    webhook.says_times(2, &["the template has changed"]).await;
    let second = test.create(pod("second", json!({}), json!({}))).await.unwrap();
    assert_eq!(image_of_envoy(&second), Some("envoy:2"));

    // A template that is none: nobody is injected, and who insists is told why.
    test.set_template("containers: [{name: envoy}]\nvolume: []").await;
    webhook.says(&["nothing is injected", "no valid template"]).await;
    let plain = test.create(pod("third", json!({}), json!({}))).await.unwrap();
    assert_eq!(names(&plain), ["main"]);
    let refused = test.create(pod("fourth", json!({ INJECT: "true" }), json!({}))).await.unwrap_err();
    assert!(refused.to_string().contains("no valid template"), "{refused}");
    let maybe = test.create(pod("fifth", json!({ INJECT: "perhaps" }), json!({}))).await.unwrap_err();
    assert!(maybe.to_string().contains("it must be \"true\" or \"false\""), "{maybe}");
    webhook.stop().await;
    test.end().await;
}

#[tokio::test]
async fn the_registration_is_kept_and_pods_are_created_while_the_webhook_is_down() {
    require_servers!();
    let test = Injection::new("inject-down").await;
    test.set_template(TEMPLATE).await;
    let webhook = test.start(&["--opt-in"]);
    webhook.says(&["registered the webhook"]).await;
    test.works().await;
    let silent = test.create(pod("silent", json!({}), json!({}))).await.unwrap();
    assert_eq!(names(&silent), ["main"], "with --opt-in only those who ask");

    // Whoever makes it dangerous, or deletes it, sees it come back.
    let registered = test.webhook().await.unwrap().webhooks.unwrap().remove(0);
    assert_eq!(registered.failure_policy.as_deref(), Some("Ignore"));
    let patch =
        json!([{ "op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Fail" }]).to_string();
    let kind = "mutatingwebhookconfiguration";
    test.home.kubectl(&["patch", kind, &test.name, "--type=json", "-p", &patch]).await;
    let policy = async || test.webhook().await?.webhooks?.remove(0).failure_policy;
    eventually("the failure policy comes back", policy, |now| now.as_deref() == Some("Ignore")).await;
    test.home.kubectl(&["delete", kind, &test.name]).await;
    eventually("the registration comes back", async || test.webhook().await, Option::is_some).await;

    // Down: the Pod comes without it. Up again, with another authority: with it.
    webhook.stop().await;
    let down = test.create(pod("down", json!({ INJECT: "true" }), json!({}))).await.unwrap();
    assert_eq!(names(&down), ["main"]);
    let webhook = test.start(&["--opt-in"]);
    test.works().await;
    webhook.stop().await;
    test.end().await;
}

#[tokio::test]
async fn the_certificate_is_renewed_before_it_expires() {
    require_servers!();
    let test = Injection::new("inject-renewal").await;
    test.set_template(TEMPLATE).await;
    let webhook = test.start(&["--certificate-lifetime", "4s"]);
    webhook.says(&["registered the webhook"]).await;
    // Long after the first certificate has expired, a new connection still trusts the server.
    let started = std::time::Instant::now();
    while started.elapsed() < std::time::Duration::from_secs(15) {
        assert_eq!(test.readiness().await.unwrap(), "ok", "after {:?}", started.elapsed());
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    }
    assert!(webhook.count(&["renewed the certificate"]) >= 3);
    test.works().await;
    webhook.stop().await;
    test.end().await;
}
