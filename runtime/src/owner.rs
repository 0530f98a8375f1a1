//! Owner references.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource;

use crate::object::{ObjectKey, Watched};

/// Returns a reference that makes `owner` an owner of an object. The server deletes an object once all of its
/// owners are deleted.
///
/// The owner must have been read from the server, which rejects a reference without a uid.
pub fn owner_ref<K: Resource<DynamicType = ()>>(owner: &K) -> OwnerReference {
    let meta = owner.meta();
    OwnerReference {
        api_version: K::api_version(&()).into_owned(),
        kind: K::kind(&()).into_owned(),
        name: meta.name.clone().unwrap_or_default(),
        uid: meta.uid.clone().unwrap_or_default(),
        ..OwnerReference::default()
    }
}

/// Returns a reference that makes `owner` the controller of an object. It also blocks the foreground deletion
/// of the owner until the object is deleted.
///
/// The owner must have been read from the server, which rejects a reference without a uid.
pub fn controller_ref<K: Resource<DynamicType = ()>>(owner: &K) -> OwnerReference {
    OwnerReference { block_owner_deletion: Some(true), controller: Some(true), ..owner_ref(owner) }
}

/// Returns the reference to the controller of an object, if it has one.
pub fn controller_of<C: Resource>(child: &C) -> Option<&OwnerReference> {
    let references = child.meta().owner_references.as_deref()?;
    references.iter().find(|reference| reference.controller == Some(true))
}

/// Returns the key of the controller of an object if the controller is of kind `O`, in any version.
///
/// ```
/// use genclient_runtime::{ObjectKey, owner::controller_key};
/// use k8s_openapi::api::{apps::v1::{Deployment, ReplicaSet}, core::v1::Pod};
///
/// let pod: Pod = serde_json::from_value(serde_json::json!({ "metadata": {
///     "name": "web-7f9", "namespace": "default",
///     "ownerReferences": [
///         { "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "1b0c", "controller": true },
///     ],
/// } }))?;
/// assert_eq!(controller_key::<ReplicaSet>(&pod), Some(ObjectKey::namespaced("default", "web")));
/// assert_eq!(controller_key::<Deployment>(&pod), None);
/// # Ok::<_, serde_json::Error>(())
/// ```
pub fn controller_key<O: Watched>(child: &impl Resource) -> Option<ObjectKey> {
    key_of::<O>(controller_of(child)?, child)
}

/// Returns the keys of the owners of an object that are of the kind `O`, in any version.
pub fn owner_keys<O: Watched>(child: &impl Resource) -> Vec<ObjectKey> {
    let references = child.meta().owner_references.iter().flatten();
    references.filter_map(|reference| key_of::<O>(reference, child)).collect()
}

/// Returns the key of an owner, if it is of the kind `O`.
fn key_of<O: Watched>(reference: &OwnerReference, child: &impl Resource) -> Option<ObjectKey> {
    let owner = O::api_resource();
    let group = reference.api_version.rsplit_once('/').map_or("", |(group, _)| group);
    if reference.kind != owner.kind || group != owner.group {
        return None;
    }
    let namespace = child.meta().namespace.clone().filter(|_| O::is_namespaced());
    Some(ObjectKey { namespace, name: reference.name.clone() })
}

/// Returns whether `owner` is the controller of `child`.
///
/// The uids are compared: an object that was deleted and recreated with the same name is a different object.
pub fn is_controlled_by<C: Resource, K: Resource>(child: &C, owner: &K) -> bool {
    match (controller_of(child), owner.meta().uid.as_deref()) {
        (Some(reference), Some(uid)) => !uid.is_empty() && reference.uid == uid,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Pod};

    use super::*;

    fn owner(uid: &str) -> ConfigMap {
        let mut owner = ConfigMap::default();
        owner.metadata.name = Some("owner".into());
        owner.metadata.uid = Some(uid.into());
        owner
    }

    fn child_of(references: Vec<OwnerReference>) -> Pod {
        let mut child = Pod::default();
        child.metadata.owner_references = Some(references);
        child
    }

    #[test]
    fn a_controller_reference_names_the_owner_and_blocks_its_deletion() {
        let reference = controller_ref(&owner("a"));
        assert_eq!((reference.api_version.as_str(), reference.kind.as_str()), ("v1", "ConfigMap"));
        assert_eq!((reference.name.as_str(), reference.uid.as_str()), ("owner", "a"));
        assert_eq!((reference.controller, reference.block_owner_deletion), (Some(true), Some(true)));
    }

    #[test]
    fn only_the_controller_with_the_same_uid_controls_a_child() {
        let child = child_of(vec![owner_ref(&owner("b")), controller_ref(&owner("a"))]);
        assert!(is_controlled_by(&child, &owner("a")));
        assert!(!is_controlled_by(&child, &owner("b")), "an owner that is not the controller");
        assert!(!is_controlled_by(&child, &owner("c")), "the same name created again");
        assert!(!is_controlled_by(&Pod::default(), &owner("a")), "no owner at all");
    }

    #[test]
    fn the_key_of_the_controller_is_that_of_its_kind_in_any_version_and_in_its_scope() {
        use k8s_openapi::api::{apps::v1::Deployment, core::v1::Node};
        let mut child = child_of(vec![owner_ref(&owner("b")), controller_ref(&owner("a"))]);
        child.metadata.namespace = Some("default".into());
        assert_eq!(controller_key::<ConfigMap>(&child), Some(ObjectKey::namespaced("default", "owner")));
        assert_eq!(controller_key::<Deployment>(&child), None, "another kind");
        let reference = &mut child.metadata.owner_references.as_mut().unwrap()[1];
        (reference.kind, reference.api_version) = ("Deployment".into(), "apps/v1beta1".into());
        assert_eq!(controller_key::<Deployment>(&child), Some(ObjectKey::namespaced("default", "owner")));
        let reference = &mut child.metadata.owner_references.as_mut().unwrap()[1];
        (reference.kind, reference.api_version) = ("Deployment".into(), "example.com/v1".into());
        assert_eq!(controller_key::<Deployment>(&child), None, "the kind of another group");
        let reference = &mut child.metadata.owner_references.as_mut().unwrap()[1];
        (reference.kind, reference.api_version) = ("Node".into(), "v1".into());
        assert_eq!(controller_key::<Node>(&child), Some(ObjectKey::cluster("owner")));
    }

    #[test]
    fn an_owner_that_the_server_has_not_seen_controls_nothing() {
        let unborn = owner("");
        assert!(!is_controlled_by(&child_of(vec![controller_ref(&unborn)]), &unborn));
    }
}
