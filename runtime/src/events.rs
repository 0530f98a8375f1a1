//! Events
