use genclient_runtime::{GenClient, ObjectMeta};

genclient_runtime::group_version!("a.example.com/v1");

#[derive(Clone, Debug, GenClient)]
#[genclient(shortname = "n", category = "all", shortname = "n", category = "all")]
pub struct Network {
    pub metadata: ObjectMeta,
}

#[derive(Clone, Debug, GenClient)]
#[genclient(deprecated = "")]
pub struct Silent {
    pub metadata: ObjectMeta,
}

#[derive(Clone, Debug, GenClient)]
#[genclient(deprecated = "two\nlines")]
pub struct Lines {
    pub metadata: ObjectMeta,
}

fn main() {}
