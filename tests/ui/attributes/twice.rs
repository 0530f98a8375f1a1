use genclient_runtime::{GenClient, ObjectMeta};

genclient_runtime::group_version!("a.example.com/v1");

#[derive(Clone, Debug, GenClient)]
#[genclient(cluster_scoped, plural = "a")]
#[genclient(plural = "b", cluster_scoped)]
pub struct Network {
    pub metadata: ObjectMeta,
}

#[derive(Clone, Debug, GenClient)]
#[genclient(printcolumn(name = "A", name = "B", type_ = "string", json_path = ".a"))]
pub struct Column {
    pub metadata: ObjectMeta,
}

fn main() {}
