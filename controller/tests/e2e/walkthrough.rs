//! The walk-through, step by step: the controller first, then the CRD, the example, a change, the end.

use genclient_testenv::{Neutron, TestEnv, require_servers};

use crate::support::{Controller, EXAMPLE, TestNeutron, crd, eventually, held};

async fn walk_through(flags: &[&str], finalizers: &str) {
    let env = TestEnv::builder().own_servers().start().await.unwrap();
    let server = Neutron::start().await.unwrap();
    let (neutron, url) = (TestNeutron::of(&server).await, server.url());
    let kubectl = async |args: &[&str]| env.kubectl(args).await.unwrap();

    // The controller comes first, and says that the resource is not there yet.
    let mut args = vec!["--neutron-url", &url];
    args.extend(flags);
    let controller = Controller::start(&env, &args, &[]);
    controller.says(&["setting up event handlers"]).await;
    controller.says(&["waiting for informer caches to sync"]).await;
    controller.says(&["does not serve networks", "waiting until it appears"]).await;
    assert_eq!(controller.count(&["starting workers"]), 0);

    kubectl(&["apply", "-f", &crd()]).await;
    controller.says(&["started workers"]).await;
    neutron.holds(&[]).await;

    // The example.
    assert_eq!(
        env.kubectl_with_input(&["apply", "-f", "-"], EXAMPLE).await.unwrap(),
        "network.samplecrd.k8s.io/example-network created\n"
    );
    neutron.holds(&[held("example-network", "192.168.0.0/16", "192.168.0.1")]).await;
    let id = neutron.only_id().await;
    let key = "key=default/example-network";
    controller.says(&["processing network", key, "version="]).await;
    controller.says(&["created network in the provider", key, &id]).await;
    controller.says(&["successfully synced", key, "version="]).await;
    let table = kubectl(&["get", "net"]).await;
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["NAME", "CIDR", "GATEWAY", "AGE"], "{table}");
    assert_eq!(rows[1][..3], ["example-network", "192.168.0.0/16", "192.168.0.1"], "{table}");
    let described = eventually(
        "describe shows the event",
        async || kubectl(&["describe", "network", "example-network"]).await,
        |text| text.contains("Network synced successfully: 192.168.0.0/16 with gateway 192.168.0.1"),
    )
    .await;
    assert!(
        described.contains("Normal  Synced") && described.contains("samplecrd-controller"),
        "{described}"
    );
    let path = "jsonpath={.metadata.finalizers}";
    assert_eq!(kubectl(&["get", "network", "example-network", "-o", path]).await, finalizers);

    // The change. Its range has host bits.
    let changed = EXAMPLE.replace("192.168.0", "192.168.1");
    assert!(changed.contains("192.168.1.0/16") && changed.contains("192.168.1.1"), "{changed}");
    env.kubectl_with_input(&["apply", "-f", "-"], &changed).await.unwrap();
    neutron.holds(&[held("example-network", "192.168.0.0/16", "192.168.1.1")]).await;
    let described = async || kubectl(&["describe", "network", "example-network"]).await;
    let message = "cidr 192.168.1.0/16 has host bits and is taken as 192.168.0.0/16";
    eventually("describe says which range is used", described, |text| text.contains(message)).await;
    controller.says(&["updated network in the provider", key]).await;
    assert_eq!(neutron.only_id().await, id, "the network stays");

    // The end: kubectl waits until the object is gone.
    kubectl(&["delete", "network", "example-network", "--timeout=60s"]).await;
    neutron.holds(&[]).await;
    controller.says(&["network does not exist in the local cache", key]).await;
    let ended = controller.stop().await;
    assert!(ended.says("shutting down workers") && ended.says("stopped"), "{ended:#?}");
    assert!(!ended.says("ERROR"), "{ended:#?}");
}

#[tokio::test]
async fn the_walk_through_works_with_the_finalizer() {
    require_servers!(Kubernetes, Neutron);
    walk_through(&[], r#"["samplecrd.k8s.io/provider-network"]"#).await;
}

#[tokio::test]
async fn the_walk_through_works_without_the_finalizer() {
    require_servers!(Kubernetes, Neutron);
    walk_through(&["--no-finalizer"], "").await;
}
