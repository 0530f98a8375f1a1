//! The sample controller: it keeps a network in a provider for each Network object.

pub mod provider;
