//! Owner references: who is responsible for an object, and who deletes it with itself.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource;

/// A reference that makes `owner` one of an object's owners, so that the object is collected after
/// its last owner is gone.
///
/// The owner must come from the server: without its uid the server refuses the reference.
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

/// A reference that makes `owner` the one controller of an object: it holds back the owner's
/// foreground deletion until the object is gone.
///
/// The owner must come from the server: without its uid the server refuses the reference.
pub fn controller_ref<K: Resource<DynamicType = ()>>(owner: &K) -> OwnerReference {
    OwnerReference { block_owner_deletion: Some(true), controller: Some(true), ..owner_ref(owner) }
}

/// The reference to an object's controller, if it has one.
pub fn controller_of<C: Resource>(child: &C) -> Option<&OwnerReference> {
    let references = child.meta().owner_references.as_deref()?;
    references.iter().find(|reference| reference.controller == Some(true))
}

/// Whether `owner` is the controller of `child`.
///
/// The uid decides: an object that was deleted and created again under the same name is another one.
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
        assert!(!is_controlled_by(&child, &owner("b")), "an owner that is no controller");
        assert!(!is_controlled_by(&child, &owner("c")), "the same name created again");
        assert!(!is_controlled_by(&Pod::default(), &owner("a")), "no owner at all");
    }

    #[test]
    fn an_owner_that_the_server_has_not_seen_controls_nothing() {
        let unborn = owner("");
        assert!(!is_controlled_by(&child_of(vec![controller_ref(&unborn)]), &unborn));
    }
}
