use genclient_runtime::{GenClient, ObjectMeta};

genclient_runtime::group_version!("a.example.com/v1");

#[derive(Clone, Debug, GenClient)]
#[genclient(no_crd)]
pub struct Network {
    pub metadata: ObjectMeta,
    pub spec: NetworkSpec,
}

#[derive(Clone, Debug)]
pub struct NetworkSpec {
    pub cidr: String,
}

fn main() {}
