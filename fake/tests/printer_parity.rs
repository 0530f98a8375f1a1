//! The columns and cells of tables, compared with those of a real API server.

use genclient_fake::printer;
use genclient_testenv::{TestEnv, require_servers};
use http::Request;
use jiff::Timestamp;
use kube::client::Body;
use serde_json::{Value, json};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

async fn send(env: &TestEnv, method: &str, path: &str, accept: &str, body: Option<&Value>) -> Value {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("accept", accept)
        .header(
            "content-type",
            if method == "PATCH" { "application/merge-patch+json" } else { "application/json" },
        )
        .body(Body::from(body.map(|body| body.to_string().into_bytes()).unwrap_or_default()))
        .unwrap();
    let response = env.client().unwrap().send(request).await.unwrap();
    let bytes = response.into_body().collect_bytes().await.unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

/// What is compared of a column.
fn column(column: &Value) -> [Value; 4] {
    ["name", "type", "format", "priority"].map(|key| column[key].clone())
}

/// Compares the table of an object with ours. Ages may differ by the time that the request takes.
async fn compare(env: &TestEnv, path: &str, group: &str, kind: &str, custom: Option<&[Value]>) {
    let mut differences = (Value::Null, Value::Null);
    for _ in 0..5 {
        let table = send(env, "GET", path, TABLE, None).await;
        let object = send(env, "GET", path, "application/json", None).await;
        let theirs: Vec<_> = table["columnDefinitions"].as_array().unwrap().iter().map(column).collect();
        let ours: Vec<_> = printer::columns(group, kind, custom).iter().map(column).collect();
        assert_eq!(ours, theirs, "{path}");
        let ours = printer::cells(group, kind, custom, &object, Timestamp::now());
        if table["rows"][0]["cells"] == json!(ours) {
            return;
        }
        differences = (json!(ours), table["rows"][0]["cells"].clone());
    }
    panic!("{path}\n  server: {}\n  we:     {}", differences.1, differences.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn kubernetes_own_kinds_are_printed_as_by_the_real_server() {
    require_servers!(Kubernetes);
    let env = TestEnv::shared().await.unwrap();
    let namespace = format!("printer-{}", std::process::id());
    send(
        env,
        "POST",
        "/api/v1/namespaces",
        "application/json",
        Some(&json!({ "metadata": { "name": namespace } })),
    )
    .await;
    let core = format!("/api/v1/namespaces/{namespace}");
    let apps = format!("/apis/apps/v1/namespaces/{namespace}");
    let leases = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}");
    let batch = format!("/apis/batch/v1/namespaces/{namespace}");
    let networking = format!("/apis/networking.k8s.io/v1/namespaces/{namespace}");
    let policy = format!("/apis/policy/v1/namespaces/{namespace}");
    let roles = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}");
    let containers = json!([{ "name": "a", "image": "i" }, { "name": "b", "image": "j" }]);
    let template = json!({ "metadata": { "labels": { "app": "a", "tier": "x" } }, "spec": { "containers": containers } });
    let job = json!({ "spec": { "restartPolicy": "Never", "containers": containers } });
    let selector = json!({ "matchLabels": { "app": "a" }, "matchExpressions": [{ "key": "tier", "operator": "In", "values": ["y", "x"] }, { "key": "old", "operator": "DoesNotExist" }] });
    let ports = json!([{ "name": "http", "port": 80 }, { "name": "https", "port": 443 }]);
    for (place, plural, group, kind, object) in [
        (
            &core,
            "configmaps",
            "",
            "ConfigMap",
            json!({ "data": { "a": "b" }, "binaryData": { "c": "aGk=" } }),
        ),
        (&core, "secrets", "", "Secret", json!({ "type": "Opaque", "data": { "a": "aGk=" } })),
        (&core, "serviceaccounts", "", "ServiceAccount", json!({})),
        (
            &core,
            "services",
            "",
            "Service",
            json!({ "spec": { "ports": ports, "selector": { "app": "a", "b": "c" } } }),
        ),
        (&core, "services", "", "Service", json!({ "spec": { "type": "NodePort", "ports": ports } })),
        (&core, "services", "", "Service", json!({ "spec": { "type": "LoadBalancer", "ports": ports } })),
        (
            &core,
            "services",
            "",
            "Service",
            json!({ "spec": { "type": "ExternalName", "externalName": "example.com" } }),
        ),
        (&core, "services", "", "Service", json!({ "spec": { "clusterIP": "None" } })),
        (
            &core,
            "pods",
            "",
            "Pod",
            json!({ "spec": { "containers": containers, "readinessGates": [{ "conditionType": "x.example.com/y" }] } }),
        ),
        (
            &core,
            "pods",
            "",
            "Pod",
            json!({ "spec": { "containers": containers, "schedulingGates": [{ "name": "x.example.com/y" }] } }),
        ),
        (
            &core,
            "events",
            "",
            "Event",
            json!({ "involvedObject": { "kind": "Pod", "name": "p", "namespace": namespace, "fieldPath": "spec" }, "type": "Normal", "reason": "R", "message": " m ", "count": 3, "source": { "component": "c", "host": "h" }, "firstTimestamp": "2024-01-01T00:00:00Z", "lastTimestamp": "2025-01-01T00:00:00Z" }),
        ),
        (
            &core,
            "events",
            "",
            "Event",
            json!({ "involvedObject": { "kind": "Node", "namespace": namespace }, "eventTime": "2024-01-01T00:00:00.000000Z", "reportingComponent": "c", "reportingInstance": "i", "action": "A", "reason": "R", "type": "Warning" }),
        ),
        (
            &apps,
            "deployments",
            "apps",
            "Deployment",
            json!({ "spec": { "replicas": 0, "selector": selector, "template": template } }),
        ),
        (
            &apps,
            "replicasets",
            "apps",
            "ReplicaSet",
            json!({ "spec": { "replicas": 0, "selector": selector, "template": template } }),
        ),
        (&leases, "leases", "coordination.k8s.io", "Lease", json!({ "spec": { "holderIdentity": "me" } })),
        (&roles, "roles", "rbac.authorization.k8s.io", "Role", json!({ "rules": [] })),
        (
            &roles,
            "rolebindings",
            "rbac.authorization.k8s.io",
            "RoleBinding",
            json!({
                "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r" },
                "subjects": [
                    { "kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io" },
                    { "kind": "User", "name": "v", "apiGroup": "rbac.authorization.k8s.io" },
                    { "kind": "ServiceAccount", "name": "s", "namespace": "n" },
                    { "kind": "ServiceAccount", "name": "t" },
                ],
            }),
        ),
        (
            &apps,
            "statefulsets",
            "apps",
            "StatefulSet",
            json!({ "spec": { "replicas": 0, "serviceName": "s", "selector": selector, "template": template } }),
        ),
        (
            &apps,
            "daemonsets",
            "apps",
            "DaemonSet",
            json!({ "spec": { "selector": selector, "template": template } }),
        ),
        (&batch, "jobs", "batch", "Job", json!({ "spec": { "suspend": true, "template": job } })),
        (
            &batch,
            "jobs",
            "batch",
            "Job",
            json!({ "spec": { "suspend": true, "completions": 3, "parallelism": 2, "template": job } }),
        ),
        (
            &batch,
            "cronjobs",
            "batch",
            "CronJob",
            json!({ "spec": { "schedule": "* * * * *", "suspend": true, "jobTemplate": { "spec": { "template": job } } } }),
        ),
        (
            &networking,
            "ingresses",
            "networking.k8s.io",
            "Ingress",
            json!({ "spec": { "tls": [{ "hosts": ["a.example.com"] }], "rules": [
                { "host": "a.example.com" }, { "host": "b.example.com" }, { "host": "c.example.com" }, { "host": "d.example.com" },
            ] } }),
        ),
        (
            &networking,
            "networkpolicies",
            "networking.k8s.io",
            "NetworkPolicy",
            json!({ "spec": { "podSelector": { "matchLabels": { "app": "a" } } } }),
        ),
        (
            &core,
            "persistentvolumeclaims",
            "",
            "PersistentVolumeClaim",
            json!({ "spec": { "accessModes": ["ReadWriteOnce"], "storageClassName": "s", "resources": { "requests": { "storage": "1Gi" } } } }),
        ),
        (
            &policy,
            "poddisruptionbudgets",
            "policy",
            "PodDisruptionBudget",
            json!({ "spec": { "minAvailable": 1, "selector": { "matchLabels": { "app": "a" } } } }),
        ),
    ] {
        let mut object = object;
        object["metadata"] = json!({ "generateName": "x-" });
        let created =
            send(env, "POST", &format!("{place}/{plural}"), "application/json", Some(&object)).await;
        let name = created["metadata"]["name"].as_str().unwrap_or_else(|| panic!("{created}"));
        compare(env, &format!("{place}/{plural}/{name}"), group, kind, None).await;
    }
    compare(env, &format!("/api/v1/namespaces/{namespace}"), "", "Namespace", None).await;
    send(env, "DELETE", &format!("/api/v1/namespaces/{namespace}"), "application/json", None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_are_printed_in_every_state_as_by_the_real_server() {
    require_servers!(Kubernetes);
    let env = TestEnv::shared().await.unwrap();
    let pods = "/api/v1/namespaces/default/pods";
    let pod = json!({
        "metadata": { "generateName": "printed-" },
        "spec": {
            "initContainers": [
                { "name": "i", "image": "i" },
                { "name": "s", "image": "i", "restartPolicy": "Always" },
            ],
            "containers": [{ "name": "a", "image": "i" }, { "name": "b", "image": "i" }],
        },
    });
    let created = send(env, "POST", pods, "application/json", Some(&pod)).await;
    let path =
        format!("{pods}/{}", created["metadata"]["name"].as_str().unwrap_or_else(|| panic!("{created}")));
    let container = |name: &str, state: Value| json!({ "name": name, "image": "i", "imageID": "", "ready": state["running"].is_object(), "started": state["running"].is_object(), "restartCount": 2, "state": state, "lastState": { "terminated": { "exitCode": 1, "finishedAt": "2024-01-01T00:00:00Z", "startedAt": "2024-01-01T00:00:00Z" } } });
    let running = || json!({ "running": { "startedAt": "2024-01-01T00:00:00Z" } });
    let waiting = |reason: &str| json!({ "waiting": { "reason": reason } });
    let ended = |code: i64, reason: &str| json!({ "terminated": { "exitCode": code, "reason": reason } });
    let killed = || json!({ "terminated": { "exitCode": 137, "signal": 9 } });
    let ready = json!([{ "type": "Ready", "status": "True" }, { "type": "Initialized", "status": "True" }]);
    for (init, own, more) in [
        (vec![waiting("PodInitializing"), waiting("PodInitializing")], vec![], json!({})),
        (vec![ended(1, "Error"), waiting("PodInitializing")], vec![], json!({})),
        (vec![killed(), waiting("PodInitializing")], vec![], json!({})),
        (vec![waiting("ImagePullBackOff"), waiting("PodInitializing")], vec![], json!({})),
        (
            vec![ended(0, "Completed"), running()],
            vec![running(), running()],
            json!({ "phase": "Running", "conditions": ready, "podIPs": [{ "ip": "10.0.0.7" }] }),
        ),
        (
            vec![ended(0, "Completed"), running()],
            vec![running(), waiting("CrashLoopBackOff")],
            json!({ "phase": "Running" }),
        ),
        (
            vec![ended(0, "Completed"), running()],
            vec![ended(0, "Completed"), running()],
            json!({ "phase": "Running" }),
        ),
        (
            vec![ended(0, "Completed"), running()],
            vec![ended(0, "Completed"), killed()],
            json!({ "phase": "Running" }),
        ),
        (
            vec![ended(0, "Completed"), running()],
            vec![ended(2, ""), ended(0, "")],
            json!({ "phase": "Running", "reason": "Evicted" }),
        ),
    ] {
        let statuses = |names: [&str; 2], states: Vec<Value>| -> Vec<Value> {
            names.iter().zip(states).map(|(name, state)| container(name, state)).collect()
        };
        let mut status = more;
        status["initContainerStatuses"] = statuses(["i", "s"], init).into();
        status["containerStatuses"] = statuses(["a", "b"], own).into();
        let patched = send(
            env,
            "PATCH",
            &format!("{path}/status"),
            "application/json",
            Some(&json!({ "status": status })),
        )
        .await;
        assert_eq!(patched["kind"], "Pod", "{patched}");
        compare(env, &path, "", "Pod", None).await;
    }
    send(env, "DELETE", &path, "application/json", None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_of_custom_resources_are_printed_as_by_the_real_server() {
    require_servers!(Kubernetes);
    let env = TestEnv::shared().await.unwrap();
    let id = std::process::id();
    let columns = [
        json!({ "name": "Text", "type": "string", "jsonPath": ".spec.text", "description": "A text.", "priority": 1 }),
        json!({ "name": "Count", "type": "integer", "jsonPath": ".spec.count", "format": "int32" }),
        json!({ "name": "Ratio", "type": "number", "jsonPath": ".spec.ratio" }),
        json!({ "name": "Flag", "type": "boolean", "jsonPath": ".spec.flag" }),
        json!({ "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp" }),
        json!({ "name": "Wrong", "type": "integer", "jsonPath": ".spec.text" }),
        json!({ "name": "List", "type": "string", "jsonPath": ".spec.list" }),
        json!({ "name": "Item", "type": "string", "jsonPath": ".spec.list[1].type" }),
        json!({ "name": "All", "type": "string", "jsonPath": ".spec.list[*].type" }),
        json!({ "name": "Ready", "type": "string", "jsonPath": ".spec.list[?(@.type==\"Ready\")].status" }),
        json!({ "name": "Label", "type": "string", "jsonPath": ".metadata.labels.example\\.com/x" }),
        json!({ "name": "Number", "type": "string", "jsonPath": ".spec.count" }),
        json!({ "name": "Nothing", "type": "string", "jsonPath": ".spec.nothing.at.all" }),
        json!({ "name": "Date", "type": "date", "jsonPath": ".spec.text" }),
    ];
    for (i, columns) in [&columns[..], &[]].into_iter().enumerate() {
        let (plural, kind, group) = (format!("p{id}x{i}s"), format!("P{id}x{i}"), "printer.example.com");
        let schema = json!({ "type": "object", "properties": { "spec": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } } });
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{plural}.{group}") },
            "spec": {
                "group": group,
                "scope": "Namespaced",
                "names": { "kind": kind, "plural": plural },
                "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema }, "additionalPrinterColumns": columns }],
            },
        });
        env.kubectl_with_input(&["create", "-f", "-"], &crd.to_string()).await.unwrap();
        env.kubectl(&[
            "wait",
            "--for=condition=Established",
            "--timeout=60s",
            "crd",
            &format!("{plural}.{group}"),
        ])
        .await
        .unwrap();
        let path = format!("/apis/{group}/v1/namespaces/default/{plural}");
        let object = json!({
            "apiVersion": format!("{group}/v1"),
            "kind": kind,
            "metadata": { "name": "x", "labels": { "example.com/x": "y" } },
            "spec": { "text": "t", "count": 3, "ratio": 0.5, "flag": true, "list": [{ "type": "A", "status": "no" }, { "type": "Ready", "status": "yes" }] },
        });
        let mut created = send(env, "POST", &path, "application/json", Some(&object)).await;
        while created["kind"] != kind.as_str() {
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
            created = send(env, "POST", &path, "application/json", Some(&object)).await;
        }
        compare(env, &format!("{path}/x"), group, &kind, Some(columns)).await;
        env.kubectl(&["delete", "crd", &format!("{plural}.{group}"), "--wait=false"]).await.unwrap();
    }
}
