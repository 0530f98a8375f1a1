use genclient_runtime::{GenClient, GenClientList, ListMeta, ObjectMeta};

genclient_runtime::group_version!("a.example.com/v1");

#[derive(Clone, Debug, GenClient)]
pub struct Renamed {
    #[serde(rename = "meta")]
    pub metadata: ObjectMeta,
    #[serde(rename = "kind")]
    pub sort: String,
    #[serde(rename(serialize = "apiVersion", deserialize = "av"))]
    pub av: String,
    #[serde(rename = "metadata")]
    pub more: String,
    #[serde(alias = "kind", default)]
    pub species: String,
    #[serde(rename = "status")]
    pub state: Option<String>,
}

#[derive(Clone, Debug, GenClient)]
#[serde(rename_all = "camelCase")]
pub struct ByRule {
    pub metadata: ObjectMeta,
    pub Kind: String,
    pub api_Version: String,
}

#[derive(Clone, Debug, GenClient)]
pub struct Absent {
    #[serde(flatten)]
    pub metadata: ObjectMeta,
    #[serde(skip)]
    pub status: Option<u32>,
}

#[derive(Clone, Debug, GenClient)]
pub struct Twice {
    pub metadata: ObjectMeta,
    pub spec: u32,
    #[serde(rename = "spec")]
    pub other: u32,
    #[serde(alias = "spec")]
    pub third: u32,
}

#[derive(Clone, Debug, GenClientList)]
pub struct TwiceList {
    #[serde(skip_serializing)]
    pub metadata: ListMeta,
    #[serde(rename = "objects")]
    pub items: Vec<Twice>,
}

fn main() {}
