//! A generated clientset on a server in memory.

use std::{fmt, ops::Deref};

use genclient_runtime::crd::{CustomResourceDefinition, MergeError};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{Actions, LoadError, Rule, Server, Verb};

/// What a generated crate says of its clientset.
pub trait Generated {
    /// Returns the clientset on a client.
    fn on_client(client: kube::Client) -> Self;

    /// Returns the CRDs of the kinds.
    ///
    /// # Errors
    /// If the versions of a kind do not make one CRD.
    fn crds() -> Result<Vec<CustomResourceDefinition>, MergeError>;
}

/// A clientset whose API server is in memory.
///
/// It is used as the real one, to which it dereferences; a copy of that one is a clientset like any other. The server
/// has the CRDs of the generated kinds, and records the requests that reach it. Copies share the server.
///
/// Generated crates name it `fake::Clientset`, with their own clientset as `C`.
pub struct Clientset<C> {
    clientset: C,
    server: Server,
}

impl<C: Generated> Clientset<C> {
    /// Starts a server, and returns the clientset on it.
    ///
    /// # Panics
    /// If the server does not take the CRDs of the generated kinds.
    #[track_caller]
    pub fn new() -> Self {
        Self::on(&Server::new())
    }

    /// Returns the clientset on a server, which has a clock of its own or other clientsets for example. The CRDs are
    /// loaded into it, and from now on it records the requests that reach it.
    ///
    /// # Panics
    /// If the server does not take the CRDs of the generated kinds.
    #[track_caller]
    pub fn on(server: &Server) -> Self {
        let crds = C::crds().unwrap_or_else(|error| panic!("the generated kinds make no CRDs: {error}"));
        for crd in &crds {
            server.load(crd).unwrap_or_else(|error| panic!("the server does not take a CRD: {error}"));
        }
        server.record_actions(true);
        Self { clientset: C::on_client(server.client()), server: server.clone() }
    }

    /// Starts a server with the objects of a YAML text, and returns the clientset on it.
    ///
    /// # Errors
    /// As [`Server::load_yaml`].
    ///
    /// # Panics
    /// As [`Clientset::new`].
    #[track_caller]
    pub fn from_yaml(text: &str) -> Result<Self, LoadError> {
        let fake = Self::new();
        fake.load_yaml(text)?;
        Ok(fake)
    }
}

impl<C> Clientset<C> {
    /// Returns the server.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Loads an object with its status and its history; see [`Server::load`].
    ///
    /// # Errors
    /// If the server refuses it.
    pub fn load<K: Serialize + DeserializeOwned>(&self, object: &K) -> Result<K, LoadError> {
        self.server.load(object)
    }

    /// Loads the objects of a YAML text; see [`Server::load_yaml`].
    ///
    /// # Errors
    /// If the text is no YAML, or the server refuses an object.
    pub fn load_yaml(&self, text: &str) -> Result<Vec<Value>, LoadError> {
        self.server.load_yaml(text)
    }

    /// Returns the requests that reached the server, in their order; see [`Server::actions`].
    #[track_caller]
    pub fn actions(&self) -> Actions {
        self.server.actions()
    }

    /// Forgets the requests that reached the server.
    pub fn clear_actions(&self) {
        self.server.clear_actions();
    }

    /// Reacts to requests; see [`Server::on`].
    pub fn on_request(&self, verb: Verb, resource: &str) -> Rule {
        self.server.on(verb, resource)
    }
}

impl<C: Generated> Default for Clientset<C> {
    fn default() -> Self {
        Self::new()
    }
}

impl<C: Clone> Clone for Clientset<C> {
    fn clone(&self) -> Self {
        Self { clientset: self.clientset.clone(), server: self.server.clone() }
    }
}

impl<C> Deref for Clientset<C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.clientset
    }
}

impl<C> fmt::Debug for Clientset<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clientset").field("server", &self.server).finish_non_exhaustive()
    }
}
