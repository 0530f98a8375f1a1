//! The group `appcontroller.k8s.io`.

pub mod v1alpha1;
