//! Tables, metadata only, YAML, and discovery.

use serde_json::json;

use crate::{
    Scenario,
    kinds::{CONFIG_MAPS, CRDS, GADGETS, WIDGETS, config_map, gadget, widget},
    scenario::*,
};

const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

pub(super) fn scenarios() -> Vec<Scenario> {
    let one = |name: &str| format!("{CONFIG_MAPS}/{name}");
    let cm = |name: &str| create(CONFIG_MAPS, config_map(name, json!({"k": "v", "l": "w"})));
    vec![
        scenario(
            "a list as a table",
            [
                cm("a"),
                cm("b"),
                get(CONFIG_MAPS).accept(TABLE),
                get(CONFIG_MAPS).accept(TABLE).query("limit=1"),
            ],
        ),
        scenario(
            "an object as a table",
            [cm("a"), get(one("a")).accept(TABLE), get(one("absent")).accept(TABLE)],
        ),
        scenario(
            "a table with whole objects or none",
            [
                cm("a"),
                get(CONFIG_MAPS).accept(TABLE).query("includeObject=Object"),
                get(CONFIG_MAPS).accept(TABLE).query("includeObject=None"),
                get(CONFIG_MAPS).accept(TABLE).query("includeObject=Metadata"),
                get(CONFIG_MAPS).accept(TABLE).query("includeObject=Everything"),
            ],
        ),
        scenario(
            "a table of custom objects has their columns",
            [
                create(WIDGETS, widget("a", json!({"color": "red", "size": 3}))),
                create(WIDGETS, widget("b", json!({}))),
                get(WIDGETS).accept(TABLE),
                get(format!("{WIDGETS}/a")).accept(TABLE),
            ],
        ),
        scenario(
            "a table of custom objects without columns has name and age",
            [create(GADGETS, gadget("a", json!({}))), get(GADGETS).accept(TABLE)],
        ),
        scenario("an empty table has columns", [get(CONFIG_MAPS).accept(TABLE), get(WIDGETS).accept(TABLE)]),
        scenario(
            "a table is one of several accepted answers",
            [
                cm("a"),
                get(CONFIG_MAPS).accept(&format!("{TABLE},application/json")),
                get(CONFIG_MAPS).accept(&format!(
                    "application/json;as=Table;g=meta.k8s.io;v=v9,{TABLE},application/json"
                )),
            ],
        ),
        scenario(
            "a table of deployments, pods and secrets",
            [
                create(
                    "/apis/apps/v1/namespaces/{ns}/deployments",
                    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"app": "d"}}, "template": {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}),
                ),
                get("/apis/apps/v1/namespaces/{ns}/deployments").accept(TABLE).query("includeObject=None"),
                get("/api/v1/namespaces/{ns}/pods").accept(TABLE).query("includeObject=None"),
                get("/api/v1/namespaces/{ns}/secrets").accept(TABLE).query("includeObject=None"),
            ],
        ),
        scenario(
            "metadata only, of an object and of a list",
            [
                cm("a"),
                get(one("a")).accept(METADATA),
                get(CONFIG_MAPS).accept(METADATA_LIST),
                get(CONFIG_MAPS).accept(METADATA),
                create(WIDGETS, widget("a", json!({"size": 1}))),
                get(format!("{WIDGETS}/a")).accept(METADATA),
                get(WIDGETS).accept(METADATA_LIST),
                get(WIDGETS).accept(METADATA_LIST).query("limit=1"),
            ],
        ),
        scenario(
            "writes can answer with metadata only",
            [
                cm("a").accept(METADATA),
                merge_patch(one("a"), json!({"data": {"k": "x"}})).accept(METADATA),
                delete(one("a")).accept(METADATA),
                create(WIDGETS, widget("a", json!({"size": 1}))).accept(METADATA),
            ],
        ),
        scenario("writes can answer with a table", [cm("a").accept(TABLE), delete(one("a")).accept(TABLE)]),
        scenario(
            "an answer in YAML",
            [
                cm("a"),
                get(one("absent")).accept("application/yaml"),
                create(CONFIG_MAPS, config_map("b", json!({"lines": "a\n b\n", "number": "5", "long": "word ".repeat(30), "a: b": "no key"}))).accept("application/yaml"),
                get("/apis/parity.example.com").accept("application/yaml"),
                get(format!("{WIDGETS}/absent")).accept("application/yaml"),
            ],
        ),
        scenario(
            "the old versions of table and metadata",
            [
                cm("a"),
                get(CONFIG_MAPS).accept("application/json;as=Table;g=meta.k8s.io;v=v1beta1"),
                get(CONFIG_MAPS)
                    .accept("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1beta1"),
            ],
        ),
        scenario(
            "a table of a namespace and of definitions",
            [
                get("/api/v1/namespaces/{ns}").accept(TABLE).query("includeObject=None"),
                get(format!("{CRDS}/widgets.parity.example.com")).accept(TABLE).query("includeObject=None"),
            ],
        ),
        scenario("the versions of the core group", [get("/api")]),
        scenario(
            "the resources of a group's version",
            [
                get("/apis/parity.example.com/v1"),
                get("/apis/parity.example.com/v1beta1"),
                get("/apis/parity.example.com"),
            ],
        ),
        scenario(
            "the resources of built-in groups",
            [
                get("/apis/apps/v1"),
                get("/apis/batch/v1"),
                get("/apis/coordination.k8s.io/v1"),
                get("/apis/apiextensions.k8s.io/v1"),
                get("/apis/rbac.authorization.k8s.io/v1"),
                get("/apis/apps"),
            ],
        ),
        scenario("the resources of the core group", [get("/api/v1")]),
        scenario(
            "the resources of all other built-in groups",
            [
                get("/apis/admissionregistration.k8s.io/v1"),
                get("/apis/apiregistration.k8s.io/v1"),
                get("/apis/authentication.k8s.io/v1"),
                get("/apis/authorization.k8s.io/v1"),
                get("/apis/autoscaling/v1"),
                get("/apis/autoscaling/v2"),
                get("/apis/certificates.k8s.io/v1"),
                get("/apis/discovery.k8s.io/v1"),
                get("/apis/events.k8s.io/v1"),
                get("/apis/flowcontrol.apiserver.k8s.io/v1"),
                get("/apis/networking.k8s.io/v1"),
                get("/apis/node.k8s.io/v1"),
                get("/apis/policy/v1"),
                get("/apis/resource.k8s.io/v1"),
                get("/apis/scheduling.k8s.io/v1"),
                get("/apis/storage.k8s.io/v1"),
            ],
        ),
        scenario(
            "groups that nobody knows are not discovered",
            [
                get("/apis/unknown.example.com"),
                get("/apis/unknown.example.com/v1"),
                get("/apis/apps/v9"),
                get("/api/v9"),
            ],
        ),
        scenario("discovery is read with a slash", [get("/apis/parity.example.com/v1/"), get("/api/")]),
        scenario("the aggregated discovery of the core group", [get("/api").accept(AGGREGATED)]),
        scenario(
            "the server tells that it is alive and ready",
            [get("/healthz"), get("/readyz"), get("/livez")],
        ),
    ]
}
