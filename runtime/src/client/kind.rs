//! The kind of the objects of a client.

use std::borrow::Cow;

use kube::{Resource, core::ApiResource};

use crate::error::InvalidRequest;

/// Provides the kind of objects of type `K`: `()` if the type determines the kind, or a
/// [`DynamicKind`](crate::dynamic::DynamicKind).
pub trait KindOf<K>: sealed::Sealed + Clone + Unpin + Send + Sync + 'static {
    /// Returns the kind.
    fn kind(&self) -> Cow<'_, str>;

    /// Returns the `apiVersion` of the objects.
    fn api_version(&self) -> Cow<'_, str>;

    /// Returns the group, version, kind and plural.
    fn api_resource(&self) -> ApiResource;

    /// Returns the path of the objects in a namespace or in the whole cluster, or an error if the kind has no
    /// objects there.
    fn url_path(&self, namespace: Option<&str>) -> Result<String, InvalidRequest>;

    /// Adds the `apiVersion` and the `kind`, which the server omits from the objects of a list.
    fn complete(&self, object: &mut K);
}

pub(crate) mod sealed {
    /// Prevents further implementations.
    pub trait Sealed {}
}

impl sealed::Sealed for () {}

impl<K: Resource<DynamicType = ()>> KindOf<K> for () {
    fn kind(&self) -> Cow<'_, str> {
        K::kind(self)
    }

    fn api_version(&self) -> Cow<'_, str> {
        K::api_version(self)
    }

    fn api_resource(&self) -> ApiResource {
        ApiResource::erase::<K>(self)
    }

    fn url_path(&self, namespace: Option<&str>) -> Result<String, InvalidRequest> {
        Ok(K::url_path(self, namespace))
    }

    fn complete(&self, _: &mut K) {}
}
