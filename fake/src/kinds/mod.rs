//! The kinds that the server serves: Kubernetes' own, and those of CRDs.

mod builtin;
pub(crate) mod crd;
pub(crate) mod events;
mod fields;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, OnceLock},
};

use genclient_merge::Schema;
use serde_json::Value;

pub(crate) use crd::{Custom, Nulls};
pub(crate) use fields::text_at;

use crate::status::Failure;

/// A resource, in all its versions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ResourceId(Arc<str>);

impl ResourceId {
    /// Names a resource as the server does: `deployments.apps`, or `pods`.
    pub(crate) fn new(group: &str, plural: &str) -> Self {
        Self(if group.is_empty() { plural.into() } else { format!("{plural}.{group}").into() })
    }

    /// Returns the resource with the name that [`ResourceId::as_str`] returns.
    pub(crate) fn named(name: &str) -> Self {
        Self(name.into())
    }

    /// Returns `deployments.apps`, or `pods`.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A kind in one version.
#[derive(Debug)]
pub(crate) struct Kind {
    /// The resource, which all versions of the kind share. Events of both groups are one resource.
    pub(crate) resource: ResourceId,
    /// `deployments.apps`, or `pods`.
    pub(crate) qualified_plural: String,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) namespaced: bool,
    pub(crate) verbs: Vec<String>,
    pub(crate) subresources: Vec<Subresource>,
    /// The beginning of each object's JSON: the kind and the version.
    pub(crate) prefix: String,
    /// The paths that field selectors can name, beside the name and the namespace.
    pub(crate) selectable: Vec<String>,
    /// The version in which the objects are stored.
    pub(crate) storage_version: Arc<str>,
    /// Tells the schema of a custom resource from others that it had or has.
    pub(crate) fingerprint: u64,
    /// What the CRD says of the kind, if it has one.
    pub(crate) custom: Option<Custom>,
    schema: OnceLock<Schema>,
    /// What a new object has before its request says anything; see [`Kind::blank`].
    blank: OnceLock<Value>,
}

/// A subresource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subresource {
    pub(crate) name: String,
    /// The group, the version and the kind of its body, where it is not the kind itself.
    pub(crate) body: Option<(String, String, String)>,
    pub(crate) verbs: Vec<String>,
}

impl Kind {
    /// Returns the kind of the subresource `scale`.
    pub(crate) fn scale() -> &'static Self {
        &builtin::SCALE
    }

    /// Returns `apps/v1`, or `v1`.
    pub(crate) fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    /// Returns `deployments.apps`, or `pods`.
    pub(crate) fn qualified_plural(&self) -> &str {
        &self.qualified_plural
    }

    /// Returns whether the kind comes from a CRD.
    pub(crate) fn is_custom(&self) -> bool {
        self.custom.is_some()
    }

    /// Returns whether the kind is this one of Kubernetes' own.
    pub(crate) fn is(&self, group: &str, kind: &str) -> bool {
        self.group == group && self.kind == kind && !self.is_custom()
    }

    /// Returns the subresource with this name.
    pub(crate) fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|subresource| subresource.name == name)
    }

    /// Returns whether the status is written apart from the rest.
    pub(crate) fn has_status(&self) -> bool {
        self.subresource("status").is_some()
    }

    /// Returns how the objects merge.
    pub(crate) fn schema(&self) -> &Schema {
        self.schema.get_or_init(|| match &self.custom {
            Some(custom) => custom.merge_schema(),
            None => Schema::kubernetes(&self.api_version(), &self.kind).unwrap_or_else(Schema::deduced),
        })
    }

    /// Returns a new object of one of Kubernetes' own kinds, which is made once: the parts that are always written.
    pub(crate) fn blank(&self, make: impl FnOnce() -> Value) -> &Value {
        self.blank.get_or_init(make)
    }

    /// Returns the values of the fields that selectors can name, of an object as it is stored.
    pub(crate) fn field_values(&self, value: &Value) -> Vec<(String, String)> {
        let with_value = |path: String| (path.clone(), fields::value_of(self, value, &path));
        if self.is("", "Event") || self.is("events.k8s.io", "Event") {
            let groups = ["", "events.k8s.io"].into_iter();
            return groups.flat_map(|group| fields::of_builtin(group, "Event")).map(with_value).collect();
        }
        self.selectable.iter().cloned().map(with_value).collect()
    }

    /// Checks that the kind still has the version in which an object was stored.
    pub(crate) fn check_stored(&self, version: &str) -> Result<(), Failure> {
        match &self.custom {
            Some(custom) if !custom.versions.iter().any(|known| known == version) => {
                let stored = api_version(&self.group, version);
                let why = format!("request to convert CR from an invalid group/version: {stored}");
                Err(Failure::unknown(why))
            }
            _ => Ok(()),
        }
    }

    /// Returns whether objects are stored in another form than the one of this kind.
    pub(crate) fn is_converted(&self) -> bool {
        self.is("events.k8s.io", "Event")
    }

    /// Brings an object into the form in which it is stored.
    pub(crate) fn convert_to_stored(&self, value: &mut Value) {
        if self.is_converted() {
            events::to_core(value);
        }
    }

    /// Brings an object that was stored into the form of the kind.
    pub(crate) fn convert_from_stored(&self, value: &mut Value) {
        if self.is_converted() {
            events::from_core(value);
        }
    }
}

