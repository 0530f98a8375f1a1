use genclient_runtime::{GenClient, ObjectMeta};

genclient_runtime::group_version!("a.example.com/v1");

#[derive(Clone, Debug, GenClient)]
pub struct Network {
    pub metadata: ObjectMeta,
    pub spec: NetworkSpec,
}

#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct NetworkSpec {
    pub cidr: String,
}

fn main() {}
