use genclient_runtime::{GenClient, ObjectMeta};

genclient_runtime::group_version!("a.example.com/v1");
genclient_runtime::group_version!("b.example.com/v1");

#[derive(Clone, Debug, GenClient)]
pub struct Network {
    pub metadata: ObjectMeta,
}

mod inner {
    genclient_runtime::group_version!(super);
    genclient_runtime::group_version!("b.example.com/v1");
}

fn main() {}
