//! Clients of dynamic kinds.

use std::borrow::Cow;

use kube::{
    Resource,
    core::{ApiResource, DynamicObject, NamespaceScope, PartialObjectMeta},
};
use serde::{Deserialize, Serialize};

use super::DynamicKind;
use crate::{
    ListMeta,
    client::{ApiObject, KindOf, RestClient, TypedClient, sealed},
    error::InvalidRequest,
    wire::check_resource,
};

/// A client of a [dynamic kind](crate::dynamic). It has the verbs, options and limits of every [`TypedClient`].
///
/// ```no_run
/// use genclient_runtime::{
///     ListParams, Patch, Result,
///     dynamic::{DynamicClient, DynamicKind, DynamicList},
/// };
/// use serde_json::json;
///
/// # async fn example(client: kube::Client) -> Result<()> {
/// let kind = DynamicKind::namespaced("example.com", "v1", "Widget", "widgets");
/// let all = DynamicClient::new(client, &kind);
/// let found: DynamicList = all.list(&ListParams::default().labels("app=web")).await?;
/// println!("{} widgets in all namespaces", found.items.len());
///
/// let widgets = all.in_namespace("default");
/// let widget = widgets.get("example").await?;
/// println!("{}", widget.data["spec"]["size"]);
/// widgets.patch("example", &Patch::merge(&json!({"spec": {"size": 4}}))).dry_run().await?;
/// # Ok(())
/// # }
/// ```
pub type DynamicClient = TypedClient<DynamicObject, DynamicKind>;

/// A client that requests only the metadata of a [dynamic kind](crate::dynamic).
pub type DynamicMetadataClient = TypedClient<PartialObjectMeta<DynamicObject>, DynamicKind>;

impl<K> TypedClient<K, DynamicKind>
where
    K: ApiObject + Resource<DynamicType = ApiResource, Scope: NamespaceScope>,
{
    /// Creates the client of a cluster-scoped kind, or of all namespaces of a namespaced one. In the latter
    /// case the server offers only `list` and `watch`; [`in_namespace`](Self::in_namespace) has the other
    /// verbs.
    pub fn new(client: impl Into<RestClient>, kind: &DynamicKind) -> Self {
        Self::with_kind(client.into(), kind.clone(), kind.api_resource())
    }

    /// Returns the client of the same kind in one namespace.
    ///
    /// If the namespace is not a DNS label, or the kind is cluster-scoped, each request fails without being
    /// sent.
    pub fn in_namespace(&self, namespace: &str) -> Self {
        self.clone().constrained(namespace)
    }

    /// Returns the kind.
    pub fn kind(&self) -> &DynamicKind {
        self.known_kind()
    }
}

impl sealed::Sealed for DynamicKind {}

impl<K: Resource<DynamicType = ApiResource> + 'static> KindOf<K> for DynamicKind {
    fn kind(&self) -> Cow<'_, str> {
        self.kind().into()
    }

    fn api_version(&self) -> Cow<'_, str> {
        self.api_version().into()
    }

    fn api_resource(&self) -> ApiResource {
        self.api_resource().clone()
    }

    fn url_path(&self, namespace: Option<&str>) -> Result<String, InvalidRequest> {
        check_resource(self.api_resource())?;
        if namespace.is_some() && !self.is_namespaced() {
            return Err(InvalidRequest::NotNamespaced(self.kind().to_owned()));
        }
        Ok(K::url_path(self.api_resource(), namespace))
    }

    fn complete(&self, object: &mut K) {
        self.complete(object);
    }
}

/// A list of objects of any kind.
///
/// The server leaves `apiVersion` and `kind` out of the objects of some lists; they are completed from those
/// of the list.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DynamicList {
    /// The `apiVersion` of the list.
    pub api_version: String,
    /// The kind of the list, such as `WidgetList`.
    pub kind: String,
    /// The metadata of the list.
    pub metadata: ListMeta,
    /// The objects.
    pub items: Vec<DynamicObject>,
}

impl<'de> Deserialize<'de> for DynamicList {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct List {
            api_version: String,
            kind: String,
            metadata: ListMeta,
            // Go writes an empty list as `null`.
            #[serde(deserialize_with = "Option::deserialize")]
            items: Option<Vec<DynamicObject>>,
        }
        let List { api_version, kind, metadata, items } = List::deserialize(deserializer)?;
        let mut items = items.unwrap_or_default();
        if let Some(kind) = kind.strip_suffix("List").filter(|kind| !kind.is_empty()) {
            for object in items.iter_mut().filter(|object| object.types.is_none()) {
                let (api_version, kind) = (api_version.clone(), kind.to_owned());
                object.types = Some(kube::core::TypeMeta { api_version, kind });
            }
        }
        Ok(Self { api_version, kind, metadata, items })
    }
}
