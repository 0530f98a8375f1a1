use genclient_runtime::{GenClient, ObjectMeta};

genclient_runtime::group_version!("a.example.com/v1");

#[derive(Clone, GenClient)]
pub struct Network {
    pub metadata: ObjectMeta,
}

fn main() {}
