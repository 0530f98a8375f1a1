//! The sample API types.
