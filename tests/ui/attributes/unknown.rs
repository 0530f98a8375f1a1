use genclient_runtime::{GenClient, ObjectMeta};

genclient_runtime::group_version!("a.example.com/v1");

#[derive(Clone, Debug, GenClient)]
#[genclient(cluster_scope, shortnames = "a", banana)]
pub struct Network {
    pub metadata: ObjectMeta,
}

#[derive(Clone, Debug, GenClient)]
#[genclient(printcolumn(name = "A", kind = "string", jsonpath = ".spec.a"))]
pub struct Column {
    pub metadata: ObjectMeta,
}

fn main() {}
