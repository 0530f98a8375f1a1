use genclient_runtime::{GenClient, ObjectMeta};

genclient_runtime::group_version!("a.example.com/v1");

#[derive(Clone, Debug, GenClient)]
#[genclient(
    annotation("", ""),
    annotation("/note", "a"),
    annotation("a/b/c", "a"),
    annotation("a b", "a"),
    annotation("-a_b/c", "a"),
    annotation("Example.com/note", "a"),
    annotation("Example.com/note", "b"),
)]
pub struct Annotated {
    pub metadata: ObjectMeta,
}

#[derive(Clone, Debug, GenClient)]
#[genclient(
    label("Example.com/part-of", "a"),
    label("a", "not a value"),
    label("b", "-"),
    label("c", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
    label("d", ""),
    label("d", "e"),
)]
pub struct Labelled {
    pub metadata: ObjectMeta,
}

fn main() {}
