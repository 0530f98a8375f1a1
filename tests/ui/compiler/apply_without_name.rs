use samplecrd_client::apply::samplecrd::v1::{NetworkApply, NetworkSpecApply};

fn main() {
    // The server would not know which object is meant.
    let _ = NetworkApply::new();
    let _ = NetworkApply { spec: Some(NetworkSpecApply::new()), ..Default::default() };
}
