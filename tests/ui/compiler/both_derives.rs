// A derive does not see the others: the command line names both of them instead.
use genclient_runtime::{GenClient, GenClientList, ListMeta, ObjectMeta};

genclient_runtime::group_version!("a.example.com/v1");

#[derive(Clone, Debug, GenClient, GenClientList)]
pub struct BothList {
    pub metadata: ObjectMeta,
    pub items: Vec<Both>,
}

#[derive(Clone, Debug, GenClient)]
#[derive(GenClientList)]
pub struct OtherBothList {
    pub metadata: ListMeta,
    pub items: Vec<OtherBoth>,
}

fn main() {}
