use genclient_runtime::{GenClient, ObjectMeta};

genclient_runtime::group_version!("a.example.com/v1");

#[derive(Clone, Debug, GenClient)]
#[genclient(
    method(name = "get", verb = get, subresource = "a"),
    method(name = "api", verb = get, subresource = "a"),
    method(name = "getLog", verb = get, subresource = "log"),
    method(name = "type", verb = get, subresource = "a"),
    method(name = "watch_it", verb = watch, subresource = "a"),
    method(name = "pull", verb = ptch, subresource = "a"),
    method(name = "quoted", verb = "get"),
    method(name = "start", verb = get, subresource = "Start"),
    method(name = "read", verb = get, subresource = "a", input = Network),
    method(name = "many", verb = get, subresource = "a", result = Vec<Network>),
    method(name = "here", verb = get, subresource = "a", result = "crate::Network"),
    method(verb = get),
    method(name = "nothing"),
    method(name = "same", verb = get, subresource = "a"),
    method(name = "same", verb = get, subresource = "b"),
    method(name = "more", verb = get, subresources = "b"),
    method(name = "pages", verb = get, subresource = "a"),
    method
)]
pub struct Network {
    pub metadata: ObjectMeta,
}

fn main() {}
