//! The kinds of a shop.

mod shop;

pub use shop::r#type;
pub use shop::v1;
