use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::{
    Writer,
    schema::{
        ListSharing, PatchRules, PatchStrategy, Scalar,
        tests::{at, sharing},
    },
    strategic,
};

fn kubernetes(api_version: &str, kind: &str) -> Schema {
    Schema::kubernetes(api_version, kind).unwrap_or_else(|| panic!("there is no {api_version} {kind}"))
}

/// Returns how strategic merge patches change the field at a path.
fn patch_rules<'s>(schema: &'s Schema, path: &[&str]) -> &'s PatchRules {
    let (field, object) = path.split_last().expect("a path has a field");
    &at(schema, object).map.as_ref().expect("a map").fields[*field].patch
}

fn keys(names: &[&str]) -> ListSharing {
    ListSharing::Map(names.iter().map(|name| (*name).to_owned()).collect())
}

fn merged_by(key: &str) -> PatchRules {
    PatchRules { strategy: PatchStrategy::Merge, merge_key: Some(key.to_owned()), retain_keys: false }
}

#[test]
fn every_line_is_a_definition_and_every_definition_can_be_read() {
    let text = include_str!("../kubernetes.txt");
    let version = "the documentation of `Schema::kubernetes` names the version";
    assert_eq!(text.lines().next(), Some("# Kubernetes 1.36"), "{version}");
    let names: Vec<&str> = text.lines().skip(1).filter_map(|line| Some(parse(line)?.0)).collect();
    assert_eq!(names.len(), text.lines().count() - 1, "every line after the first one has a definition");
    assert!(names.is_sorted_by(|left, right| left < right), "the definitions are sorted");
    for (name, definition) in &KUBERNETES.definitions {
        let definitions = KUBERNETES.with_references(name).unwrap_or_else(|| panic!("{name}: {definition}"));
        open_api::from_definitions(&definitions, name).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn every_kind_has_a_schema_with_the_fields_of_an_object() {
    assert!(KUBERNETES.kinds.len() > 90, "{}", KUBERNETES.kinds.len());
    for (api_version, kind) in KUBERNETES.kinds.keys() {
        let schema = kubernetes(api_version, kind);
        assert_eq!(at(&schema, &["apiVersion"]).scalar, Some(Scalar::String), "{api_version} {kind}");
        assert_eq!(at(&schema, &["kind"]).scalar, Some(Scalar::String), "{api_version} {kind}");
        let finalizers = ["metadata", "finalizers"];
        assert_eq!(sharing(at(&schema, &finalizers)), &ListSharing::Set, "{api_version} {kind}");
        let rules = patch_rules(&schema, &finalizers);
        assert_eq!((rules.strategy, &rules.merge_key), (PatchStrategy::Merge, &None), "{api_version} {kind}");
    }
}

#[test]
fn other_kinds_have_no_schema() {
    for (api_version, kind) in [
        ("v1", "Deployment"),
        ("apps/v1", "deployment"),
        ("apps", "Deployment"),
        ("apps/v1beta1", "Deployment"),
        ("samplecrd.k8s.io/v1", "Network"),
        // Lists and answers are not objects.
        ("v1", "PodList"),
        ("v1", "Status"),
        ("v1", "DeleteOptions"),
        // Parts of objects are not kinds.
        ("v1", "PodSpec"),
        ("", ""),
    ] {
        assert!(Schema::kubernetes(api_version, kind).is_none(), "{api_version} {kind}");
    }
}

#[test]
fn the_schema_of_a_kind_is_read_once() {
    let (first, second) = (kubernetes("apps/v1", "StatefulSet"), kubernetes("apps/v1", "StatefulSet"));
    assert!(Arc::ptr_eq(&first.types, &second.types));
}

#[test]
fn lists_are_shared_and_patched_by_their_keys() {
    let pod = kubernetes("v1", "Pod");
    let service = kubernetes("v1", "Service");
    let spec = ["spec", "template", "spec"];
    for (schema, path, map_keys, merge_key) in [
        (&pod, &["spec", "containers"][..], &["name"][..], "name"),
        (&pod, &["spec", "initContainers"], &["name"], "name"),
        (&pod, &["spec", "containers", "[]", "env"], &["name"], "name"),
        (&pod, &["spec", "containers", "[]", "volumeMounts"], &["mountPath"], "mountPath"),
        (&pod, &["spec", "containers", "[]", "ports"], &["containerPort", "protocol"], "containerPort"),
        (&pod, &["spec", "hostAliases"], &["ip"], "ip"),
        (&pod, &["metadata", "ownerReferences"], &["uid"], "uid"),
        (&pod, &["status", "conditions"], &["type"], "type"),
        (&service, &["spec", "ports"], &["port", "protocol"], "port"),
        (&kubernetes("apps/v1", "DaemonSet"), &[&spec[..], &["containers"]].concat(), &["name"], "name"),
    ] {
        assert_eq!(sharing(at(schema, path)), &keys(map_keys), "{path:?}");
        assert_eq!(patch_rules(schema, path), &merged_by(merge_key), "{path:?}");
    }
}

#[test]
fn a_key_that_may_be_left_out_has_a_default() {
    for (kind, list) in
        [("Pod", &["spec", "containers", "[]", "ports", "[]"][..]), ("Service", &["spec", "ports", "[]"])]
    {
        let schema = kubernetes("v1", kind);
        let port = at(&schema, list).map.as_ref().expect("a map");
        assert_eq!(port.fields["protocol"].default, Some(json!("TCP")), "{kind}");
    }
}

#[test]
fn what_is_atomic_is_shared_and_patched_as_a_whole() {
    let pod = kubernetes("v1", "Pod");
    for list in [&["spec", "tolerations"][..], &["spec", "containers", "[]", "args"]] {
        assert_eq!(sharing(at(&pod, list)), &ListSharing::Atomic, "{list:?}");
        assert_eq!(patch_rules(&pod, list), &PatchRules::default(), "{list:?}");
    }
    let atomic = |schema: &Schema, path: &[&str]| at(schema, path).map.as_ref().expect("a map").atomic;
    assert!(atomic(&pod, &["spec", "nodeSelector"]));
    assert!(atomic(&pod, &["metadata", "ownerReferences", "[]"]));
    assert!(!atomic(&pod, &["metadata", "labels"]));
    assert!(atomic(&kubernetes("v1", "Service"), &["spec", "selector"]));
    assert!(atomic(&kubernetes("apps/v1", "Deployment"), &["spec", "selector"]));
    assert!(!atomic(&kubernetes("v1", "ConfigMap"), &["data"]));
}

#[test]
fn unions_retain_the_keys_of_a_patch() {
    let deployment = kubernetes("apps/v1", "Deployment");
    assert_eq!(
        patch_rules(&deployment, &["spec", "strategy"]),
        &PatchRules { retain_keys: true, ..PatchRules::default() }
    );
    let volumes = ["spec", "template", "spec", "volumes"];
    assert_eq!(patch_rules(&deployment, &volumes), &PatchRules { retain_keys: true, ..merged_by("name") });
    assert_eq!(sharing(at(&deployment, &volumes)), &keys(&["name"]));
}

#[test]
fn a_definition_may_contain_itself() {
    let schema = kubernetes("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    let mut path = vec!["spec", "versions", "[]", "schema", "openAPIV3Schema"];
    for _ in 0..20 {
        path.extend(["properties", "{}"]);
        assert_eq!(sharing(at(&schema, &[&path[..], &["required"]].concat())), &ListSharing::Atomic);
    }
    path.extend(["not", "$ref"]);
    assert_eq!(at(&schema, &path).scalar, Some(Scalar::String));
}

#[test]
fn quantities_and_ports_are_numbers_or_strings() {
    let pod = kubernetes("v1", "Pod");
    let limit = at(&pod, &["spec", "containers", "[]", "resources", "limits", "{}"]);
    assert_eq!((limit.scalar, limit.map.is_none()), (Some(Scalar::Any), true));
    let port = at(&pod, &["spec", "containers", "[]", "livenessProbe", "httpGet", "port"]);
    assert_eq!(port.scalar, Some(Scalar::Any));
}

/// Checks that the difference is the patch, and that the patch leads to the new object.
#[track_caller]
fn check_patch(schema: &Schema, old: Value, new: Value, patch: Value) {
    assert_eq!(strategic::diff(&old, &new, schema).as_ref(), Ok(&Some(patch.clone())));
    assert_eq!(strategic::apply(&old, &patch, schema), Ok(new));
}

#[test]
fn a_strategic_patch_changes_one_container_of_a_deployment() {
    let deployment = |strategy: Value, containers: Value| {
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": { "name": "web", "labels": { "app": "web" } },
            "spec": { "strategy": strategy, "template": { "spec": { "containers": containers } } },
        })
    };
    check_patch(
        &kubernetes("apps/v1", "Deployment"),
        deployment(
            json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1 } }),
            json!([{ "name": "web", "image": "web:1" }, { "name": "log", "image": "log:1" }]),
        ),
        deployment(
            json!({ "type": "Recreate" }),
            json!([{ "name": "web", "image": "web:2" }, { "name": "log", "image": "log:1" }]),
        ),
        json!({ "spec": {
            "strategy": { "$retainKeys": ["type"], "type": "Recreate", "rollingUpdate": null },
            "template": { "spec": {
                "$setElementOrder/containers": [{ "name": "web" }, { "name": "log" }],
                "containers": [{ "name": "web", "image": "web:2" }],
            } },
        } }),
    );
}

