//! Kubernetes' own kinds.

use serde_json::{Value, json};

use crate::{Scenario, scenario::*};

fn object(api_version: &str, kind: &str, name: &str, fields: Value) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}});
    for (key, value) in fields.as_object().expect("fields are an object") {
        object[key] = value.clone();
    }
    object
}

/// A creation that is tried for the answer only, so that one that is not refused does not stand in the way of the
/// next one.
fn tried(path: String, object: Value) -> Step {
    create(path, object).query("dryRun=All")
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let core = |plural: &str| format!("/api/v1/namespaces/{{ns}}/{plural}");
    let apis = |group: &str, plural: &str| format!("/apis/{group}/namespaces/{{ns}}/{plural}");
    let template = || json!({"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}});
    let deployment = || {
        object(
            "apps/v1",
            "Deployment",
            "a",
            json!({"spec": {"selector": {"matchLabels": {"app": "a"}}, "template": template()}}),
        )
    };
    vec![
        scenario("a config map holds text and bytes", [
            create(core("configmaps"), object("v1", "ConfigMap", "a", json!({"data": {"k": "v"}, "binaryData": {"b": "AAE="}}))),
            create(core("configmaps"), object("v1", "ConfigMap", "b", json!({"data": {"k": "v"}, "binaryData": {"k": "AAE="}}))),
            create(core("configmaps"), object("v1", "ConfigMap", "b", json!({"binaryData": {"k": "not base64"}}))),
            create(core("configmaps"), object("v1", "ConfigMap", "b", json!({"data": {"bad key": "v"}}))),
            create(core("configmaps"), object("v1", "ConfigMap", "b", json!({"data": {"": "v"}}))),
            create(core("configmaps"), object("v1", "ConfigMap", "c", json!({"data": {"k": null}}))),
            create(core("configmaps"), object("v1", "ConfigMap", "d", json!({"data": {}}))),
            create(core("configmaps"), object("v1", "ConfigMap", "e", json!({"data": null}))),
        ]),
        scenario("a secret's text becomes data", [
            create(core("secrets"), object("v1", "Secret", "a", json!({"stringData": {"k": "text"}, "data": {"k": "b2xk", "l": "bmV3"}}))),
            get(core("secrets/a")),
            merge_patch(core("secrets/a"), json!({"stringData": {"m": "more"}})),
            merge_patch(core("secrets/a"), json!({"type": "Other"})),
        ]),
        scenario("a secret is checked by its type", [
            tried(core("secrets"), object("v1", "Secret", "a", json!({"type": "kubernetes.io/tls"}))),
            tried(core("secrets"), object("v1", "Secret", "a", json!({"type": "kubernetes.io/basic-auth"}))),
            tried(core("secrets"), object("v1", "Secret", "a", json!({"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "x"}}))),
            tried(core("secrets"), object("v1", "Secret", "a", json!({"data": {"k": "%"}}))),
            tried(core("secrets"), object("v1", "Secret", "b", json!({"type": "example.com/any"}))),
        ]),
        scenario("a secret that is immutable does not change", [
            create(core("secrets"), object("v1", "Secret", "a", json!({"immutable": true, "stringData": {"k": "v"}}))),
            merge_patch(core("secrets/a"), json!({"stringData": {"k": "w"}})),
            merge_patch(core("secrets/a"), json!({"immutable": null})),
        ]),
        scenario("a service is given an address and defaults", [
            create(core("services"), object("v1", "Service", "a", json!({"spec": {"selector": {"app": "a"}, "ports": [{"port": 80}]}}))),
            get(core("services/a")),
            merge_patch(core("services/a"), json!({"spec": {"selector": {"app": "b"}}})),
            delete(core("services/a")),
        ]),
        scenario("a headless service has no address", [
            create(core("services"), object("v1", "Service", "a", json!({"spec": {"clusterIP": "None", "ports": [{"port": 80, "targetPort": "http"}]}}))),
        ]),
        scenario("a service without ports is refused unless it is headless", [
            tried(core("services"), object("v1", "Service", "a", json!({"spec": {"selector": {"a": "b"}}}))),
            tried(core("services"), object("v1", "Service", "b", json!({"spec": {"clusterIP": "None"}}))),
            tried(core("services"), object("v1", "Service", "c", json!({"spec": {"ports": [{"port": 0}]}}))),
            tried(core("services"), object("v1", "Service", "c", json!({"spec": {"ports": [{"port": 1}, {"port": 2}]}}))),
            tried(core("services"), object("v1", "Service", "d", json!({"spec": {"type": "Sometimes", "ports": [{"port": 1}]}}))),
        ]),
        scenario("a service's address does not change", [
            create(core("services"), object("v1", "Service", "a", json!({"spec": {"clusterIP": "None", "ports": [{"port": 80}]}}))),
            merge_patch(core("services/a"), json!({"spec": {"clusterIP": "10.0.0.77"}})),
            create(core("services"), object("v1", "Service", "b", json!({"spec": {"ports": [{"port": 80}]}}))),
            merge_patch(core("services/b"), json!({"spec": {"clusterIP": "None"}})),
            merge_patch(core("services/b"), json!({"spec": {"clusterIP": null}})),
            merge_patch(core("services/b"), json!({"spec": {"type": "NodePort"}})),
        ]),
        scenario("an external service has a name", [
            create(core("services"), object("v1", "Service", "a", json!({"spec": {"type": "ExternalName", "externalName": "example.com"}}))),
            create(core("services"), object("v1", "Service", "b", json!({"spec": {"type": "ExternalName"}}))),
        ]),
        scenario("a deployment has defaults and a generation", [
            create(apis("apps/v1", "deployments"), deployment()),
            merge_patch(apis("apps/v1", "deployments/a"), json!({"spec": {"replicas": 3}})),
            merge_patch(apis("apps/v1", "deployments/a"), json!({"metadata": {"labels": {"x": "y"}}})),
            merge_patch(apis("apps/v1", "deployments/a"), json!({"metadata": {"annotations": {"x": "y"}}})),
            delete(apis("apps/v1", "deployments/a")),
        ]),
        scenario("a deployment is checked", [
            tried(apis("apps/v1", "deployments"), object("apps/v1", "Deployment", "a", json!({"spec": {}}))),
            tried(apis("apps/v1", "deployments"), object("apps/v1", "Deployment", "a", json!({"spec": {"selector": {"matchLabels": {"app": "other"}}, "template": template()}}))),
            tried(apis("apps/v1", "deployments"), object("apps/v1", "Deployment", "a", json!({"spec": {"replicas": -1, "selector": {"matchLabels": {"app": "a"}}, "template": template()}}))),
            tried(apis("apps/v1", "deployments"), object("apps/v1", "Deployment", "a", json!({"spec": {"replicas": "x", "selector": {"matchLabels": {"app": "a"}}, "template": template()}}))),
        ]),
        scenario("a deployment's selector does not change", [
            create(apis("apps/v1", "deployments"), deployment()),
            merge_patch(apis("apps/v1", "deployments/a"), json!({"spec": {"selector": {"matchLabels": {"app": "b"}}, "template": {"metadata": {"labels": {"app": "b"}}}}})),
        ]),
        scenario("a stateful set and a daemon set have defaults", [
            create(apis("apps/v1", "statefulsets"), object("apps/v1", "StatefulSet", "a", json!({"spec": {"serviceName": "s", "selector": {"matchLabels": {"app": "a"}}, "template": template()}}))),
            create(apis("apps/v1", "daemonsets"), object("apps/v1", "DaemonSet", "a", json!({"spec": {"selector": {"matchLabels": {"app": "a"}}, "template": template()}}))),
            create(apis("apps/v1", "replicasets"), object("apps/v1", "ReplicaSet", "a", json!({"spec": {"selector": {"matchLabels": {"app": "a"}}, "template": template()}}))),
        ]),
        scenario("a pod has defaults and a phase", [
            create(core("pods"), object("v1", "Pod", "a", json!({"spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "0.1", "memory": "1024Mi"}}}]}}))),
            get(core("pods/a")),
            merge_patch(core("pods/a"), json!({"metadata": {"labels": {"a": "b"}}})),
        ]),
        scenario("a pod is checked", [
            tried(core("pods"), object("v1", "Pod", "a", json!({"spec": {"containers": []}}))),
            tried(core("pods"), object("v1", "Pod", "a", json!({"spec": {"containers": [{"name": "c"}]}}))),
            tried(core("pods"), object("v1", "Pod", "a", json!({"spec": {"containers": [{"name": "C", "image": "i"}]}}))),
            tried(core("pods"), object("v1", "Pod", "a", json!({"spec": {"containers": [{"name": "c", "image": "i"}, {"name": "c", "image": "i"}]}}))),
            tried(core("pods"), object("v1", "Pod", "a", json!({"spec": {"restartPolicy": "Perhaps", "containers": [{"name": "c", "image": "i"}]}}))),
        ]),
        scenario("a pod's spec hardly changes", [
            create(core("pods"), object("v1", "Pod", "a", json!({"spec": {"containers": [{"name": "c", "image": "i"}]}}))),
            strategic_patch(core("pods/a"), json!({"spec": {"containers": [{"name": "c", "image": "j"}]}})),
            strategic_patch(core("pods/a"), json!({"spec": {"nodeName": "n"}})),
            strategic_patch(core("pods/a"), json!({"spec": {"containers": [{"name": "d", "image": "i"}]}})),
            strategic_patch(core("pods/a"), json!({"spec": {"activeDeadlineSeconds": 10}})),
            strategic_patch(core("pods/a"), json!({"spec": {"activeDeadlineSeconds": 20}})),
            strategic_patch(core("pods/a"), json!({"spec": {"activeDeadlineSeconds": null}})),
            merge_patch(core("pods/a"), json!({"spec": {"tolerations": []}})),
            merge_patch(core("pods/a"), json!({"spec": {"schedulingGates": [{"name": "example.com/g"}]}})),
        ]),
        scenario("a pod is replaced by its manifest", [
            create(core("pods"), object("v1", "Pod", "a", json!({"spec": {"containers": [{"name": "c", "image": "i"}]}}))),
            put(core("pods/a"), object("v1", "Pod", "a", json!({"spec": {"containers": [{"name": "c", "image": "j"}]}}))),
        ]),
        scenario("a job has defaults", [
            create(apis("batch/v1", "jobs"), object("batch/v1", "Job", "a", json!({"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}))),
            delete(apis("batch/v1", "jobs/a")),
            create(apis("batch/v1", "cronjobs"), object("batch/v1", "CronJob", "a", json!({"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}}}))),
        ]),
        scenario("a lease is renewed", [
            create(apis("coordination.k8s.io/v1", "leases"), object("coordination.k8s.io/v1", "Lease", "a", json!({"spec": {"holderIdentity": "me", "leaseDurationSeconds": 15, "renewTime": "2020-01-01T00:00:00.000000Z"}}))).saved("l"),
            put_edited(apis("coordination.k8s.io/v1", "leases/a"), "l", json!({"spec": {"renewTime": "2020-01-01T00:00:10.5Z"}})),
            put_edited(apis("coordination.k8s.io/v1", "leases/a"), "l", json!({"spec": {"holderIdentity": "you"}})),
            merge_patch(apis("coordination.k8s.io/v1", "leases/a"), json!({"spec": {"leaseDurationSeconds": 0}})),
            merge_patch(apis("coordination.k8s.io/v1", "leases/a"), json!({"spec": {"renewTime": "2020-01-01T00:00:00Z"}})),
            merge_patch(apis("coordination.k8s.io/v1", "leases/a"), json!({"spec": {"renewTime": "soon"}})),
        ]),
        scenario("roles and bindings are stored", [
            create(apis("rbac.authorization.k8s.io/v1", "roles"), object("rbac.authorization.k8s.io/v1", "Role", "a", json!({"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}))),
            create(apis("rbac.authorization.k8s.io/v1", "rolebindings"), object("rbac.authorization.k8s.io/v1", "RoleBinding", "a", json!({"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"}, "subjects": [{"kind": "User", "name": "u"}]}))),
            merge_patch(apis("rbac.authorization.k8s.io/v1", "rolebindings/a"), json!({"roleRef": {"name": "b"}})),
            create(apis("rbac.authorization.k8s.io/v1", "roles"), object("rbac.authorization.k8s.io/v1", "Role", "b", json!({"rules": [{"verbs": []}]}))),
            create(apis("rbac.authorization.k8s.io/v1", "rolebindings"), object("rbac.authorization.k8s.io/v1", "RoleBinding", "b", json!({"roleRef": {"apiGroup": "other", "kind": "Rule", "name": ""}, "subjects": [{"kind": "User", "name": ""}, {"kind": "ServiceAccount", "name": "Not_Valid", "apiGroup": "x"}, {"kind": "Robot", "name": "r"}]}))),
            create(apis("rbac.authorization.k8s.io/v1", "roles"), object("rbac.authorization.k8s.io/v1", "Role", "c", json!({"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"], "resources": ["pods"]}]}))),
            create("/apis/rbac.authorization.k8s.io/v1/clusterroles", object("rbac.authorization.k8s.io/v1", "ClusterRole", "{id}-a", json!({"rules": []}))),
        ]),
        scenario("a service account is stored", [
            create(core("serviceaccounts"), object("v1", "ServiceAccount", "a", json!({}))),
            get(core("serviceaccounts/a")),
        ]),
        scenario("an event is stored", [
            create(core("events"), object("v1", "Event", "a", json!({
                "involvedObject": {"apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": "{ns}"}, "reason": "Tested", "message": "m", "type": "Normal",
                "firstTimestamp": "2020-01-01T00:00:00Z", "lastTimestamp": "2020-01-01T00:00:00Z", "count": 1, "source": {"component": "parity"},
            }))),
            get(apis("events.k8s.io/v1", "events/a")),
            get(core("events")).query("fieldSelector=involvedObject.name%3Dp,reason%3DTested"),
            create(apis("events.k8s.io/v1", "events"), object("events.k8s.io/v1", "Event", "c", json!({
                "regarding": {"apiVersion": "v1", "kind": "Pod", "name": "q", "namespace": "{ns}"}, "reason": "Tested", "note": "n", "type": "Normal", "action": "Testing",
                "eventTime": "2020-01-01T00:00:00.000000Z", "reportingController": "example.com/parity", "reportingInstance": "parity-0",
            }))),
            get(core("events/c")),
            get(apis("events.k8s.io/v1", "events")).query("fieldSelector=regarding.name%3Dq"),
            get(apis("events.k8s.io/v1", "events")).query("fieldSelector=involvedObject.name%3Dq"),
            create(apis("events.k8s.io/v1", "events"), object("events.k8s.io/v1", "Event", "d", json!({"regarding": {"kind": "Pod"}, "deprecatedCount": 1}))),
            merge_patch(apis("events.k8s.io/v1", "events/c"), json!({"series": {"count": 2, "lastObservedTime": "2020-01-01T00:00:01.000000Z"}})),
            merge_patch(apis("events.k8s.io/v1", "events/c"), json!({"note": "other"})),
            delete(apis("events.k8s.io/v1", "events/c")),
            create(core("events"), object("v1", "Event", "b", json!({"involvedObject": {"kind": "Pod", "namespace": "other"}}))),
        ]),
        scenario("network policies, ingresses and endpoint slices are stored", [
            create(apis("networking.k8s.io/v1", "networkpolicies"), object("networking.k8s.io/v1", "NetworkPolicy", "a", json!({"spec": {"podSelector": {}}}))),
            create(apis("networking.k8s.io/v1", "ingresses"), object("networking.k8s.io/v1", "Ingress", "a", json!({"spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}}))),
            create(apis("discovery.k8s.io/v1", "endpointslices"), object("discovery.k8s.io/v1", "EndpointSlice", "a", json!({"addressType": "IPv4", "endpoints": [{"addresses": ["10.1.2.3"]}], "ports": [{"port": 80}]}))),
        ]),
        scenario("claims, quotas, limits and budgets are stored", [
            create(core("persistentvolumeclaims"), object("v1", "PersistentVolumeClaim", "a", json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}))),
            create(core("limitranges"), object("v1", "LimitRange", "a", json!({"spec": {"limits": [{"type": "Pod", "max": {"cpu": "2"}}]}}))),
            create(apis("policy/v1", "poddisruptionbudgets"), object("policy/v1", "PodDisruptionBudget", "a", json!({"spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}}))),
            create(apis("autoscaling/v2", "horizontalpodautoscalers"), object("autoscaling/v2", "HorizontalPodAutoscaler", "a", json!({"spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}}))),
        ]),
        scenario("cluster-scoped kinds are stored", [
            create("/api/v1/nodes", object("v1", "Node", "{id}-n", json!({}))),
            create("/apis/storage.k8s.io/v1/storageclasses", object("storage.k8s.io/v1", "StorageClass", "{id}-s", json!({"provisioner": "example.com/p"}))),
            create("/apis/scheduling.k8s.io/v1/priorityclasses", object("scheduling.k8s.io/v1", "PriorityClass", "{id}-p", json!({"value": 100}))),
            create("/api/v1/persistentvolumes", object("v1", "PersistentVolume", "{id}-v", json!({"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}}))),
            delete("/api/v1/nodes/{id}-n"),
        ]),
        scenario("quantities are written in their shortest form", [
            create(core("pods"), object("v1", "Pod", "a", json!({"spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1000m", "memory": "1024Ki"}, "requests": {"cpu": "0.5", "memory": "1e3"}}}]}}))),
            create(core("pods"), object("v1", "Pod", "b", json!({"spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "much"}}}]}}))),
            create(core("pods"), object("v1", "Pod", "b", json!({"spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}]}}))),
        ]),
        scenario("a built-in field of the wrong type is refused", [
            tried(core("configmaps"), object("v1", "ConfigMap", "a", json!({"data": "text"}))),
            tried(core("configmaps"), object("v1", "ConfigMap", "a", json!({"data": {"k": 1}}))),
            tried(core("configmaps"), object("v1", "ConfigMap", "a", json!({"immutable": "yes"}))),
            tried(core("pods"), object("v1", "Pod", "a", json!({"spec": {"containers": {"name": "c"}}}))),
            tried(core("pods"), object("v1", "Pod", "a", json!({"spec": {"terminationGracePeriodSeconds": "x", "containers": [{"name": "c", "image": "i"}]}}))),
        ]),
        scenario("a built-in object is read through its other versions", [
            create(apis("autoscaling/v2", "horizontalpodautoscalers"), object("autoscaling/v2", "HorizontalPodAutoscaler", "a", json!({"spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}}))),
            get(apis("autoscaling/v1", "horizontalpodautoscalers/a")),
        ]),
        scenario("null and empty fields of a built-in object disappear", [
            create(core("configmaps"), json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {}, "annotations": null, "finalizers": [], "ownerReferences": null}, "data": {}})),
            get(core("configmaps/a")),
            create(core("services"), object("v1", "Service", "a", json!({"spec": {"clusterIP": "None", "selector": {}, "ports": []}}))),
        ]),
    ]
}
