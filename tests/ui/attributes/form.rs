use genclient_runtime::{GenClient, ObjectMeta};

genclient_runtime::group_version!("a.example.com/v1");

#[derive(Clone, Debug, GenClient)]
#[genclient(
    no_status = true,
    plural,
    singular = 3,
    shortname("a"),
    served = "no",
    annotation("a"),
    label = "a",
    scale,
    crate = rt,
    printcolumn(name = "A"),
    printcolumn(name = "A", type_ = "text", json_path = "spec", priority = "high"),
    selectable = "spec.a",
    validation,
    validation = "a" "b",
    deprecated = 1,
    path = "crate::Network",
    category =,
    "text",
    no_crd no_crd,
)]
pub struct Network {
    pub metadata: ObjectMeta,
}

#[derive(Clone, Debug, GenClient)]
#[genclient]
pub struct Bare {
    pub metadata: ObjectMeta,
}

#[derive(Clone, Debug, GenClient)]
#[genclient = "readonly"]
pub struct Assigned {
    pub metadata: ObjectMeta,
}

fn main() {}
