use genclient_runtime::{GenClient, ObjectMeta};

genclient_runtime::group_version!("a.example.com/v1");

#[derive(Clone, Debug, GenClient)]
#[genclient(
    selectable = "spec.a",
    selectable = ".metadata.name",
    selectable = ".spec.names[0]",
    selectable = ".spec..a",
    selectable = ".spec.a",
    selectable = ".spec.a",
)]
pub struct Selectable {
    pub metadata: ObjectMeta,
}

#[derive(Clone, Debug, GenClient)]
#[genclient(
    selectable = ".spec.a",
    selectable = ".spec.b",
    selectable = ".spec.c",
    selectable = ".spec.d",
    selectable = ".spec.e",
    selectable = ".spec.f",
    selectable = ".spec.g",
    selectable = ".spec.h",
    selectable = ".spec.i",
)]
pub struct TooMany {
    pub metadata: ObjectMeta,
}

#[derive(Clone, Debug, GenClient)]
#[genclient(scale(
    spec_replicas_path = ".status.replicas",
    status_replicas_path = ".spec.replicas",
    label_selector_path = "nonsense"
))]
pub struct Scaled {
    pub metadata: ObjectMeta,
    pub status: Option<u32>,
}

fn main() {}
