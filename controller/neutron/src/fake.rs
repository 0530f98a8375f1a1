//! A small Neutron with a Keystone that can fail at any request.
//!
//! It implements what the client uses, including what is difficult for a client: loose filters, names that
//! are not unique, ranges that must not overlap, and gateways that must not lie in a pool.

#![allow(clippy::unwrap_used, reason = "a request that makes no sense must end the test that sent it")]

use std::{
    collections::{BTreeMap, HashMap},
    io,
    sync::Arc,
};

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use ipnet::IpNet;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

/// A fault of a request.
#[derive(Clone, Debug)]
pub enum Fault {
    /// It is not carried out, and gets this answer.
    Refuse(u16, String),
    /// It is not carried out, and gets a 429 with this `Retry-After` in seconds.
    RetryAfter(u64),
    /// It is carried out, and the connection is closed before the answer.
    LoseAnswer,
    /// It is never answered.
    Hang,
}

/// The state of the server, which tests can read and change.
#[derive(Debug, Default)]
pub struct State {
    /// The networks, by id.
    pub networks: BTreeMap<String, Value>,
    /// The subnets, by id.
    pub subnets: BTreeMap<String, Value>,
    /// Faults by the number of the request, from 0.
    pub faults: HashMap<usize, Fault>,
    /// Method and path of every request.
    pub requests: Vec<String>,
    /// The token that is accepted, if one is needed.
    pub token: Option<String>,
    /// The number of tokens that were issued; the nth is `token-n`.
    pub logins: usize,
    /// The number of entries of a page; overrides the number that is requested.
    pub page: Option<usize>,
    /// The largest number of networks.
    pub network_quota: Option<usize>,
    made: usize,
}

/// A server on its own port. It ends when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct Fake {
    /// The URL. The network service is below `/v2.0`, and Keystone below `/v3`.
    pub url: String,
    /// The state of the server.
    pub state: Arc<Mutex<State>>,
    _server: Arc<Aborted>,
}

#[derive(Debug)]
struct Aborted(JoinHandle<()>);

impl Drop for Aborted {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Fake {
    /// Starts an empty server.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State::default()));
        let (shared, own_url) = (state.clone(), url.clone());
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (state, url) = (shared.clone(), own_url.clone());
                let service = service_fn(move |request| answer(state.clone(), url.clone(), request));
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Self { url, state, _server: Arc::new(Aborted(server)) }
    }

    /// Makes the nth request from now fail.
    pub fn fail(&self, from_now: usize, fault: Fault) {
        let mut state = self.state.lock();
        let number = state.requests.len() + from_now;
        state.faults.insert(number, fault);
    }

    /// Returns the method and the path of every request.
    pub fn requests(&self) -> Vec<String> {
        self.state.lock().requests.clone()
    }
}

async fn answer(
    state: Arc<Mutex<State>>,
    url: String,
    request: Request<Incoming>,
) -> io::Result<Response<Full<Bytes>>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let body: Value = if body.is_empty() { Value::Null } else { serde_json::from_slice(&body)? };
    let path = head.uri.path().to_owned();
    let query: Vec<(String, String)> =
        form_urlencoded::parse(head.uri.query().unwrap_or("").as_bytes()).into_owned().collect();
    let token = head.headers.get("x-auth-token").map(|token| token.to_str().unwrap().to_owned());
    let fault = {
        let mut state = state.lock();
        let number = state.requests.len();
        state.requests.push(format!("{} {path}", head.method));
        state.faults.remove(&number)
    };
    let mut retry_after = None;
    let (status, body) = match fault {
        Some(Fault::Hang) => std::future::pending().await,
        Some(Fault::Refuse(status, body)) => (status, body),
        Some(Fault::RetryAfter(seconds)) => {
            retry_after = Some(seconds);
            (429, String::new())
        }
        fault => {
            let (status, body) = state.lock().carry_out(&url, &head.method, &path, &query, token, body);
            if fault.is_some() {
                return Err(io::Error::other("the answer is lost"));
            }
            (status, body.to_string())
        }
    };
    let mut response = Response::builder().status(status).header("x-openstack-request-id", "req-7");
    if let Some(seconds) = retry_after {
        response = response.header("retry-after", seconds);
    }
    if path == "/v3/auth/tokens" {
        response = response.header("x-subject-token", format!("token-{}", state.lock().logins));
    }
    response.body(Full::new(body.into())).map_err(io::Error::other)
}

fn refuse(status: u16, type_: &str) -> (u16, Value) {
    (status, json!({ "NeutronError": { "type": type_, "message": type_, "detail": "" } }))
}

