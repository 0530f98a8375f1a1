mod inner {
    use genclient_runtime::{GenClient, ObjectMeta};

    genclient_runtime::group_version!(super);

    #[derive(Clone, Debug, GenClient)]
    pub struct Network {
        pub metadata: ObjectMeta,
    }
}

fn main() {}