/// Returns `group/version`, or `version` in the core group.
pub(crate) fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// The beginning of the JSON of objects of a kind.
fn prefix(group: &str, version: &str, kind: &str) -> String {
    format!("{{\"kind\":\"{kind}\",\"apiVersion\":\"{}\",", api_version(group, version))
}

/// The kinds that are served.
///
/// Copies are cheap, and do not change with the original.
#[derive(Clone, Debug, Default)]
pub(crate) struct Registry {
    /// The kinds of CRDs: by group, plural and version.
    custom: Arc<BTreeMap<(String, String), Versions>>,
}

/// The versions of a kind, by their names.
type Versions = BTreeMap<String, Arc<Kind>>;

impl Registry {
    /// Returns the kind that is served at a path.
    pub(crate) fn get(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Kind>> {
        if let Some(kind) = builtin::get(group, version, plural) {
            return Some(kind);
        }
        self.custom.get(&(group.to_owned(), plural.to_owned()))?.get(version).cloned()
    }

    /// Returns the kind of Kubernetes' own with this name.
    pub(crate) fn of_kind(&self, api_version: &str, kind: &str) -> Option<Arc<Kind>> {
        builtin::all().iter().find(|known| known.kind == kind && known.api_version() == api_version).cloned()
    }

    /// Returns whether a group is one of Kubernetes' own.
    pub(crate) fn is_builtin_group(&self, group: &str) -> bool {
        builtin::all().iter().any(|kind| kind.group == group)
    }

    /// Returns one kind of a resource: the one in its preferred version.
    pub(crate) fn of_resource(&self, resource: &ResourceId) -> Option<Arc<Kind>> {
        self.all().find(|kind| kind.resource == *resource).cloned()
    }

    /// Returns the kind of a resource, if it is one of Kubernetes' own.
    pub(crate) fn builtin_of_resource(&self, resource: &ResourceId) -> Option<Arc<Kind>> {
        builtin::all().iter().find(|kind| kind.resource == *resource).cloned()
    }

    /// Returns all kinds, Kubernetes' own first.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Kind>> {
        builtin::all().iter().chain(self.custom())
    }

    /// Returns Kubernetes' own kinds.
    pub(crate) fn builtin() -> impl Iterator<Item = &'static Arc<Kind>> {
        builtin::all().iter()
    }

    /// Returns the kinds of CRDs.
    pub(crate) fn custom(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.custom.values().flat_map(BTreeMap::values)
    }

    /// Returns whether any kind of a CRD is served.
    pub(crate) fn serves(&self, group: &str, plural: &str) -> bool {
        self.custom.contains_key(&(group.to_owned(), plural.to_owned()))
    }

    /// Replaces the kinds of one CRD.
    pub(crate) fn serve(&mut self, group: &str, plural: &str, kinds: Vec<Kind>) {
        let place = (group.to_owned(), plural.to_owned());
        let custom = Arc::make_mut(&mut self.custom);
        if kinds.is_empty() {
            custom.remove(&place);
        } else {
            let kinds = kinds.into_iter().map(|kind| (kind.version.clone(), Arc::new(kind)));
            custom.insert(place, kinds.collect());
        }
    }
}
