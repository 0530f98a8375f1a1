pub mod core {
    use genclient_runtime::{GenClient, ObjectMeta};

    genclient_runtime::group_version!("v1");

    #[derive(Clone, Debug, GenClient)]
    pub struct Network {
        pub metadata: ObjectMeta,
    }

    #[derive(Clone, Debug, GenClient)]
    #[genclient(no_crd)]
    pub struct Pod {
        pub metadata: ObjectMeta,
    }
}

pub mod without_a_dot {
    use genclient_runtime::{GenClient, ObjectMeta};

    genclient_runtime::group_version!("acme/v1");

    #[derive(Clone, Debug, GenClient)]
    pub struct Network {
        pub metadata: ObjectMeta,
    }

    #[derive(Clone, Debug, GenClient)]
    #[genclient(no_crd)]
    pub struct Deployment {
        pub metadata: ObjectMeta,
    }
}

fn main() {}
