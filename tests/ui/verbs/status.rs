use genclient_runtime::{GenClient, ObjectMeta};

genclient_runtime::group_version!("a.example.com/v1");

#[derive(Clone, Debug, GenClient)]
#[genclient(only_verbs(get, update_status))]
pub struct NoField {
    pub metadata: ObjectMeta,
}

#[derive(Clone, Debug, GenClient)]
#[genclient(no_status, only_verbs(apply_status))]
pub struct NoSubresource {
    pub metadata: ObjectMeta,
    pub status: Option<u32>,
}

#[derive(Clone, Debug, GenClient)]
#[genclient(scale(spec_replicas_path = ".spec.replicas", status_replicas_path = ".status.replicas"))]
pub struct Scaled {
    pub metadata: ObjectMeta,
}

#[derive(Clone, Debug, GenClient)]
#[genclient(method(name = "get_status", verb = get, subresource = "status"))]
pub struct Method {
    pub metadata: ObjectMeta,
}

fn main() {}
