//! Runs an informer for each resource that is named on the command line, such as
//! `gateway.networking.k8s.io/v1/gateways`, and prints what they hold. With `--definitions` it prints the
//! definitions of the Gateway API.

use std::{env, error::Error, time::Duration};

use gateway_api::{
    backendtlspolicies::BackendTlsPolicy, gatewayclasses::GatewayClass, gateways::Gateway,
    grpcroutes::GrpcRoute, httproutes::HttpRoute, listenersets::ListenerSet, referencegrants::ReferenceGrant,
    tlsroutes::TlsRoute,
};
use genclient_runtime::{CustomResourceExt, GroupVersionResource, Selector};
use published_kinds::generated::{clientset::Clientset, informers::SharedInformerFactory};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    if env::args().nth(1).as_deref() == Some("--definitions") {
        println!("{}", definitions()?);
        return Ok(());
    }
    let clientset = Clientset::try_default().await?;
    let factory = SharedInformerFactory::builder(clientset.clone()).build();
    let mut informers = Vec::new();
    for resource in env::args().skip(1) {
        let mut parts = resource.split('/').map(str::to_owned);
        let mut part = || parts.next().ok_or("a resource is named `group/version/plural`");
        let resource = GroupVersionResource::gvr(&part()?, &part()?, &part()?);
        informers.push(factory.for_resource(&resource)?);
    }
    factory.start();
    factory.wait_for_cache_sync(Duration::from_secs(60)).await?;

    println!("{} informers have synced", informers.len());
    for informer in &informers {
        for key in informer.keys() {
            let GroupVersionResource { group, version, resource, .. } = informer.resource();
            println!("{resource}.{version}.{group} {key}");
        }
    }
    // The objects are typed.
    let gateways = factory.gateway().v1().gateways().lister();
    for gateway in gateways.list(&Selector::default()) {
        println!("a gateway of the class {}", gateway.spec.gateway_class_name);
    }
    let certificates = clientset.cert_manager_v1().certificates("default").get("example").await?;
    println!("a certificate in the secret {}", certificates.spec.secret_name);
    let groups = factory.cilium().v2alpha1().cilium_cidr_groups().lister();
    println!("a group of {:?}", groups.get("example").map(|group| group.spec.external_cid_rs.clone()));
    let parcel = clientset.shop_v1().parcels("default").get("example").await?;
    println!("a parcel to {}", parcel.spec.address);
    let order = clientset.shop_v1().orders("default").get("example").await?;
    println!("an order of {} pieces", order.spec.pieces);
    Ok(())
}

/// The definitions as the crate has them, with the annotation that their group needs.
fn definitions() -> Result<String, serde_json::Error> {
    let mut definitions = [
        BackendTlsPolicy::crd(),
        Gateway::crd(),
        GatewayClass::crd(),
        GrpcRoute::crd(),
        HttpRoute::crd(),
        ListenerSet::crd(),
        ReferenceGrant::crd(),
        TlsRoute::crd(),
    ];
    for definition in &mut definitions {
        let annotations = definition.metadata.annotations.get_or_insert_default();
        annotations.insert("api-approved.kubernetes.io".to_owned(), "unapproved, a test".to_owned());
    }
    serde_json::to_string(&serde_json::json!({ "apiVersion": "v1", "kind": "List", "items": definitions }))
}
