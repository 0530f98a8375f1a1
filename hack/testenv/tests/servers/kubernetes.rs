//! What the control plane does for objects. These tests share one environment, each in its own namespace.

use genclient_testenv::{TestEnv, require_servers};
use k8s_openapi::api::{
    apps::v1::{Deployment, ReplicaSet},
    core::v1::{ConfigMap, Namespace, Pod},
    rbac::v1::{Role, RoleBinding},
};
use kube::{
    Api,
    api::{DeleteParams, ListParams, PostParams},
};
use serde_json::json;

use crate::{create, eventually, namespace, object};

#[tokio::test]
async fn the_control_plane_is_the_pinned_version_and_so_is_its_kubectl() {
    require_servers!();
    let env = TestEnv::shared().await.unwrap();
    let version = env.client().unwrap().apiserver_version().await.unwrap();
    let kubectl = env.kubectl(&["version", "--output=json"]).await.unwrap();
    let kubectl: serde_json::Value = serde_json::from_str(&kubectl).unwrap();
    assert_eq!(kubectl["serverVersion"]["gitVersion"], version.git_version);
    if !env.processes().is_empty() && std::env::var_os("KUBEBUILDER_ASSETS").is_none() {
        assert_eq!(version.git_version, "v1.36.4");
        assert_eq!(kubectl["clientVersion"]["gitVersion"], "v1.36.4");
    }
}

#[tokio::test]
async fn kubectl_reads_manifests_and_reports_what_fails() {
    require_servers!();
    let env = TestEnv::shared().await.unwrap();
    let ns = namespace(&env.client().unwrap(), "kubectl").await;
    let manifest = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {colour: green}}";
    env.kubectl_with_input(&["apply", "-n", &ns, "-f", "-"], manifest).await.unwrap();
    let query = ["get", "-n", &ns, "configmap", "settings", "-o", "jsonpath={.data.colour}"];
    assert_eq!(env.kubectl(&query).await.unwrap(), "green");

    let error = env.kubectl(&["get", "-n", &ns, "configmap", "absent"]).await.unwrap_err();
    assert!(error.to_string().contains("NotFound"), "{error}");
}

#[tokio::test]
async fn the_limited_user_may_do_only_what_a_role_allows() {
    require_servers!();
    let env = TestEnv::shared().await.unwrap();
    let admin = env.client().unwrap();
    let ns = namespace(&admin, "rbac").await;
    let limited = Api::<ConfigMap>::namespaced(env.limited_client().unwrap(), &ns);

    let error = limited.list(&ListParams::default()).await.unwrap_err();
    assert!(matches!(&error, kube::Error::Api(status) if status.code == 403), "{error}");

    let role = json!({
        "metadata": {"name": "reader"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}],
    });
    create(&Api::<Role>::namespaced(admin.clone(), &ns), role).await;
    let binding = json!({
        "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": env.limited_user()}],
    });
    create(&Api::<RoleBinding>::namespaced(admin, &ns), binding).await;
    eventually("the role lets the limited user list", async || {
        limited.list(&ListParams::default()).await.is_ok()
    })
    .await;

    let map = object(json!({"metadata": {"name": "mine"}}));
    let error = limited.create(&PostParams::default(), &map).await.unwrap_err();
    assert!(matches!(&error, kube::Error::Api(status) if status.code == 403), "{error}");
}

#[tokio::test]
async fn a_deployment_gets_its_replica_set_and_pods_and_takes_them_along_when_it_goes() {
    require_servers!();
    let env = TestEnv::shared().await.unwrap();
    let client = env.client().unwrap();
    let ns = namespace(&client, "deployment").await;
    let deployments = Api::<Deployment>::namespaced(client.clone(), &ns);
    let replica_sets = Api::<ReplicaSet>::namespaced(client.clone(), &ns);
    let pods = Api::<Pod>::namespaced(client, &ns);

    let deployment = json!({"metadata": {"name": "web"}, "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "example.invalid/web"}]},
        },
    }});
    create(&deployments, deployment).await;
    let count = async || {
        let sets = replica_sets.list(&ListParams::default()).await.unwrap().items;
        let pods = pods.list(&ListParams::default()).await.unwrap().items;
        let pending = pods
            .iter()
            .filter(|pod| pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Pending"));
        (sets.len(), pending.count())
    };
    eventually("a deployment has one replica set and two pods", async || count().await == (1, 2)).await;

    deployments.delete("web", &DeleteParams::default()).await.unwrap();
    eventually("the replica set and the pods are gone", async || count().await == (0, 0)).await;
}

#[tokio::test]
async fn an_object_is_collected_when_its_owner_is_gone() {
    require_servers!();
    let env = TestEnv::shared().await.unwrap();
    let client = env.client().unwrap();
    let ns = namespace(&client, "owner").await;
    let maps = Api::<ConfigMap>::namespaced(client, &ns);
    let owner = create(&maps, json!({"metadata": {"name": "owner"}})).await;
    let uid = owner.metadata.uid.unwrap();
    let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid});
    create(&maps, json!({"metadata": {"name": "owned", "ownerReferences": [reference]}})).await;
    create(&maps, json!({"metadata": {"name": "free"}})).await;

    maps.delete("owner", &DeleteParams::default()).await.unwrap();
    eventually("the owned object is gone", async || maps.get_opt("owned").await.unwrap().is_none()).await;
    assert!(maps.get_opt("free").await.unwrap().is_some());
}

#[tokio::test]
async fn a_deleted_namespace_takes_its_objects_along() {
    require_servers!();
    let env = TestEnv::shared().await.unwrap();
    let client = env.client().unwrap();
    let ns = namespace(&client, "doomed").await;
    let maps = Api::<ConfigMap>::namespaced(client.clone(), &ns);
    create(&maps, json!({"metadata": {"name": "doomed"}})).await;

    let namespaces = Api::<Namespace>::all(client);
    namespaces.delete(&ns, &DeleteParams::default()).await.unwrap();
    eventually("the namespace is gone", async || namespaces.get_opt(&ns).await.unwrap().is_none()).await;
    assert!(maps.get_opt("doomed").await.unwrap().is_none());
}
