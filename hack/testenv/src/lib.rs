//! Real servers for tests, which start within seconds and need no container engine.
//!
//! * [`TestEnv`] is a Kubernetes control plane: etcd, kube-apiserver and kube-controller-manager.
//! * [`Neutron`] is a Neutron on sqlite, alone or behind a [`Keystone`].
//! * [`require_servers!`] skips a test with a message if the servers are not available.
//!
//! # Guarantees
//! * No server outlives the process that started it, even if that panics or is killed with SIGKILL. Its data folder
//!   is removed as well, except after a panic, so that the logs can be read.
//! * Environments are independent: each has its own ports, folder and certificate authority.
//! * Servers listen on the loopback interface only.
//! * The error of a failed start contains the end of the server's log.
//!
//! The servers use the real clock, so a test that uses them must not pause tokio's clock.

// Failures are errors that the caller can handle; only tests may panic.
#![warn(clippy::unwrap_used)]

mod control_plane;
mod env;
mod error;
mod folder;
pub mod http;
mod install;
mod keystone;
mod kubeconfig;
mod neutron;
mod openstack;
mod pki;
mod ports;
mod process;
mod require;
mod service;

pub use self::{
    env::{ApiServer, Builder, TestEnv},
    error::Error,
    install::{Server, ensure_installed},
    keystone::Keystone,
    neutron::{Neutron, NeutronBuilder},
    require::{Skipped, available},
};
