//! Changes behind the controller's back are repaired in silence; what is not its own stays as it is.

use genclient_testenv::{Neutron, require_servers};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{Cluster, Setup, TestNeutron, eventually, held};

#[tokio::test]
async fn drift_is_repaired_without_a_write_to_the_api_server() {
    require_servers!(Kubernetes, Neutron);
    let Setup { cluster, neutron } = Setup::new("drift", &["--drift-interval", "1s"]).await;
    let controller = cluster.controller(&[]);
    cluster.create("a", "10.0.0.0/24", "10.0.0.1").await;
    let wanted = [held("a", "10.0.0.0/24", "10.0.0.1")];
    neutron.holds(&wanted).await;
    cluster.has_event("a", "Normal", "Synced", "").await;
    // Its own finalizer comes back as a change; after that nothing moves.
    controller.says_times(2, &["processing network"]).await;
    let version = async || cluster.networks().get("a").await.unwrap().metadata.resource_version;
    let (before, events) = (version().await, cluster.events("a").await);

    // The whole network, its subnet, the subnet's gateway, the network's name.
    let id = neutron.only_id().await;
    let change = async |method: Method, path: &str, body: Option<Value>| {
        let answer = neutron.request(method, path, body).await;
        assert!(answer.status.is_success(), "{path}: {}", answer.body);
    };
    change(Method::DELETE, &format!("/networks/{id}"), None).await;
    controller.says_times(2, &["created network in the provider", "/a"]).await;
    neutron.holds(&wanted).await;

    let id = neutron.only_id().await;
    let subnet = async || neutron.networks().await[0]["subnets"][0].as_str().unwrap().to_owned();
    let updated = ["updated network in the provider", "/a"];
    change(Method::DELETE, &format!("/subnets/{}", subnet().await), None).await;
    controller.says_times(1, &updated).await;
    neutron.holds(&wanted).await;

    let body = json!({ "subnet": { "gateway_ip": null } });
    change(Method::PUT, &format!("/subnets/{}", subnet().await), Some(body)).await;
    controller.says_times(2, &updated).await;
    neutron.holds(&wanted).await;

    let body = json!({ "network": { "name": "renamed" } });
    change(Method::PUT, &format!("/networks/{id}"), Some(body)).await;
    controller.says_times(3, &updated).await;
    neutron.holds(&wanted).await;
    assert_eq!(neutron.only_id().await, id, "what can be repaired is not made anew");

    assert_eq!(version().await, before);
    assert_eq!(cluster.events("a").await, events);
    controller.stop().await;
}

#[tokio::test]
async fn a_network_that_was_renamed_while_the_controller_was_down_is_not_an_orphan() {
    require_servers!(Kubernetes, Neutron);
    for flags in [&[][..], &["--no-finalizer"]] {
        let Setup { cluster, neutron } = Setup::new("renamed", flags).await;
        let controller = cluster.controller(&[]);
        cluster.create("a", "10.0.0.0/24", "10.0.0.1").await;
        controller.says(&["successfully synced"]).await;
        controller.stop().await;
        let id = neutron.only_id().await;
        let body = json!({ "network": { "name": "b" } });
        neutron.request(Method::PUT, &format!("/networks/{id}"), Some(body)).await;

        let controller = cluster.controller(&[]);
        neutron.holds(&[held("a", "10.0.0.0/24", "10.0.0.1")]).await;
        controller.says(&["successfully synced", "/a "]).await;
        assert_eq!(controller.count(&["orphaned"]), 0);
        assert_eq!(neutron.only_id().await, id, "it is the same network, with everything that uses it");
        controller.stop().await;
    }
}

