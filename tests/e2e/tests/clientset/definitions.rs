//! The generated definitions are what the server wants.

use genclient_testenv::require_servers;

use crate::support::{CRD_NAMES, CRDS, clientset, cluster};

#[tokio::test]
async fn the_server_accepts_the_definitions_under_strict_validation() {
    require_servers!();
    let env = cluster().await;
    // Both ways of applying are rehearsed: the server checks them in different places.
    for way in [&["--server-side", "--force-conflicts"][..], &[]] {
        let mut args = vec!["apply", "--dry-run=server", "--validate=strict", "-f", CRDS];
        args.extend(way);
        let output = env.kubectl(&args).await.unwrap();
        assert_eq!(output.matches("(server dry run)").count(), 2, "{output}");
    }
}

#[tokio::test]
async fn the_definitions_are_established_with_their_names_and_a_structural_schema() {
    require_servers!();
    let env = cluster().await;
    for name in CRD_NAMES {
        let conditions = "jsonpath={range .status.conditions[*]}{.type}={.status} {end}";
        let output = env.kubectl(&["get", name, "-o", conditions]).await.unwrap();
        assert!(output.contains("Established=True") && output.contains("NamesAccepted=True"), "{output}");
        assert!(!output.contains("NonStructuralSchema=True"), "{output}");
    }
}

#[tokio::test]
async fn kubectl_refuses_a_manifest_with_an_unknown_field() {
    require_servers!();
    let (_, namespace) = clientset("manifest").await;
    let manifest = "{apiVersion: samplecrd.k8s.io/v1, kind: Network, metadata: {name: example}, \
                    spec: {cidr: 10.0.0.0/8, gateway: 10.0.0.1, colour: green}}";
    let apply = ["apply", "-n", &namespace, "--validate=strict", "-f", "-"];
    let error = cluster().await.kubectl_with_input(&apply, manifest).await.unwrap_err();
    assert!(error.to_string().contains("unknown field \"spec.colour\""), "{error}");
}
