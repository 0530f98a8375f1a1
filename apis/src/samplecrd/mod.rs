//! The group `samplecrd.k8s.io`.

pub mod v1;
