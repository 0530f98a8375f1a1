//! Where networks really live: the provider's few verbs, and what it can answer.
//!
//! # Contracts of every provider
//! - **Ownership.** Each network carries its [`Owner`] from the moment it exists. Nothing without an
//!   owner of this [`Installation`] is ever changed or deleted, and nothing is deleted by its name.
//! - **A network that worked keeps working.** A change that the provider refuses leaves the network as it
//!   was.
//! - **Idempotent.** Every call can be repeated, whatever became of the one before: the next call
//!   completes what a crash or a lost answer between any two steps interrupted.
//! - **Typed failures.** An [`Error`] says what kind of failure it is and whether trying again can help.

mod installation;
mod memory;
mod neutron;
mod spec;

use std::fmt;

use genclient_runtime::ObjectKey;

pub use neutron_client::{Cloud, ConfigError, Error, ErrorKind};

pub use self::{
    installation::{Installation, InvalidInstallation},
    memory::Memory,
    neutron::Neutron,
    spec::{Desired, InvalidSpec},
};

/// The object for which a network exists.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner {
    /// The object's namespace.
    pub namespace: String,
    /// The object's name, or the one that somebody gave its network in the provider.
    pub name: String,
    /// The object's uid, which tells it from an earlier one of the same name.
    pub uid: String,
}

impl Owner {
    /// The object's key.
    pub fn key(&self) -> ObjectKey {
        ObjectKey::namespaced(&self.namespace, &self.name)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} ({})", self.namespace, self.name, self.uid)
    }
}

/// How a network was brought about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The provider's name for the network.
    pub id: String,
    /// What had to be done.
    pub change: Change,
}

/// What had to be done to a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing: it was as desired.
    None,
    /// There was none.
    Created,
    /// It was another one, or only a part of it was there.
    Updated,
}

/// A place that holds networks.
pub trait Provider: Send + Sync + 'static {
    /// Makes the owner's network as desired, whether there is none, half of one, another one or several.
    fn apply(&self, owner: &Owner, desired: &Desired) -> impl Future<Output = Result<Applied, Error>> + Send;

    /// Reduces the owner's networks to one and leaves that one as it is. There may be none.
    fn tidy(&self, owner: &Owner) -> impl Future<Output = Result<(), Error>> + Send;

    /// Removes the networks that carry the owner's uid, whatever their names. That there is none is success.
    fn delete(&self, owner: &Owner) -> impl Future<Output = Result<(), Error>> + Send;

    /// The owner of each network of this installation. An owner of several networks is there several times.
    fn owners(&self) -> impl Future<Output = Result<Vec<Owner>, Error>> + Send;
}
