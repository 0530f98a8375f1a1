use genclient_runtime::{GenClient, GenClientList, ListMeta, ObjectMeta};

genclient_runtime::group_version!("a.example.com/v1");

#[derive(Clone, Debug, GenClient)]
pub struct Network {
    pub metadata: ObjectMeta,
}

#[derive(Clone, Debug, GenClientList)]
pub struct NetworkList {
    pub metadata: ListMeta,
}

#[derive(Clone, Debug, GenClientList)]
pub struct OtherList {
    pub metadata: ListMeta,
    pub items: Vec<Network>,
}

#[derive(Clone, Debug, GenClientList)]
pub struct SliceList {
    pub metadata: ListMeta,
    pub items: Box<[Network]>,
}

#[derive(Clone, Debug, GenClientList)]
pub struct Networks {
    pub metadata: ListMeta,
    pub items: Vec<Network>,
}

#[derive(Clone, Debug, GenClientList)]
#[genclient(readonly)]
pub struct MetaList {
    pub metadata: ObjectMeta,
    pub items: Vec<Meta>,
}

#[derive(Clone, Debug, GenClientList)]
#[genclient(crate = "not a path")]
pub struct CrateList {
    pub metadata: ListMeta,
    pub items: Vec<Crate>,
}

fn main() {}
