use genclient_runtime::{GenClient, ObjectMeta};

genclient_runtime::group_version!("a.example.com/v1");

#[derive(Clone, Debug, GenClient)]
pub struct NoMetadata {
    pub spec: u32,
}

#[derive(Clone, Debug, GenClient)]
pub struct WrongMetadata {
    pub metadata: genclient_runtime::ListMeta,
}

#[derive(Clone, Debug, GenClient)]
pub struct OptionalMetadata {
    pub metadata: Option<ObjectMeta>,
}

#[derive(Clone, Debug, GenClient)]
pub struct Reserved {
    pub metadata: ObjectMeta,
    pub kind: String,
    pub api_version: String,
}

fn main() {}
