//! genclient
fn main() {}
