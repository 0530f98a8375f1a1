use genclient_runtime::{GenClient, ObjectMeta};

genclient_runtime::group_version!("a.example.com/v1");

#[derive(Clone, Debug, GenClient)]
#[genclient(method(name = "start", verb = create, subresource = "start", input = Unsendable, result = Unsendable))]
pub struct Network {
    pub metadata: ObjectMeta,
}

pub struct Unsendable;

fn main() {}