impl State {
    fn carry_out(
        &mut self,
        url: &str,
        method: &Method,
        path: &str,
        query: &[(String, String)],
        token: Option<String>,
        mut body: Value,
    ) -> (u16, Value) {
        if path == "/v3/auth/tokens" {
            self.logins += 1;
            let endpoint = |interface: &str, region: &str, url: String| json!({ "interface": interface, "region": region, "url": url });
            let endpoints = [
                endpoint("internal", "east", "http://127.0.0.1:1".into()),
                endpoint("public", "west", "http://127.0.0.1:1".into()),
                endpoint("public", "east", format!("{url}/")),
            ];
            return (
                201,
                json!({ "token": { "catalog": [
                { "type": "compute", "endpoints": [] },
                { "type": "network", "endpoints": endpoints },
            ] } }),
            );
        }
        if self.token.is_some() && token != self.token {
            return (401, json!({ "error": { "code": 401, "message": "who are you?" } }));
        }
        let parts: Vec<_> = path.trim_start_matches("/v2.0/").split('/').collect();
        match (method.as_str(), &parts[..]) {
            ("GET", ["networks"]) => self.list("networks", query),
            ("GET", ["subnets"]) => self.list("subnets", query),
            ("POST", ["networks"]) => {
                if self.network_quota.is_some_and(|quota| self.networks.len() >= quota) {
                    return refuse(409, "OverQuota");
                }
                self.made += 1;
                let mut network = body["network"].take();
                network["id"] = json!(format!("net-{:03}", self.made));
                network["created_at"] = json!(format!("2026-01-01T00:00:{:02}Z", self.made / 3));
                network["tags"] = json!([]);
                self.networks.insert(network["id"].as_str().unwrap().to_owned(), network.clone());
                (201, json!({ "network": network }))
            }
            ("POST", ["subnets"]) => {
                let mut subnet = body["subnet"].take();
                let cidr = subnet["cidr"].as_str().unwrap().parse::<IpNet>().unwrap().trunc();
                if !self.networks.contains_key(subnet["network_id"].as_str().unwrap()) {
                    return refuse(404, "NetworkNotFound");
                }
                let overlaps = self.subnets.values().any(|other| {
                    let known: IpNet = other["cidr"].as_str().unwrap().parse().unwrap();
                    other["network_id"] == subnet["network_id"]
                        && (known.contains(&cidr) || cidr.contains(&known))
                });
                // Neutron refuses an empty prefix in any network.
                if overlaps || cidr.prefix_len() == 0 {
                    let message = format!("{cidr} is not allowed in network {}", subnet["network_id"]);
                    let error = json!({ "type": "InvalidInput", "message": message, "detail": "" });
                    return (400, json!({ "NeutronError": error }));
                }
                self.made += 1;
                subnet["cidr"] = json!(cidr);
                subnet["id"] = json!(format!("sub-{:03}", self.made));
                self.subnets.insert(subnet["id"].as_str().unwrap().to_owned(), subnet.clone());
                (201, json!({ "subnet": subnet }))
            }
            ("PUT", ["networks", id, "tags", tag]) => match self.networks.get_mut(*id) {
                Some(network) => {
                    network["tags"] = json!([tag]);
                    (201, Value::Null)
                }
                None => refuse(404, "NetworkNotFound"),
            },
            ("PUT", [kind, id]) => {
                let kept = if *kind == "networks" { &mut self.networks } else { &mut self.subnets };
                let name = kind.trim_end_matches('s');
                let Some(known) = kept.get_mut(*id) else { return refuse(404, "NotFound") };
                if body[name].get("cidr").is_some() {
                    return refuse(400, "HTTPBadRequest");
                }
                if body[name].get("gateway_ip").is_some() && body[name].get("allocation_pools").is_none() {
                    return refuse(409, "GatewayConflictWithAllocationPools");
                }
                known.as_object_mut().unwrap().extend(body[name].as_object().unwrap().clone());
                (200, json!({ name: known }))
            }
            ("DELETE", ["networks", id]) => match self.networks.remove(*id) {
                Some(_) => {
                    self.subnets.retain(|_, subnet| subnet["network_id"] != *id);
                    (204, Value::Null)
                }
                None => refuse(404, "NetworkNotFound"),
            },
            ("DELETE", ["subnets", id]) => match self.subnets.remove(*id) {
                Some(_) => (204, Value::Null),
                None => refuse(404, "SubnetNotFound"),
            },
            _ => refuse(404, "HTTPNotFound"),
        }
    }

    fn list(&self, collection: &str, query: &[(String, String)]) -> (u16, Value) {
        let kept = if collection == "networks" { &self.networks } else { &self.subnets };
        let mut entries: Vec<_> = kept.values().cloned().collect();
        for entry in entries.iter_mut().filter(|_| collection == "networks") {
            let own = self.subnets.values().filter(|subnet| subnet["network_id"] == entry["id"]);
            entry["subnets"] = own.map(|subnet| subnet["id"].clone()).collect();
        }
        let (mut limit, mut links) = (usize::MAX, json!([]));
        for (name, value) in query {
            match name.as_str() {
                "limit" => limit = self.page.unwrap_or(value.parse().unwrap()),
                "marker" => match entries.iter().position(|entry| entry["id"] == **value) {
                    Some(last) => drop(entries.drain(..=last)),
                    None => return refuse(404, "NetworkNotFound"),
                },
                // The collation of a database can be this loose.
                filter => {
                    entries.retain(|entry| entry[filter].as_str().unwrap().eq_ignore_ascii_case(value));
                }
            }
        }
        if entries.len() > limit {
            entries.truncate(limit);
            links = json!([{ "rel": "next", "href": "http://elsewhere.test/" }]);
        }
        (200, json!({ collection: entries, format!("{collection}_links"): links }))
    }
}
