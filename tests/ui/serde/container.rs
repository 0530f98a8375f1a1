use genclient_runtime::{GenClient, GenClientList, ListMeta, ObjectMeta};

genclient_runtime::group_version!("a.example.com/v1");

#[derive(Clone, Debug, GenClient)]
#[serde(tag = "kind")]
pub struct Tagged {
    pub metadata: ObjectMeta,
}

#[derive(Clone, Debug, GenClient)]
#[serde(untagged)]
#[serde(content = "spec")]
pub struct Untagged {
    pub metadata: ObjectMeta,
}

#[derive(Clone, Debug, GenClient)]
#[serde(transparent)]
pub struct Transparent {
    pub metadata: ObjectMeta,
}

#[derive(Clone, Debug, GenClient)]
#[serde(from = "Wire", into = "Wire")]
pub struct Converted {
    pub metadata: ObjectMeta,
}

#[derive(Clone, Debug, GenClient)]
#[serde(try_from = "Wire", remote = "Wire")]
pub struct Elsewhere {
    pub metadata: ObjectMeta,
}

#[derive(Clone, Debug, GenClientList)]
#[serde(transparent)]
pub struct TaggedList {
    pub metadata: ListMeta,
    pub items: Vec<Tagged>,
}

#[derive(Clone, Debug, GenClient)]
#[serde = "tag"]
#[serde(rename "a")]
pub struct Malformed {
    pub metadata: ObjectMeta,
}

fn main() {}
