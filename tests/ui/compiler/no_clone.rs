use genclient_runtime::{GenClient, GenClientList, ListMeta, ObjectMeta};

genclient_runtime::group_version!("a.example.com/v1");

#[derive(Debug, GenClient)]
pub struct Network {
    pub metadata: ObjectMeta,
}

#[derive(Debug, GenClientList)]
pub struct NetworkList {
    pub metadata: ListMeta,
    pub items: Vec<Network>,
}

fn main() {}
