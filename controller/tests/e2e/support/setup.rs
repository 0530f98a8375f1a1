//! What most tests start with.

use super::{Cluster, TestNeutron};

/// A namespace and its part of Neutron.
pub struct Setup<'a> {
    /// Its controllers use Neutron, with the flags of the test.
    pub cluster: Cluster<'a>,
    pub neutron: TestNeutron<'static>,
}

impl Setup<'static> {
    /// In the cluster and the Neutron that all tests share.
    pub async fn new(name: &str, flags: &[&str]) -> Self {
        Self::of(Cluster::shared(name).await, flags).await
    }
}

impl<'a> Setup<'a> {
    /// In this cluster and the Neutron that all tests share.
    pub async fn of(cluster: Cluster<'a>, flags: &[&str]) -> Self {
        let neutron = TestNeutron::shared(&cluster.namespace).await;
        let url = neutron.server.url();
        Self { cluster: cluster.with_flags(&["--neutron-url", &url]).with_flags(flags), neutron }
    }
}
