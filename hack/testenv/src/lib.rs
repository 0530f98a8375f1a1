//! Real servers for tests, within seconds and without a container engine.
//!
//! * [`TestEnv`] is a Kubernetes control plane: etcd, kube-apiserver and kube-controller-manager.
//! * [`Neutron`] is a Neutron on sqlite, alone or behind a [`Keystone`].
//! * [`require_servers!`] skips a test, loudly, where the servers cannot be had.
//!
//! # Guarantees
//! * No server outlives the process that started it, whether that ends, panics or is killed with SIGKILL; nor does
//!   its data folder, except after a panic, when the logs are wanted.
//! * Environments do not disturb each other: each has its own ports, folder and certificate authority.
//! * Servers listen on the loopback interface only.
//! * A start that fails says why, with the end of the server's log.
//!
//! The servers live in real time: a test that uses them does not pause tokio's clock.

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
