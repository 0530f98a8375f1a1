use genclient_runtime::{GenClient, ObjectMeta};

genclient_runtime::group_version!("a.example.com/v1");

#[derive(Clone, Debug, GenClient)]
#[genclient(only_verbs(get), skip_verbs(watch))]
pub struct OnlyAndSkip {
    pub metadata: ObjectMeta,
}

#[derive(Clone, Debug, GenClient)]
#[genclient(no_verbs, readonly, only_verbs(get))]
pub struct Three {
    pub metadata: ObjectMeta,
}

#[derive(Clone, Debug, GenClient)]
#[genclient(readonly, skip_verbs(create))]
pub struct AlreadySkipped {
    pub metadata: ObjectMeta,
}

fn main() {}
