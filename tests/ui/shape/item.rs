use genclient_runtime::{GenClient, ObjectMeta};

genclient_runtime::group_version!("a.example.com/v1");

#[derive(Clone, Debug, GenClient)]
pub enum Choice {
    A,
}

#[derive(Clone, Debug, GenClient)]
pub struct Tuple(ObjectMeta);

#[derive(Clone, Debug, GenClient)]
pub struct Unit;

#[derive(Clone, Debug, GenClient)]
pub struct Generic<T> {
    pub metadata: ObjectMeta,
    pub spec: T,
}

#[derive(Clone, Copy, GenClient)]
pub union Union {
    pub metadata: u32,
}

fn main() {}
