//! Requests with other types than the client's: subresources, and other representations of an object.
//!
//! The types need only serde, so they may lack `ObjectMeta`.

use kube::api::ListParams;
use serde::{Serialize, de::DeserializeOwned};

use super::{
    ApiObject, Apply, Get, KindOf, List, PatchRequest, TypedClient, Write, apply::Configuration, path::Target,
};
use crate::{patch::Patch, wire::JSON};

impl<K: ApiObject, D: KindOf<K>> TypedClient<K, D> {
    /// Reads a subresource of an object.
    pub fn get_subresource<R: DeserializeOwned>(&self, name: &str, subresource: &str) -> Get<R> {
        Get::new(self.fetch("get", Target::subresource(name, subresource), JSON))
    }

    /// Lists a subresource of an object.
    pub fn list_subresource<R: DeserializeOwned>(
        &self,
        name: &str,
        subresource: &str,
        params: &ListParams,
    ) -> List<R> {
        List::new(self.fetch("list", Target::subresource(name, subresource), JSON), params)
    }

    /// Posts to a subresource of an object.
    pub fn create_subresource<I: Serialize, R: DeserializeOwned>(
        &self,
        name: &str,
        subresource: &str,
        input: &I,
    ) -> Write<R> {
        self.post(Target::subresource(name, subresource), input, JSON)
    }

    /// Replaces a subresource of an object.
    pub fn update_subresource<I: Serialize, R: DeserializeOwned>(
        &self,
        name: &str,
        subresource: &str,
        input: &I,
    ) -> Write<R> {
        self.put(Target::subresource(name, subresource), input, JSON)
    }

    /// Patches a subresource of an object.
    pub fn patch_subresource<R: DeserializeOwned>(
        &self,
        name: &str,
        subresource: &str,
        patch: &Patch,
    ) -> PatchRequest<R> {
        self.patch_target(Target::subresource(name, subresource), patch, JSON)
    }

    /// Applies a configuration to a subresource of an object on the server.
    ///
    /// The configuration must have an `apiVersion` and a `kind`, which may differ from the client's.
    pub fn apply_subresource<A: Serialize, R: DeserializeOwned>(
        &self,
        name: &str,
        subresource: &str,
        config: &A,
    ) -> Apply<R> {
        self.apply_other_type(name, Some(subresource), config)
    }

    /// Reads an object as another type, such as a type with fewer fields.
    pub fn get_as<R: DeserializeOwned>(&self, name: &str) -> Get<R> {
        Get::new(self.fetch("get", Target::object(name), JSON))
    }

    /// Posts a value of another type to the collection.
    pub fn create_as<I: Serialize, R: DeserializeOwned>(&self, input: &I) -> Write<R> {
        self.post(Target::New(None), input, JSON)
    }

    /// Replaces an object with a value of another type.
    pub fn update_as<I: Serialize, R: DeserializeOwned>(&self, name: &str, input: &I) -> Write<R> {
        self.put(Target::object(name), input, JSON)
    }

    /// Patches an object and returns it as another type.
    pub fn patch_as<R: DeserializeOwned>(&self, name: &str, patch: &Patch) -> PatchRequest<R> {
        self.patch_target(Target::object(name), patch, JSON)
    }

    /// Applies a configuration of any kind to an object on the server and returns it as another type.
    pub fn apply_as<A: Serialize, R: DeserializeOwned>(&self, name: &str, config: &A) -> Apply<R> {
        self.apply_other_type(name, None, config)
    }

    fn apply_other_type<R: DeserializeOwned>(
        &self,
        name: &str,
        subresource: Option<&str>,
        config: &impl Serialize,
    ) -> Apply<R> {
        let target = Target::Object { name: Some(name), subresource };
        let request = self
            .request("apply", target, |path| Ok(Configuration::for_object(config, name)?.into_call(path)));
        Apply::new(request, self.write_options())
    }
}
