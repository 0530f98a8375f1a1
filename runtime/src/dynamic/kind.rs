//! A kind as a value.

use std::{any::Any, any::TypeId, fmt, sync::Arc};

use kube::core::{ApiResource, DynamicObject, GroupVersionKind, GroupVersionResource, TypeMeta};

use crate::{meta::GroupResource, object::Watched};

/// A kind as a value: its group, version, kind, plural and scope. Cheap to clone.
///
/// ```
/// use genclient_runtime::dynamic::DynamicKind;
///
/// let widgets = DynamicKind::namespaced("example.com", "v1", "Widget", "widgets");
/// assert_eq!(widgets.to_string(), "widgets.example.com/v1");
/// assert!(widgets.is_namespaced());
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct DynamicKind(Arc<Inner>);

#[derive(PartialEq, Eq, Hash)]
struct Inner {
    resource: ApiResource,
    is_namespaced: bool,
}

impl DynamicKind {
    /// Creates a kind from its description in kube, such as one of [`kube::discovery`].
    ///
    /// A request or a watch of a kind whose group, version or plural cannot be part of a path fails without
    /// being sent.
    pub fn new(resource: ApiResource, is_namespaced: bool) -> Self {
        Self(Arc::new(Inner { resource, is_namespaced }))
    }

    /// Creates a namespaced kind. The core group is empty.
    pub fn namespaced(group: &str, version: &str, kind: &str, plural: &str) -> Self {
        Self::new(api_resource(group, version, kind, plural), true)
    }

    /// Creates a cluster-scoped kind. The core group is empty.
    pub fn cluster(group: &str, version: &str, kind: &str, plural: &str) -> Self {
        Self::new(api_resource(group, version, kind, plural), false)
    }

    /// Returns the kind of a static type.
    pub fn of<K: Watched>() -> Self {
        Self::new(K::api_resource(), K::is_namespaced())
    }

    /// Returns the group, version, kind and plural as kube describes them.
    pub fn api_resource(&self) -> &ApiResource {
        &self.0.resource
    }

    /// Returns the group, version and plural.
    pub fn resource(&self) -> GroupVersionResource {
        let ApiResource { group, version, plural, .. } = &self.0.resource;
        GroupVersionResource::gvr(group, version, plural)
    }

    /// Returns the plural qualified with the group: `widgets.example.com`, or `pods` in the core group.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(&*self.0.resource.group, &*self.0.resource.plural)
    }

    /// Returns the kind: `Widget`.
    pub fn kind(&self) -> &str {
        &self.0.resource.kind
    }

    /// Returns the `apiVersion` of the objects: `example.com/v1`, or `v1` in the core group.
    pub fn api_version(&self) -> &str {
        &self.0.resource.api_version
    }

    /// Returns whether the kind is namespaced.
    pub fn is_namespaced(&self) -> bool {
        self.0.is_namespaced
    }

    /// Creates an object of the kind with only a name.
    pub fn object(&self, name: &str) -> DynamicObject {
        DynamicObject::new(name, &self.0.resource)
    }

    /// Adds the `apiVersion` and the `kind` to an object without them.
    pub(super) fn complete<K: 'static>(&self, object: &mut K) {
        if let Some(object) = (object as &mut dyn Any).downcast_mut::<DynamicObject>()
            && object.types.is_none()
        {
            object.types = Some(self.types());
        }
    }

    fn types(&self) -> TypeMeta {
        TypeMeta { api_version: self.api_version().to_owned(), kind: self.kind().to_owned() }
    }
}

fn api_resource(group: &str, version: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}

/// Returns a function that completes each object of a kind before it is cached, if the type needs it.
pub(crate) fn completion<K: 'static>(kind: &DynamicKind) -> Option<impl Fn(&mut K) + Send + Sync + 'static> {
    let kind = kind.clone();
    let is_untyped = TypeId::of::<K>() == TypeId::of::<DynamicObject>();
    is_untyped.then_some(move |object: &mut K| kind.complete(object))
}

impl fmt::Display for DynamicKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.group_resource(), self.0.resource.version)
    }
}

impl fmt::Debug for DynamicKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicKind")
            .field("resource", &self.0.resource)
            .field("is_namespaced", &self.0.is_namespaced)
            .finish()
    }
}
