pub mod r#type;
pub mod v1;
