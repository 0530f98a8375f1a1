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

#[derive(Clone, Debug, GenClient)]
pub struct RawReserved {
    pub metadata: ObjectMeta,
    pub r#kind: String,
    pub r#api_version: String,
}

#[derive(Clone, Debug, GenClient)]
pub struct AlwaysReported {
    pub metadata: ObjectMeta,
    pub r#status: std::string::String,
}

fn main() {}
