use genclient_runtime::{GenClient, ObjectMeta};

genclient_runtime::group_version!("a.example.com/v1");

#[derive(Clone, Debug, GenClient)]
#[genclient(only_verbs(get, lst, destroy_everything))]
pub struct Network {
    pub metadata: ObjectMeta,
}

#[derive(Clone, Debug, GenClient)]
#[genclient(skip_verbs(get, get), readonly)]
pub struct Twice {
    pub metadata: ObjectMeta,
}

#[derive(Clone, Debug, GenClient)]
#[genclient(only_verbs())]
pub struct Empty {
    pub metadata: ObjectMeta,
}

#[derive(Clone, Debug, GenClient)]
#[genclient(skip_verbs("watch"))]
pub struct Text {
    pub metadata: ObjectMeta,
}

fn main() {}
