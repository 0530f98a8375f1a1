use genclient_runtime::{GenClientList, ListMeta};

// The name fits, the type is another one: a list of the same kind's namesake elsewhere.
mod other {
    use genclient_runtime::{GenClient, ObjectMeta};

    genclient_runtime::group_version!("other.example.com/v1");

    #[derive(Clone, Debug, GenClient)]
    pub struct Subnet {
        pub metadata: ObjectMeta,
    }
}

mod renamed {
    pub use super::other::Subnet as Network;
}

#[derive(Clone, Debug, GenClientList)]
pub struct NetworkList {
    pub metadata: ListMeta,
    pub items: Vec<renamed::Network>,
}

fn main() {}
