use genclient_runtime::{GenClient, ObjectMeta};

#[derive(Clone, Debug, GenClient)]
pub struct Network {
    pub metadata: ObjectMeta,
}

fn main() {}
