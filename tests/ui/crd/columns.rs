use genclient_runtime::{GenClient, ObjectMeta};

genclient_runtime::group_version!("a.example.com/v1");

#[derive(Clone, Debug, GenClient)]
#[genclient(
    printcolumn(name = "", type_ = "string", json_path = ".spec.a"),
    printcolumn(name = "A", type_ = "object", json_path = ".spec.a"),
    printcolumn(name = "B", type_ = "string", json_path = ".spec.b", format = "banana"),
    printcolumn(name = "C", type_ = "string", json_path = "spec.c"),
    printcolumn(name = "D", type_ = "string", json_path = ".spec.d", priority = 3000000000),
    printcolumn(name = "E", type_ = "string", json_path = ".spec.e"),
    printcolumn(name = "E", type_ = "string", json_path = ".spec.f"),
    printcolumn(name = "F", type_ = "text", json_path = "", format = "text"),
)]
pub struct Network {
    pub metadata: ObjectMeta,
}

fn main() {}
