//! Custom resource definitions: their life, and what they refuse.

use serde_json::{Value, json};

use crate::{
    Scenario,
    kinds::{CRDS, TICKETS, TICKETS_BETA, definition, ticket, with_metadata},
    scenario::*,
};

const NAME: &str = "things.{group}";
const THINGS: &str = "/apis/{group}/v1/namespaces/{ns}/things";

/// A definition of things, changed by a function.
fn things(change: impl FnOnce(&mut Value)) -> Value {
    let mut definition = definition(
        "{group}",
        "Thing",
        "Namespaced",
        json!({"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}),
    );
    change(&mut definition);
    definition
}

fn thing(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "{group}/v1", "kind": "Thing", "metadata": {"name": name}, "spec": spec})
}

/// A definition that is sent for the answer only, so that one that is not refused does not stand in the way of
/// the next one.
fn tried(definition: Value) -> Step {
    create(CRDS, definition).query("dryRun=All")
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let path = || format!("{CRDS}/{NAME}");
    let install = || [create(CRDS, things(|_| ())), established(NAME), served(THINGS)];
    let schema =
        |schema: Value| tried(things(|d| d["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema));
    let property = |property: Value| {
        tried(things(|d| {
            d["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["x"] =
                property
        }))
    };
    let mut scenarios = vec![
        scenario(
            "a definition is created and established",
            [create(CRDS, things(|_| ())), established(NAME)],
        ),
        scenario(
            "objects of a definition are served when it is established",
            [
                get(THINGS),
                create(CRDS, things(|_| ())),
                established(NAME),
                served(THINGS),
                create(THINGS, thing("a", json!({"size": 1}))),
                get(THINGS),
            ],
        ),
        scenario(
            "a definition is created once",
            [create(CRDS, things(|_| ())), create(CRDS, things(|_| ()))],
        ),
        scenario(
            "a definition's name is its plural and its group",
            [
                tried(with_metadata(things(|_| ()), json!({"name": "others.{group}"}))),
                tried(with_metadata(things(|_| ()), json!({"name": "things"}))),
            ],
        ),
        scenario(
            "a definition without required fields is refused",
            [
                tried(things(|d| d["spec"] = json!({}))),
                tried(things(|d| d["spec"]["names"] = json!({"plural": "things"}))),
                tried(things(|d| d["spec"]["versions"] = json!([]))),
                tried(things(|d| d["spec"]["scope"] = json!("Everywhere"))),
                tried(things(|d| d["spec"]["group"] = json!("plain"))),
                tried(things(|d| d["spec"]["names"]["kind"] = json!("thing_"))),
                tried(things(|d| {
                    d["spec"]["versions"][0].as_object_mut().map(|v| v.remove("schema"));
                })),
            ],
        ),
        scenario(
            "exactly one version is stored",
            [
                tried(things(|d| d["spec"]["versions"][0]["storage"] = json!(false))),
                tried(things(|d| {
                    let second = d["spec"]["versions"][0].clone();
                    d["spec"]["versions"].as_array_mut().unwrap().push(second);
                    d["spec"]["versions"][1]["name"] = json!("v2");
                })),
                tried(things(|d| {
                    let second = d["spec"]["versions"][0].clone();
                    d["spec"]["versions"].as_array_mut().unwrap().push(second);
                    d["spec"]["versions"][1]["storage"] = json!(false);
                })),
            ],
        ),
        scenario(
            "a schema that is not structural is refused",
            [
                schema(json!({"properties": {"spec": {"type": "object"}}})),
                schema(
                    json!({"type": "object", "properties": {"spec": {"properties": {"a": {"type": "string"}}}}}),
                ),
                schema(json!({"type": "array", "items": {"type": "string"}})),
            ],
        ),
        scenario("a property without a type is refused", [property(json!({}))]),
        scenario("a property of an unknown type is refused", [property(json!({"type": "text"}))]),
        scenario("an array without items is refused", [property(json!({"type": "array"}))]),
        scenario(
            "a default that does not fit is refused",
            [property(json!({"type": "integer", "default": "x"}))],
        ),
        scenario(
            "a default that is pruned is refused",
            [property(json!({"type": "object", "default": {"a": 1}}))],
        ),
        scenario(
            "a pattern that does not compile is refused",
            [property(json!({"type": "string", "pattern": "("}))],
        ),
        scenario(
            "a list that is a map needs its keys",
            [
                property(
                    json!({"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object", "properties": {"a": {"type": "string"}}}}),
                ),
                property(
                    json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["b"], "items": {"type": "object", "properties": {"a": {"type": "string"}}}}),
                ),
                property(
                    json!({"type": "array", "x-kubernetes-list-type": "heap", "items": {"type": "string"}}),
                ),
                property(json!({"type": "object", "x-kubernetes-list-type": "set"})),
                property(json!({"type": "string", "x-kubernetes-map-type": "atomic"})),
            ],
        ),
        scenario(
            "properties and additional properties exclude each other",
            [property(
                json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}),
            )],
        ),
        scenario(
            "a rule that does not compile is refused",
            [
                property(json!({"type": "string", "x-kubernetes-validations": [{"rule": "self ="}]})),
                property(
                    json!({"type": "string", "x-kubernetes-validations": [{"rule": "self.absent == 1"}]}),
                ),
                property(json!({"type": "string", "x-kubernetes-validations": [{"rule": ""}]})),
                property(json!({"type": "string", "x-kubernetes-validations": [{"rule": "self"}]})),
            ],
        ),
        scenario("a reference in a schema is refused", [property(json!({"$ref": "#/a"}))]),
        scenario(
            "metadata in a schema may only be named",
            [
                schema(
                    json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}}),
                ),
                schema(
                    json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 3}}}}}),
                ),
            ],
        ),
        scenario(
            "a group of Kubernetes needs an approval",
            [
                tried(things(|d| {
                    d["metadata"]["name"] = json!("things.{id}.k8s.io");
                    d["spec"]["group"] = json!("{id}.k8s.io");
                })),
                tried(things(|d| {
                    d["metadata"]["name"] = json!("things.{id}.k8s.io");
                    d["metadata"]["annotations"] =
                        json!({"api-approved.kubernetes.io": "unapproved, a test"});
                    d["spec"]["group"] = json!("{id}.k8s.io");
                })),
            ],
        ),
        scenario(
            "subresources and columns are checked",
            [
                tried(things(|d| d["spec"]["versions"][0]["subresources"] = json!({"scale": {}}))),
                tried(things(|d| {
                    d["spec"]["versions"][0]["subresources"] =
                        json!({"scale": {"specReplicasPath": "spec.x", "statusReplicasPath": ".metadata.x"}})
                })),
                tried(things(|d| {
                    d["spec"]["versions"][0]["additionalPrinterColumns"] =
                        json!([{"name": "a", "type": "text", "jsonPath": ".spec"}])
                })),
                tried(things(|d| {
                    d["spec"]["versions"][0]["additionalPrinterColumns"] =
                        json!([{"name": "", "type": "string"}])
                })),
                tried(things(|d| {
                    d["spec"]["versions"][0]["selectableFields"] = json!([{"jsonPath": ".spec.absent"}])
                })),
                tried(things(|d| {
                    d["spec"]["versions"][0]["selectableFields"] = json!([{"jsonPath": "spec["}])
                })),
            ],
        ),
        scenario(
            "a conversion is checked",
            [
                tried(things(|d| d["spec"]["conversion"] = json!({"strategy": "Magic"}))),
                tried(things(|d| d["spec"]["conversion"] = json!({"strategy": "Webhook"}))),
                tried(things(|d| d["spec"]["preserveUnknownFields"] = json!(true))),
            ],
        ),
        scenario(
            "a definition fills in the names that are missing",
            [
                create(
                    CRDS,
                    things(|d| {
                        d["spec"]["names"] = json!({"plural": "things", "kind": "Thing"});
                    }),
                ),
                established(NAME),
            ],
        ),
        scenario(
            "names that are taken are not accepted",
            [
                create(CRDS, things(|_| ())),
                established(NAME),
                create(
                    CRDS,
                    things(|d| {
                        d["metadata"]["name"] = json!("others.{group}");
                        d["spec"]["names"]["plural"] = json!("others");
                        d["spec"]["names"]["singular"] = json!("other");
                    }),
                ),
                get(format!("{CRDS}/others.{{group}}")).until(|answer| {
                    answer["body"]["status"]["conditions"].as_array().is_some_and(|c| c.len() == 2)
                }),
            ],
        ),
        scenario(
            "a definition's columns are shown in a table",
            [
                create(
                    CRDS,
                    things(|d| {
                        d["spec"]["versions"][0]["additionalPrinterColumns"] = json!([
                            {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "format": "int32"},
                            {"name": "Missing", "type": "string", "jsonPath": ".spec.missing"},
                        ])
                    }),
                ),
                established(NAME),
                served(THINGS),
                create(THINGS, thing("a", json!({"size": 4}))),
                get(THINGS).accept("application/json;as=Table;g=meta.k8s.io;v=v1"),
            ],
        ),
        scenario(
            "two versions are one object",
            [
                create(TICKETS, ticket("v1", "a", json!({"subject": "s"}))),
                get(format!("{TICKETS_BETA}/a")),
                create(TICKETS_BETA, ticket("v1beta1", "b", json!({"subject": "t", "old": "o"}))),
                get(format!("{TICKETS}/b")),
                get(TICKETS_BETA),
                merge_patch(format!("{TICKETS_BETA}/a"), json!({"spec": {"old": "x"}})),
                get(format!("{TICKETS}/a")),
                delete(format!("{TICKETS_BETA}/a")),
            ],
        ),
        scenario(
            "a watch of one version shows writes of the other",
            [
                create(TICKETS, ticket("v1", "a", json!({"subject": "s"}))).saved("a"),
                watch("w", TICKETS_BETA).query("resourceVersion={a.metadata.resourceVersion}"),
                merge_patch(format!("{TICKETS}/a"), json!({"spec": {"subject": "t"}})),
                events("w", 1),
            ],
        ),
        scenario(
            "a body of another version than the path is refused",
            [
                create(TICKETS, ticket("v1beta1", "a", json!({}))),
                create(TICKETS_BETA, ticket("v1", "a", json!({}))),
            ],
        ),
        scenario(
            "fields that two versions apply are tracked by version",
            [
                apply(format!("{TICKETS}/a"), "one", ticket("v1", "a", json!({"subject": "s"}))),
                apply(format!("{TICKETS_BETA}/a"), "two", ticket("v1beta1", "a", json!({"old": "o"}))),
                apply(format!("{TICKETS_BETA}/a"), "two", ticket("v1beta1", "a", json!({"subject": "mine"}))),
            ],
        ),
        scenario(
            "a definition is read in every way",
            [
                create(CRDS, things(|_| ())),
                established(NAME),
                get(format!("{}/status", path())),
                get(CRDS).query(&format!("fieldSelector=metadata.name%3D{NAME}")),
            ],
        ),
        scenario(
            "a definition's status is a subresource",
            [create(CRDS, things(|d| d["status"] = json!({"storedVersions": ["v7"]}))), established(NAME)],
        ),
        scenario(
            "a definition's group, scope and kind do not change",
            [
                create(CRDS, things(|_| ())),
                established(NAME),
                merge_patch(path(), json!({"spec": {"scope": "Cluster"}})),
                merge_patch(path(), json!({"spec": {"group": "other.example.com"}})),
                merge_patch(path(), json!({"spec": {"names": {"kind": "Other"}}})),
                merge_patch(path(), json!({"spec": {"names": {"plural": "others"}}})),
            ],
        ),
    ];
    scenarios.push(scenario(
        "a definition that is deleted takes its objects with it",
        install().into_iter().chain([
            create(THINGS, thing("a", json!({"size": 1}))),
            delete(path()),
            gone(path()),
            get(THINGS).until(|answer| answer["status"] == 404),
            create(CRDS, things(|_| ())),
            established(NAME),
            served(THINGS),
            get(THINGS),
        ]),
    ));
    scenarios.push(scenario(
        "a definition waits for the finalizers of its objects",
        install().into_iter().chain([
            create(THINGS, with_metadata(thing("a", json!({})), json!({"finalizers": ["example.com/f"]}))),
            delete(path()),
            get(format!("{THINGS}/a"))
                .until(|answer| answer["body"]["metadata"]["deletionTimestamp"].is_string()),
            create(THINGS, thing("b", json!({}))).query("dryRun=All").until(|answer| answer["status"] == 403),
            merge_patch(format!("{THINGS}/a"), json!({"metadata": {"finalizers": null}})),
            gone(path()),
        ]),
    ));
    scenarios.push(scenario(
        "a changed schema holds for later writes",
        install().into_iter().chain([
            create(THINGS, thing("a", json!({"size": 1, "color": "red"}))),
            json_patch(path(), json!([
                {"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/color", "value": {"type": "string", "default": "blue"}},
                {"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size/maximum", "value": 5},
            ])),
            get(format!("{THINGS}/a")).until(|answer| answer["body"]["spec"]["color"] == "blue"),
            merge_patch(format!("{THINGS}/a"), json!({"spec": {"size": 9}})),
            merge_patch(format!("{THINGS}/a"), json!({"spec": {"color": "green"}})),
        ]),
    ));
    scenarios.push(scenario(
        "a new version is served, and an old one no longer",
        install().into_iter().chain([
            create(THINGS, thing("a", json!({"size": 1}))),
            json_patch(path(), json!([{"op": "add", "path": "/spec/versions/-", "value": {
                "name": "v2", "served": true, "storage": false,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }}])),
            served("/apis/{group}/v2/namespaces/{ns}/things"),
            get("/apis/{group}/v2/namespaces/{ns}/things/a"),
            json_patch(path(), json!([
                {"op": "replace", "path": "/spec/versions/0/storage", "value": false},
                {"op": "replace", "path": "/spec/versions/0/served", "value": false},
                {"op": "replace", "path": "/spec/versions/1/storage", "value": true},
            ])),
            get(THINGS).until(|answer| answer["status"] == 404),
            get(path()).until(|answer| answer["body"]["status"]["storedVersions"].as_array().is_some_and(|v| v.len() == 2)),
            json_patch(path(), json!([{"op": "remove", "path": "/spec/versions/0"}])),
            merge_patch(format!("{}/status", path()), json!({"status": {"storedVersions": ["v2"]}})),
            json_patch(path(), json!([{"op": "remove", "path": "/spec/versions/0"}])),
            // The object was stored in the version that is gone.
            get("/apis/{group}/v2/namespaces/{ns}/things/a").until(|answer| answer["status"] != 200),
        ]),
    ));
    scenarios.push(scenario(
        "a watch ends when its definition is deleted",
        install().into_iter().chain([
            create(THINGS, thing("a", json!({}))).saved("a"),
            watch("w", THINGS).query("resourceVersion={a.metadata.resourceVersion}"),
            delete(path()),
            ended("w"),
        ]),
    ));
    scenarios.push(scenario(
        "a definition is found in discovery",
        install().into_iter().chain([
            get("/apis/{group}/v1").until(|answer| answer["status"] == 200),
            get("/apis/{group}").until(|answer| answer["status"] == 200),
        ]),
    ));
    scenarios.push(scenario(
        "a cluster-scoped definition has no namespaces",
        [
            create(CRDS, things(|d| d["spec"]["scope"] = json!("Cluster"))),
            established(NAME),
            served("/apis/{group}/v1/things"),
            create("/apis/{group}/v1/things", thing("a", json!({}))),
            get(format!("{THINGS}/a")),
            create(THINGS, thing("b", json!({}))),
        ],
    ));
    scenarios
}
