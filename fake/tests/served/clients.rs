//! Controllers on the served fake: kube-rs, and client-go.

use std::{process::Stdio, sync::Arc, time::Duration};

use futures::StreamExt as _;
use genclient_fake::{Server, http::Serving};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, Config,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
    runtime::{Controller, controller::Action, watcher},
};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::Command,
    time::timeout,
};

use crate::support::{LONG, connect, eventually, read_to_end, serve_securely};

fn kubeconfig(serving: &Serving) -> Kubeconfig {
    Kubeconfig::from_yaml(&serving.kubeconfig()).unwrap()
}

async fn client(kubeconfig: Kubeconfig) -> Client {
    let options = KubeConfigOptions::default();
    Client::try_from(Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap()).unwrap()
}

fn map(name: &str, value: &str) -> ConfigMap {
    serde_json::from_value(json!({ "metadata": { "name": name }, "data": { "key": value } })).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_controller_of_kube_rs_works_over_the_kubeconfig() {
    let (server, serving) = serve_securely().await;
    let maps: Api<ConfigMap> = Api::default_namespaced(client(kubeconfig(&serving)).await);
    maps.create(&PostParams::default(), &map("before", "1")).await.unwrap();

    // It copies a key of each map into an annotation.
    let reconcile = async |map: Arc<ConfigMap>, maps: Arc<Api<ConfigMap>>| {
        let key = map.data.as_ref().map(|data| data["key"].clone()).unwrap_or_default();
        let patch = json!({ "metadata": { "annotations": { "seen": key } } });
        let name = map.metadata.name.clone().unwrap();
        maps.patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok::<_, kube::Error>(Action::await_change())
    };
    let controller = Controller::new(maps.clone(), watcher::Config::default())
        .run(
            move |map, maps| Box::pin(reconcile(map, maps)),
            |_, _, _| Action::requeue(Duration::from_millis(100)),
            Arc::new(maps.clone()),
        )
        .for_each(|_| std::future::ready(()));
    let controller = tokio::spawn(controller);

    maps.create(&PostParams::default(), &map("after", "1")).await.unwrap();
    let seen = async |name: &str, wanted: &str| loop {
        let annotations = maps.get(name).await.unwrap().metadata.annotations.unwrap_or_default();
        if annotations.get("seen").is_some_and(|seen| seen == wanted) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    for name in ["before", "after"] {
        timeout(LONG, seen(name, "1")).await.expect("the map is reconciled");
    }
    let patch = Patch::Merge(json!({ "data": { "key": "2" } }));
    maps.patch("after", &PatchParams::default(), &patch).await.unwrap();
    timeout(LONG, seen("after", "2")).await.expect("the change is reconciled");
    maps.delete("after", &DeleteParams::default()).await.unwrap();

    controller.abort();
    let _ = controller.await;
    eventually("the watch of the controller has ended", || server.open_watches("*") == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_without_the_token_of_the_server_reads_its_health_and_nothing_else() {
    let (_server, serving) = serve_securely().await;
    let mut kubeconfig = kubeconfig(&serving);
    let list = async |client: Client| Api::<ConfigMap>::all(client).list(&Default::default()).await;
    list(client(kubeconfig.clone()).await).await.unwrap();

    let token = kubeconfig.auth_infos[0].auth_info.as_ref().unwrap().token.clone();
    for wrong in [None, Some("0".repeat(64))] {
        kubeconfig.auth_infos[0].auth_info.as_mut().unwrap().token = wrong.map(Into::into);
        let client = client(kubeconfig.clone()).await;
        let error = list(client.clone()).await.unwrap_err().to_string();
        assert!(error.contains("Unauthorized") && error.contains("kubeconfig"), "{error}");
        client.apiserver_version().await.unwrap();
    }
    kubeconfig.auth_infos[0].auth_info.as_mut().unwrap().token = token;
    list(client(kubeconfig.clone()).await).await.unwrap();

    // Another server has another certificate and another token.
    let (_other, other) = serve_securely().await;
    assert_ne!(other.token(), serving.token());
    kubeconfig.clusters[0].cluster.as_mut().unwrap().server = Some(other.url());
    let error = list(client(kubeconfig.clone()).await).await.unwrap_err();
    assert!(matches!(error, kube::Error::Service(_) | kube::Error::HyperError(_)), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_in_plain_http_to_a_secure_server_is_told_so() {
    let (_server, serving) = serve_securely().await;
    let line = format!("GET /api HTTP/1.1\r\nHost: {}\r\n\r\n", serving.address());
    let answer = read_to_end(&mut connect(&serving, line).await).await;
    assert!(answer.starts_with("HTTP/1.0 400") && answer.contains("to an HTTPS server"), "{answer}");
}

/// Reads the next line of the Go program, which must be this one.
async fn expect(lines: &mut tokio::io::Lines<BufReader<tokio::process::ChildStdout>>, wanted: &str) {
    let line = timeout(LONG, lines.next_line()).await.unwrap_or_else(|_| panic!("there was no {wanted:?}"));
    assert_eq!(line.unwrap().as_deref(), Some(wanted));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_informer_of_client_go_syncs_and_follows() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../hack/bench/go");
    let target = tempfile::tempdir().unwrap();
    let program = target.path().join("informer");
    let built = Command::new("go")
        .args(["build", "-o"])
        .arg(&program)
        .arg("./informer")
        .current_dir(folder)
        .env("GOFLAGS", "-buildvcs=false")
        .output()
        .await;
    let built = match built {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("SKIPPED a_shared_informer_of_client_go_syncs_and_follows: there is no Go");
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "Go is missing");
            return;
        }
        built => built.unwrap(),
    };
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));

    let server = Server::new();
    server.load_yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: before}, data: {key: a}}").unwrap();
    let serving = server.serve(crate::support::anywhere()).await.unwrap();
    let kubeconfig = serving.write_temporary_kubeconfig().unwrap();
    let mut child = Command::new(&program)
        .arg(kubeconfig.path())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    expect(&mut lines, "added before a").await;
    expect(&mut lines, "synced 1").await;
    // The program itself writes, with a typed client, whose objects are protobuf.
    expect(&mut lines, "added typed b").await;
    expect(&mut lines, "updated typed c").await;
    server.load_yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: before}, data: {key: d}}").unwrap();
    expect(&mut lines, "updated before d").await;
    expect(&mut lines, "deleted typed c").await;
    expect(&mut lines, "done").await;
    assert!(timeout(LONG, child.wait()).await.unwrap().unwrap().success());
    eventually("the watch of the informer has ended", || server.open_watches("*") == 0).await;
}
