//! Written by hand: methods of one's own on generated types. The generator declares this module
//! (`expansions = true`) and never touches this file.

use std::sync::Arc;

use genclient_runtime::{Result, Selector};
use golden_apis::shapes::House;

use crate::{clientset::typed::shapes::v1::HouseClient, listers::shapes::v1::HouseLister};

/// What `HouseClient` can do beside its verbs.
#[allow(async_fn_in_trait, reason = "nobody needs to name the future's bounds")]
pub trait HouseClientExpansion {
    /// Sets the size of an object to another one, and gives back what the server then has.
    async fn resize(&self, name: &str, size: i32) -> Result<House>;
}

impl HouseClientExpansion for HouseClient {
    async fn resize(&self, name: &str, size: i32) -> Result<House> {
        let mut object = self.get(name).await?;
        object.spec.size = size;
        self.update(&object).await
    }
}

/// What `HouseLister` can do beside listing.
pub trait HouseListerExpansion {
    /// The objects of at least this size.
    fn at_least(&self, size: i32) -> Vec<Arc<House>>;
}

impl HouseListerExpansion for HouseLister {
    fn at_least(&self, size: i32) -> Vec<Arc<House>> {
        let mut objects = self.list(&Selector::default());
        objects.retain(|object| object.spec.size >= size);
        objects
    }
}
