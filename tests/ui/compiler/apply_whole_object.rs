use genclient_runtime::TypedClient;
use samplecrd_apis::samplecrd::v1::Network;
use samplecrd_client::{
    apply::appcontroller::v1alpha1::AppServiceApply, clientset::typed::samplecrd::v1::NetworkClient,
};

fn apply(networks: NetworkClient, typed: TypedClient<Network>, network: Network) {
    let _ = networks.apply(&network);
    let _ = typed.apply(&AppServiceApply::new("example", "default"));
}

fn main() {}