#[test]
fn a_strategic_patch_replaces_the_tolerations_of_a_pod_and_merges_the_rest() {
    let pod =
        |finalizers: Value, spec: Value| json!({ "metadata": { "finalizers": finalizers }, "spec": spec });
    check_patch(
        &kubernetes("v1", "Pod"),
        pod(
            json!(["a", "b"]),
            json!({
                "containers": [{ "name": "web", "ports": [{ "containerPort": 80 }, { "containerPort": 81 }] }],
                "tolerations": [{ "key": "x" }],
                "volumes": [{ "name": "data", "emptyDir": {} }],
            }),
        ),
        pod(
            json!(["b"]),
            json!({
                "containers": [{ "name": "web", "ports": [{ "containerPort": 80, "name": "http" }] }],
                "tolerations": [{ "key": "y" }],
                "volumes": [{ "name": "data", "hostPath": { "path": "/" } }],
            }),
        ),
        json!({
            "metadata": {
                "$deleteFromPrimitiveList/finalizers": ["a"],
                "$setElementOrder/finalizers": ["b"],
            },
            "spec": {
                "$setElementOrder/containers": [{ "name": "web" }],
                "containers": [{
                    "name": "web",
                    "$setElementOrder/ports": [{ "containerPort": 80 }],
                    "ports": [
                        { "containerPort": 80, "name": "http" },
                        { "containerPort": 81, "$patch": "delete" },
                    ],
                }],
                "tolerations": [{ "key": "y" }],
                "$setElementOrder/volumes": [{ "name": "data" }],
                "volumes": [{
                    "name": "data",
                    "$retainKeys": ["hostPath", "name"],
                    "hostPath": { "path": "/" },
                    "emptyDir": null,
                }],
            },
        }),
    );
}

