//! The custom resource in a form of one's own, for a cache that must be small.
//!
//! `ObjectMeta` is as large as everything that Kubernetes may say of an object, and each of its maps
//! is a tree. Who caches very many objects keeps what he reads: the cache asks for no more than
//! [`CacheObject`], and a reflector for no more than [`Watched`].

use std::{collections::BTreeMap, fmt};

use genclient_runtime::{
    kube::core::ApiResource,
    object::{CacheObject, Watched},
};
use samplecrd_apis::samplecrd::v1::Network;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};

/// A network with only what its reader needs.
#[derive(Deserialize)]
pub(crate) struct CompactNetwork {
    metadata: CompactMeta,
    #[allow(dead_code, reason = "it is what a controller would read")]
    spec: CompactSpec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CompactMeta {
    name: Box<str>,
    namespace: Option<Box<str>>,
    #[serde(default)]
    uid: Box<str>,
    #[serde(default)]
    resource_version: Box<str>,
    #[serde(default)]
    labels: Labels,
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "it is what a controller would read")]
struct CompactSpec {
    cidr: Box<str>,
    gateway: Box<str>,
}

/// Labels in a row: few as they are, they are found as fast as in a tree.
#[derive(Default)]
struct Labels(Box<[(Box<str>, Box<str>)]>);

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Row;

        impl<'de> Visitor<'de> for Row {
            type Value = Labels;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("labels")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
                let mut labels = BTreeMap::new();
                while let Some((key, value)) = map.next_entry()? {
                    labels.insert(key, value);
                }
                Ok(Labels(labels.into_iter().collect()))
            }
        }

        deserializer.deserialize_map(Row)
    }
}

impl CacheObject for CompactNetwork {
    fn name(&self) -> &str {
        &self.metadata.name
    }

    fn namespace(&self) -> Option<&str> {
        self.metadata.namespace.as_deref()
    }

    fn uid(&self) -> &str {
        &self.metadata.uid
    }

    fn resource_version(&self) -> &str {
        &self.metadata.resource_version
    }

    fn label(&self, key: &str) -> Option<&str> {
        self.metadata.labels.0.iter().find(|(other, _)| **other == *key).map(|(_, value)| &**value)
    }
}

impl Watched for CompactNetwork {
    type Scope = genclient_runtime::k8s_openapi::NamespaceResourceScope;

    fn api_resource() -> ApiResource {
        <Network as Watched>::api_resource()
    }
}
