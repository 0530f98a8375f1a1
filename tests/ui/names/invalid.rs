use genclient_runtime::{GenClient, ObjectMeta};

genclient_runtime::group_version!("a.example.com/v1");

#[derive(Clone, Debug, GenClient)]
#[genclient(plural = "Networks", singular = "net_work", shortname = "-n", shortname = "", category = "a b")]
pub struct Network {
    pub metadata: ObjectMeta,
}

#[derive(Clone, Debug, GenClient)]
#[genclient(plural = "9s", path = "not a path")]
pub struct Digit {
    pub metadata: ObjectMeta,
}

#[derive(Clone, Debug, GenClient)]
pub struct Under_score {
    pub metadata: ObjectMeta,
}

#[derive(Clone, Debug, GenClient)]
pub struct Kindindindindindindindindindindindindindindindindindindindindindind {
    pub metadata: ObjectMeta,
}

fn main() {}
