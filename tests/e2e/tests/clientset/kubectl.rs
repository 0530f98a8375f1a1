//! What a person sees of the generated definitions through kubectl.

use genclient_testenv::require_servers;
use samplecrd_apis::appcontroller::v1alpha1::AppServiceStatus;

use crate::support::{app_service, clientset, cluster, eventually, named, network};

/// Runs kubectl in a namespace and gives what it printed.
async fn kubectl(namespace: &str, args: &[&str]) -> String {
    let args = [&["--namespace", namespace], args].concat();
    cluster().await.kubectl(&args).await.unwrap_or_else(|error| panic!("{error}"))
}

/// The words of each line of a table.
fn table(output: &str) -> Vec<Vec<&str>> {
    output.lines().map(|line| line.split_whitespace().collect()).collect()
}

#[tokio::test]
async fn get_shows_the_columns_of_a_network_under_each_of_its_names() {
    require_servers!();
    let (clientset, namespace) = clientset("columns").await;
    clientset.samplecrd_v1().networks(&namespace).create(&network(named("example"))).await.unwrap();
    for name in ["networks", "network", "net", "networks.samplecrd.k8s.io", "networks.v1.samplecrd.k8s.io"] {
        let output = kubectl(&namespace, &["get", name]).await;
        let table = table(&output);
        assert_eq!(table[0], ["NAME", "CIDR", "GATEWAY", "AGE"], "{output}");
        assert_eq!(table[1][..3], ["example", "192.168.0.0/16", "192.168.0.1"], "{output}");
    }
}

#[tokio::test]
async fn get_all_shows_the_applications_with_their_columns() {
    require_servers!();
    let (clientset, namespace) = clientset("category").await;
    let apps = clientset.appcontroller_v1alpha1().app_services(&namespace);
    let mut app = apps.create(&app_service(named("example"))).await.unwrap();
    app.status = Some(AppServiceStatus { available_replicas: 1, ..AppServiceStatus::default() });
    apps.update_status(&app).await.unwrap();
    clientset.samplecrd_v1().networks(&namespace).create(&network(named("hidden"))).await.unwrap();

    let by_short_name = kubectl(&namespace, &["get", "as"]).await;
    assert_eq!(
        table(&by_short_name),
        [vec!["NAME", "DEPLOYMENT", "DESIRED", "AVAILABLE"], vec!["example", "web", "2", "1"]]
    );
    let all = kubectl(&namespace, &["get", "all"]).await;
    let row = ["appservice.appcontroller.k8s.io/example", "web", "2", "1"];
    assert!(table(&all).iter().any(|line| line[..] == row), "{all}");
    assert!(!all.contains("hidden"), "a network is in no category: {all}");
}

#[tokio::test]
async fn describe_shows_the_whole_object() {
    require_servers!();
    let (clientset, namespace) = clientset("describe").await;
    clientset.samplecrd_v1().networks(&namespace).create(&network(named("example"))).await.unwrap();
    let output = kubectl(&namespace, &["describe", "net", "example"]).await;
    let lines = table(&output);
    for line in [
        &["Name:", "example"][..],
        &["API", "Version:", "samplecrd.k8s.io/v1"],
        &["Kind:", "Network"],
        &["Cidr:", "192.168.0.0/16"],
        &["Gateway:", "192.168.0.1"],
    ] {
        assert!(lines.iter().any(|found| found == line), "{line:?} is missing in {output}");
    }
}

#[tokio::test]
async fn explain_shows_the_documentation_of_the_types() {
    require_servers!();
    let (_, namespace) = clientset("explain").await;
    for (path, docs) in [
        (
            "network",
            &["Network describes a network that the provider must hold.", "GROUP:      samplecrd.k8s.io"][..],
        ),
        ("network.spec", &["The network that is wanted.", "cidr\t<string> -required-", "within `cidr`"]),
        ("appservice.spec.replicas", &["FIELD: replicas <integer>", "How many replicas the Deployment has"]),
        ("appservice.status", &["The application as it is.", "availableReplicas\t<integer> -required-"]),
    ] {
        // The server publishes the schema of a new definition a little later than the resource itself.
        eventually("the schema is published", async || {
            cluster().await.kubectl(&["explain", path]).await.is_ok()
        })
        .await;
        let output = kubectl(&namespace, &["explain", path]).await;
        for doc in docs {
            assert!(output.contains(doc), "{doc:?} is missing in {output}");
        }
    }
}

#[tokio::test]
async fn scale_changes_the_replicas_of_an_application() {
    require_servers!();
    let (clientset, namespace) = clientset("scale").await;
    let apps = clientset.appcontroller_v1alpha1().app_services(&namespace);
    apps.create(&app_service(named("example"))).await.unwrap();
    kubectl(&namespace, &["scale", "appservice", "example", "--current-replicas=2", "--replicas=6"]).await;
    assert_eq!(apps.get("example").await.unwrap().spec.replicas, Some(6));
    let scale = apps.api().get_scale("example").await.unwrap();
    assert_eq!(scale.spec.unwrap().replicas, Some(6));
}
