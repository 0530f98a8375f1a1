//! Written by hand: methods of one's own on generated types. The generator declares this module
//! (`expansions = true`) and never touches this file.

use std::sync::Arc;

use fixture_apis::shapes::Plain;
use genclient_runtime::{Result, Selector};

use crate::{clientset::typed::shapes::v1::PlainClient, listers::shapes::v1::PlainLister};

/// What `PlainClient` can do beside its verbs.
#[allow(async_fn_in_trait, reason = "nobody needs to name the future's bounds")]
pub trait PlainClientExpansion {
    /// Sets the size of an object to another one, and gives back what the server then has.
    async fn resize(&self, name: &str, size: i32) -> Result<Plain>;
}

impl PlainClientExpansion for PlainClient {
    async fn resize(&self, name: &str, size: i32) -> Result<Plain> {
        let mut object = self.get(name).await?;
        object.spec.size = size;
        self.update(&object).await
    }
}

/// What `PlainLister` can do beside listing.
pub trait PlainListerExpansion {
    /// The objects of at least this size.
    fn at_least(&self, size: i32) -> Vec<Arc<Plain>>;
}

impl PlainListerExpansion for PlainLister {
    fn at_least(&self, size: i32) -> Vec<Arc<Plain>> {
        let mut objects = self.list(&Selector::default());
        objects.retain(|object| object.spec.size >= size);
        objects
    }
}
