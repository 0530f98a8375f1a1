// A whole object is not what a manager wants to own.
use genclient_runtime::{GenClient, ObjectMeta, TypedClient};

genclient_runtime::group_version!("a.example.com/v1");

#[derive(Clone, Debug, GenClient)]
pub struct Widget {
    pub metadata: ObjectMeta,
}

fn apply(widgets: &TypedClient<Widget>, widget: &Widget) {
    let _ = widgets.apply(widget);
}

fn main() {}