#[test]
fn two_managers_share_a_deployment() {
    let schema = kubernetes("apps/v1", "Deployment");
    let deployment = |spec: Value| json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" }, "spec": spec });
    let containers = |containers: Value| json!({ "spec": { "containers": containers } });
    let web = json!({ "name": "web", "image": "web:1", "ports": [{ "containerPort": 80 }] });
    let owner = Writer::new("owner", "apps/v1");
    let created = owner
        .apply(None, &deployment(json!({ "replicas": 1, "template": containers(json!([web])) })), &schema)
        .expect("there is no conflict");

    // A container, and a port with the same number and another protocol, belong to whoever applies them.
    let injector = Writer::new("injector", "apps/v1");
    let template = containers(json!([
        { "name": "web", "ports": [{ "containerPort": 80, "protocol": "UDP" }] },
        { "name": "log", "image": "log:1" },
    ]));
    let both = injector
        .apply(Some(&created), &deployment(json!({ "template": template })), &schema)
        .expect("there is no conflict");
    let found = &both["spec"]["template"]["spec"]["containers"];
    assert_eq!(found[0]["name"], "web");
    assert_eq!(found[0]["image"], "web:1");
    assert_eq!(
        found[0]["ports"],
        json!([{ "containerPort": 80 }, { "containerPort": 80, "protocol": "UDP" }])
    );
    assert_eq!(found[1]["name"], "log");
    assert_eq!(
        both["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:template"]["f:spec"]["f:containers"],
        json!({
            "k:{\"name\":\"log\"}": { ".": {}, "f:image": {}, "f:name": {} },
            "k:{\"name\":\"web\"}": {
                ".": {},
                "f:name": {},
                "f:ports": {
                    "k:{\"containerPort\":80,\"protocol\":\"UDP\"}": {
                        ".": {}, "f:containerPort": {}, "f:protocol": {},
                    },
                },
            },
        })
    );

    let error = injector.apply(Some(&both), &deployment(json!({ "replicas": 2 })), &schema).unwrap_err();
    assert_eq!(error.to_string(), r#"Apply failed with 1 conflict: conflict with "owner": .spec.replicas"#);

    // What a manager does not apply any more goes, if nobody else has it.
    let template = containers(json!([{ "name": "log", "image": "log:1" }]));
    let without = injector
        .apply(Some(&both), &deployment(json!({ "template": template })), &schema)
        .expect("there is no conflict");
    let found = &without["spec"]["template"]["spec"]["containers"];
    assert_eq!(found[0], web);
    assert_eq!(found[1]["name"], "log");

    let error = owner.apply(Some(&without), &deployment(json!({ "replica": 1 })), &schema).unwrap_err();
    assert!(error.to_string().contains("replica"), "{error}");
}
