//! Where networks really live: the provider's few verbs, and what it can answer.
//!
//! # Contracts of every provider
//! - **Ownership.** Each network carries its [`Owner`] from the moment it exists. Nothing without an
//!   owner of this installation is ever changed or deleted.
//! - **Idempotent.** Every call can be repeated, whatever became of the one before: a crash or a lost
//!   answer between any two steps is made good by the next call.
//! - **Typed failures.** An [`Error`] says what kind of failure it is and whether trying again can help.

mod error;
mod memory;
mod neutron;
mod spec;

use std::fmt;

use genclient_runtime::ObjectKey;
use serde::{Deserialize, Serialize};

pub use neutron_client::{Cloud, ConfigError};

pub use self::{
    error::{Error, ErrorKind, RetryPolicy},
    memory::{Memory, RemoteMemory, serve_memory},
    neutron::Neutron,
    spec::{Desired, InvalidSpec},
};

/// The object for which a network exists.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Owner {
    /// The object's namespace.
    pub namespace: String,
    /// The object's name.
    pub name: String,
    /// The object's uid: what tells it from an earlier one of the same name.
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

/// What the provider holds for an owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actual {
    /// The provider's name for the network.
    pub id: String,
    /// The network's range and gateway, or `None` while it is half-made.
    pub config: Option<Desired>,
    /// Whether nothing is to be tidied up: duplicates, left-overs, a changed name.
    pub tidy: bool,
}

impl Actual {
    /// Whether there is nothing to do.
    pub fn is(&self, desired: &Desired) -> bool {
        self.tidy && self.config.as_ref() == Some(desired)
    }
}

/// A place that holds networks.
pub trait Provider: Send + Sync + 'static {
    /// What the provider holds for this owner.
    fn get(&self, owner: &Owner) -> impl Future<Output = Result<Option<Actual>, Error>> + Send;

    /// Makes the owner's network as desired, whether there is none, half of one or another one.
    ///
    /// Networks that earlier objects of the same name left behind are removed.
    fn apply(&self, owner: &Owner, desired: &Desired) -> impl Future<Output = Result<Actual, Error>> + Send;

    /// Removes the owner's network. That there is none is success.
    fn delete(&self, owner: &Owner) -> impl Future<Output = Result<(), Error>> + Send;

    /// Removes the networks of every object that ever had this key. That there is none is success.
    ///
    /// It is for when nothing is known of a deleted object but its key.
    fn delete_key(&self, key: &ObjectKey) -> impl Future<Output = Result<(), Error>> + Send;

    /// The owners of all networks of this installation, each once.
    fn owners(&self) -> impl Future<Output = Result<Vec<Owner>, Error>> + Send;
}
