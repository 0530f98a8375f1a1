//! The interface of a network backend, and its errors.
//!
//! # Contracts of every provider
//! - **Ownership.** Each network carries its [`Owner`] from its creation on. A provider never changes or
//!   deletes a network that has no owner of this [`Installation`], and never selects one by its name.
//! - **A network that worked keeps working.** A change that the provider refuses leaves the network as it
//!   was, and the next call completes a change that a crash interrupted, whatever the spec has become. One
//!   case remains in which a network can be left without a range: the provider accepts the new range on a
//!   network of its own, refuses it in the place of the old one, and then refuses the old one, too.
//! - **Idempotent.** Every call can be repeated, whatever became of the one before: the next call
//!   completes what a crash or a lost answer interrupted between any two steps.
//! - **Typed failures.** An [`Error`] says what kind of failure it is and whether a retry can help.

mod fenced;
mod installation;
mod memory;
mod neutron;
mod spec;

use std::fmt;

use genclient_runtime::ObjectKey;

pub use neutron_client::{Cloud, ConfigError, Error, ErrorKind};

pub(crate) use self::fenced::Fenced;
pub use self::{
    fenced::user_agent,
    installation::{Installation, InstallationName, InvalidInstallationName},
    memory::Memory,
    neutron::Neutron,
    spec::{Desired, InvalidSpec},
};

/// The object for which a network exists.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner {
    /// The object's namespace.
    pub namespace: String,
    /// The object's name, or the name that somebody gave its network in the provider.
    pub name: String,
    /// The object's uid, which distinguishes it from an earlier object of the same name.
    pub uid: String,
}

impl Owner {
    /// Returns the object's key.
    pub fn key(&self) -> ObjectKey {
        ObjectKey::namespaced(&self.namespace, &self.name)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} ({})", self.namespace, self.name, self.uid)
    }
}

/// A network in the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The object for which it exists.
    pub owner: Owner,
    /// Whether it has no range yet, so that nothing is lost with it.
    pub is_empty: bool,
}

/// The result of applying a spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The id of the network in the provider.
    pub id: String,
    /// What was done.
    pub change: Change,
}

/// What was done to a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing, because the network was as desired.
    None,
    /// It was created.
    Created,
    /// It was changed, completed, or freed of duplicates.
    Updated,
}

/// A network backend.
pub trait Provider: Send + Sync + 'static {
    /// Creates, completes or changes the owner's network, so that there is exactly one and it is as desired.
    fn apply(&self, owner: &Owner, desired: &Desired) -> impl Future<Output = Result<Applied, Error>> + Send;

    /// Completes an interrupted change and deletes duplicates and networks without a range, so that the owner
    /// has one working network or none. For objects whose desired state is unknown.
    ///
    /// A network that has both the old and the new range of an interrupted change keeps both: which of them is
    /// in use cannot be known, and the next good spec leaves one.
    fn tidy(&self, owner: &Owner) -> impl Future<Output = Result<(), Error>> + Send;

    /// Deletes the networks that carry the owner's uid, whatever their names. Succeeds if there is none.
    fn delete(&self, owner: &Owner) -> impl Future<Output = Result<(), Error>> + Send;

    /// Lists the networks of this installation.
    fn list(&self) -> impl Future<Output = Result<Vec<Listed>, Error>> + Send;
}
