//! Tests that cross genclient's crates are in `tests/`. Here are the README's code blocks, which compile.

#[cfg(doctest)]
#[doc = include_str!(concat!(env!("OUT_DIR"), "/readme.md"))]
struct Readme;
