//! Shows that everything fits together; it asks no server.

use apis::{r#type::Letter, v1::Order};
use client::{clientset::Clientset, informers::SharedInformerFactory};
use genclient_runtime::{CustomResourceExt, Event, Selector};

/// Names what is generated.
#[allow(dead_code, reason = "there is no server to ask")]
async fn uses(clientset: Clientset) -> genclient_runtime::Result<Vec<String>> {
    let orders = clientset.shop_v1().orders("default");
    let mut order = orders.get("first").await?;
    order.spec.pieces += 1;
    orders.update(&order).await?;
    clientset.type_v1().letters().delete("a").await?;
    let factory = SharedInformerFactory::builder(clientset).build();
    let informer = factory.shop().v1().orders();
    informer.informer().add_event_handler(|_: &Event<Order>| {});
    let lister = informer.lister();
    Ok(lister.list(&Selector::default()).iter().filter_map(|order| order.metadata.name.clone()).collect())
}

fn main() {
    println!("{} {}", Order::crd_name(), Letter::crd_name());
}