#[tokio::test]
async fn what_others_made_in_neutron_is_never_touched() {
    require_servers!(Kubernetes, Neutron);
    let server = Neutron::start().await.unwrap();
    let (neutron, url) = (TestNeutron::of(&server).await, server.url());
    let cluster = Cluster::shared("foreign").await;
    let namespace = &cluster.namespace;
    let make = async |name: &str, description: &str, cidr: &str| {
        let body = json!({ "network": { "name": name, "description": description } });
        let made = neutron.request(Method::POST, "/networks", Some(body)).await;
        let made = made.expect(StatusCode::CREATED, "a network").unwrap();
        let id = made.body["network"]["id"].clone();
        let body = json!({ "subnet": { "network_id": id, "ip_version": 4, "cidr": cidr, "description": description } });
        let made = neutron.request(Method::POST, "/subnets", Some(body)).await;
        made.expect(StatusCode::CREATED, "a subnet").unwrap();
    };
    // Without a marker, with an unknown one, and with those of another installation and another cluster.
    make("a", "", "10.0.0.0/24").await;
    make("a", "samplecrd-controller", "10.0.0.0/24").await;
    let marker = |installation: &str, cluster: &str| {
        format!(
            "samplecrd-controller installation={installation} cluster={cluster} namespace={namespace} uid=1"
        )
    };
    let uid = cluster.uid().await;
    make("a", &marker("theirs", &uid), "10.0.0.0/24").await;
    make("gone", &marker("theirs", &uid), "10.0.0.0/24").await;
    make("gone", &marker(namespace, "another"), "10.0.0.0/24").await;
    let mut foreign = neutron.all().await;
    let revisions = async || {
        let networks = neutron.networks().await;
        let ours = format!("installation={namespace} cluster={uid} ");
        let foreign =
            networks.into_iter().filter(|network| !network["description"].as_str().unwrap().contains(&ours));
        foreign
            .map(|network| (network["id"].to_string(), network["revision_number"].clone()))
            .collect::<Vec<_>>()
    };
    let before = revisions().await;

    // One of our own without an object shows that the sweep looks at all of them.
    make("orphan", &marker(namespace, &uid).replace("uid=1", "uid=2"), "10.9.0.0/24").await;
    let args = ["--neutron-url", &url, "--no-finalizer", "--drift-interval", "1s"];
    let controller = cluster.controller(&args);
    neutron.holds(&foreign).await;
    cluster.create("a", "10.0.0.0/24", "10.0.0.9").await;
    foreign.push(held("a", "10.0.0.0/24", "10.0.0.9"));
    neutron.holds(&foreign).await;
    cluster.change("a", "10.5.0.0/24", "10.5.0.1").await;
    foreign.pop();
    foreign.push(held("a", "10.5.0.0/24", "10.5.0.1"));
    neutron.holds(&foreign).await;
    cluster.delete("a").await;
    foreign.pop();
    neutron.holds(&foreign).await;
    eventually("nothing was written to them", revisions, |now| *now == before).await;
    controller.stop().await;
}

#[tokio::test]
async fn a_network_that_somebody_renames_to_another_object_s_name_stays() {
    require_servers!(Kubernetes, Neutron);
    let Setup { cluster, neutron } = Setup::new("swapped", &["--drift-interval", "1s"]).await;
    for flags in [&[][..], &["--no-finalizer"]] {
        let controller = cluster.controller(flags);
        cluster.create("a", "10.0.0.0/24", "10.0.0.1").await;
        let a = [held("a", "10.0.0.0/24", "10.0.0.1")];
        neutron.holds(&a).await;
        let id = neutron.only_id().await;
        cluster.create("b", "10.1.0.0/24", "10.1.0.1").await;
        let both = [a[0].clone(), held("b", "10.1.0.0/24", "10.1.0.1")];
        neutron.holds(&both).await;
        let rename = async || {
            let body = json!({ "network": { "name": "b" } });
            neutron.request(Method::PUT, &format!("/networks/{id}"), Some(body)).await;
        };

        // While b lives, and while b goes.
        rename().await;
        controller.says(&["updated network in the provider", "/a ", &id]).await;
        neutron.holds(&both).await;
        rename().await;
        cluster.delete("b").await;
        cluster.gone("b").await;
        neutron.holds(&a).await;
        assert_eq!(neutron.only_id().await, id, "it is the same network, with everything that uses it");
        cluster.delete("a").await;
        cluster.gone("a").await;
        neutron.holds(&[]).await;
        controller.stop().await;
    }
}
