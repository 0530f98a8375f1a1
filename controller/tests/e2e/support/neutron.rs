//! Neutron asked directly, past the provider that is tested.

use std::collections::BTreeMap;

use genclient_testenv::{
    Neutron,
    http::{Answer, send},
};
use http::{Method, StatusCode};
use serde_json::Value;
use tokio::sync::OnceCell;

use super::eventually;

/// A network in Neutron: its name, and range and gateway of each of its subnets.
pub type Held = (String, Vec<(String, String)>);

/// A network with one subnet.
pub fn held(name: &str, cidr: &str, gateway: &str) -> Held {
    (name.into(), vec![(cidr.into(), gateway.into())])
}

/// The name of the network on which the provider tries a new range.
pub const PROBE: &str = "samplecrd-controller probe";

/// The networks of an installation, by the uid in their marker.
pub type Found = BTreeMap<String, Vec<Held>>;

pub fn by_uid(networks: &[Value], subnets: &[Value], installation: &str) -> Found {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let mut found = Found::new();
    for network in networks {
        let Some((start, uid)) = network["description"].as_str().and_then(|text| text.rsplit_once(" uid="))
        else {
            continue;
        };
        if start.contains(&format!(" installation={installation} ")) {
            let own = subnets.iter().filter(|subnet| subnet["network_id"] == network["id"]);
            let own = own.map(|subnet| (text(&subnet["cidr"]), text(&subnet["gateway_ip"]))).collect();
            found.entry(uid.to_owned()).or_default().push((text(&network["name"]), own));
        }
    }
    found
}

/// What a test sees of Neutron: all of one that is its own, or its installation's part of the shared one.
pub struct TestNeutron<'a> {
    pub server: &'a Neutron,
    installation: Option<String>,
    token: Option<String>,
}

impl TestNeutron<'static> {
    /// The part of this installation in the Neutron that all tests share. Nothing is broken there.
    pub async fn shared(installation: &str) -> Self {
        static SHARED: OnceCell<Neutron> = OnceCell::const_new();
        let server = SHARED.get_or_init(|| async { Neutron::start().await.unwrap() }).await;
        Self::part_of(server, installation)
    }
}

impl<'a> TestNeutron<'a> {
    /// The part of this installation in a Neutron without authentication.
    pub fn part_of(server: &'a Neutron, installation: &str) -> Self {
        Self { server, installation: Some(installation.to_owned()), token: None }
    }

    /// Everything in a Neutron of the test's own.
    pub async fn of(server: &'a Neutron) -> Self {
        let token = match server.keystone() {
            Some(keystone) => Some(keystone.token().await.unwrap()),
            None => None,
        };
        Self { server, installation: None, token }
    }

    pub async fn request(&self, method: Method, path: &str, body: Option<Value>) -> Answer {
        let headers: Vec<_> = self.token.iter().map(|token| ("X-Auth-Token", token.as_str())).collect();
        let url = format!("{}/v2.0{path}", self.server.url());
        send(method, &url, &headers, body.as_ref()).await.unwrap()
    }

    async fn list(&self, collection: &str) -> Vec<Value> {
        let answer = self.request(Method::GET, &format!("/{collection}"), None).await;
        let mut answer = answer.expect(StatusCode::OK, collection).unwrap();
        answer.body[collection].take().as_array().unwrap().clone()
    }

    /// The networks as Neutron tells them.
    pub async fn networks(&self) -> Vec<Value> {
        let mut networks = self.list("networks").await;
        let marker = self.installation.as_ref().map(|name| format!(" installation={name} "));
        let ours = |network: &Value| {
            let description = network["description"].as_str().unwrap();
            marker.as_ref().is_none_or(|marker| description.contains(marker))
        };
        networks.retain(ours);
        networks
    }

    /// All subnets as Neutron tells them.
    pub async fn subnets(&self) -> Vec<Value> {
        self.list("subnets").await
    }

    /// The id of the only network.
    pub async fn only_id(&self) -> String {
        let networks = self.networks().await;
        assert_eq!(networks.len(), 1, "{networks:?}");
        networks[0]["id"].as_str().unwrap().to_owned()
    }

    /// Everything that is there, in order.
    pub async fn all(&self) -> Vec<Held> {
        let (networks, subnets) = (self.networks().await, self.list("subnets").await);
        let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let mut all: Vec<Held> = networks
            .iter()
            .map(|network| {
                let own = subnets.iter().filter(|subnet| subnet["network_id"] == network["id"]);
                let mut own: Vec<_> =
                    own.map(|subnet| (text(&subnet["cidr"]), text(&subnet["gateway_ip"]))).collect();
                own.sort();
                (text(&network["name"]), own)
            })
            .collect();
        all.sort();
        all
    }

    /// Waits until exactly these networks are there.
    pub async fn holds(&self, expected: &[Held]) {
        let mut expected = expected.to_vec();
        expected.sort();
        let what = format!("Neutron holds exactly {expected:?}");
        eventually(&what, async || self.all().await, |all| *all == expected).await;
    }
}
