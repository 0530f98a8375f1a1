//! The requests to Neutron, and the meaning of its errors.

use std::borrow::Cow;

use http::{Method, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::{Duration, Instant};

use crate::{
    Cloud, ConfigError, Error, ErrorKind, Network, Subnet,
    auth::{Auth, Session},
    http::{Answer, Http},
};

/// The number of entries of a page.
const PAGE: usize = 500;
/// How often a list is started again because an entry was deleted between two pages.
const LIST_ATTEMPTS: usize = 5;

/// The filters of a list: names of fields, and the value that each must have.
pub type Filters<'a> = &'a [(&'a str, &'a str)];

/// A client of Neutron.
#[derive(Debug)]
pub struct Client {
    http: Http,
    auth: Auth,
}

impl Client {
    /// Returns a client of this cloud's network service. Nothing is sent before the first call.
    pub fn new(cloud: &Cloud) -> Result<Self, ConfigError> {
        let http = Http::new(cloud.cacert.as_deref())
            .map_err(|error| ConfigError(format!("the certificates to trust cannot be read: {error}")))?;
        Ok(Self { http: http.clone(), auth: Auth::new(http, cloud)? })
    }

    /// Sets the timeout of each request (30 seconds by default).
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        for http in [&mut self.http, &mut self.auth.http] {
            *http = http.clone().with_timeout(timeout);
        }
        self
    }

    /// Sets the function that names the program in each request, as Neutron's access log shows it.
    pub fn with_user_agent(mut self, user_agent: fn() -> String) -> Self {
        self.http = self.http.with_user_agent(user_agent);
        self
    }

    /// Lists the networks that match the filters.
    ///
    /// The server can compare more loosely than by equality, for example without case. Compare again.
    pub async fn networks(&self, filters: Filters<'_>) -> Result<Vec<Network>, Error> {
        self.list("networks", filters).await
    }

    /// Creates a network with these fields.
    pub async fn create_network(&self, fields: Value) -> Result<Network, Error> {
        self.write(Method::POST, "/networks", "network", fields).await
    }

    /// Changes these fields of a network.
    pub async fn update_network(&self, id: &str, fields: Value) -> Result<Network, Error> {
        self.write(Method::PUT, &format!("/networks/{id}"), "network", fields).await
    }

    /// Adds a tag to a network. Succeeds if the tag is already there, or if the network is gone.
    pub async fn tag_network(&self, id: &str, tag: &str) -> Result<(), Error> {
        self.call(Method::PUT, &format!("/networks/{id}/tags/{tag}"), None).await.map(drop)
    }

    /// Deletes a network and its subnets. Succeeds if the network is already gone.
    pub async fn delete_network(&self, id: &str) -> Result<(), Error> {
        self.call(Method::DELETE, &format!("/networks/{id}"), None).await.map(drop)
    }

    /// Lists the subnets that match the filters, which can be as loose as those of networks.
    pub async fn subnets(&self, filters: Filters<'_>) -> Result<Vec<Subnet>, Error> {
        self.list("subnets", filters).await
    }

    /// Creates a subnet with these fields.
    pub async fn create_subnet(&self, fields: Value) -> Result<Subnet, Error> {
        self.write(Method::POST, "/subnets", "subnet", fields).await
    }

    /// Changes these fields of a subnet.
    pub async fn update_subnet(&self, id: &str, fields: Value) -> Result<Subnet, Error> {
        self.write(Method::PUT, &format!("/subnets/{id}"), "subnet", fields).await
    }

    /// Deletes a subnet. Succeeds if it is already gone.
    pub async fn delete_subnet(&self, id: &str) -> Result<(), Error> {
        self.call(Method::DELETE, &format!("/subnets/{id}"), None).await.map(drop)
    }

    /// Creates or changes a resource, and returns it as the server has it.
    async fn write<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        kind: &str,
        fields: Value,
    ) -> Result<T, Error> {
        let Some(answer) = self.call(method.clone(), path, Some(&json!({ kind: fields }))).await? else {
            // It was deleted between two calls; the next attempt sees what is left.
            return Err(Error::new(ErrorKind::Conflict, format!("{method} {path}: it is gone")));
        };
        let mut body: Value = answer.json()?;
        serde_json::from_value(body[kind].take()).map_err(|error| answer.not_understood(&error))
    }

    /// Sends a request, with a new token if the old one is refused, and returns the answer of a success.
    ///
    /// `Ok(None)` means that Neutron does not have the resource. The 404 of a proxy in between does not mean
    /// that, and is an error.
    async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Option<Answer>, Error> {
        let session = self.auth.session().await?;
        let mut answer = self.send(&session, &method, path, body).await?;
        if answer.status == StatusCode::UNAUTHORIZED
            && let Some(session) = self.auth.renewed(&session).await?
        {
            answer = self.send(&session, &method, path, body).await?;
        }
        match answer.status {
            StatusCode::NOT_FOUND if is_neutrons(&answer) => Ok(None),
            status if status.is_success() => Ok(Some(answer)),
            _ => Err(refusal(&method, path, &answer)),
        }
    }

    async fn send(
        &self,
        session: &Session,
        method: &Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Answer, Error> {
        let begun = Instant::now();
        let url = format!("{}{path}", session.url);
        let answer = self.http.send(method.clone(), &url, session.token.as_deref(), body).await?;
        let (status, request_id) = (answer.status.as_u16(), answer.request_id());
        tracing::debug!(%method, path, status, request_id, elapsed = ?begun.elapsed(), "neutron answered");
        Ok(answer)
    }

    /// Lists the entries of a collection that match the filters, page by page.
    async fn list<T: DeserializeOwned>(
        &self,
        collection: &str,
        filters: Filters<'_>,
    ) -> Result<Vec<T>, Error> {
        for _ in 0..LIST_ATTEMPTS {
            if let Some(entries) = self.list_once(collection, filters).await? {
                return serde_json::from_value(entries.into()).map_err(|error| {
                    let message = format!("the list of {collection} could not be understood: {error}");
                    Error::new(ErrorKind::Protocol, message)
                });
            }
        }
        let message = format!("the list of {collection} changed too fast to be read");
        Err(Error::new(ErrorKind::Conflict, message))
    }

    /// Returns `None` if the last entry of a page was deleted before the next page was requested.
    async fn list_once(&self, collection: &str, filters: Filters<'_>) -> Result<Option<Vec<Value>>, Error> {
        let mut entries: Vec<Value> = Vec::new();
        loop {
            let marker = entries.last().and_then(|last| last["id"].as_str());
            let Some(answer) = self.call(Method::GET, &page_path(collection, filters, marker), None).await?
            else {
                if entries.is_empty() {
                    let message = format!("the server has no {collection}: is this a network service?");
                    return Err(Error::new(ErrorKind::Unavailable, message));
                }
                return Ok(None);
            };
            let mut page: Value = answer.json()?;
            let Value::Array(listed) = page[collection].take() else {
                return Err(answer.not_understood(&"it holds no list"));
            };
            let links = page[format!("{collection}_links")].as_array();
            let more = links.is_some_and(|links| links.iter().any(|link| link["rel"] == "next"));
            let complete = listed.is_empty() || !more;
            entries.extend(listed);
            if complete {
                return Ok(Some(entries));
            }
        }
    }
}

fn page_path(collection: &str, filters: Filters<'_>, after: Option<&str>) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(filters).append_pair("limit", &PAGE.to_string());
    query.extend_pairs(after.map(|id| ("marker", id)));
    format!("/{collection}?{}", query.finish())
}

/// Returns whether the error comes from Neutron itself.
fn is_neutrons(answer: &Answer) -> bool {
    answer.json::<Value>().is_ok_and(|body| body.get("NeutronError").is_some())
}

/// Returns the error of a refusal. Some bodies are not JSON, and that of 401 has its own format.
fn refusal(method: &Method, path: &str, answer: &Answer) -> Error {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let error = &body["NeutronError"];
    let type_ = error["type"].as_str().unwrap_or_default();
    let text = [&error["message"], error, &body["error"]["message"]].into_iter().find_map(Value::as_str);
    let text = text.map_or_else(|| String::from_utf8_lossy(&answer.body), Cow::from);
    let text: String = text.trim().chars().take(300).collect();
    let kind = match answer.status {
        StatusCode::UNAUTHORIZED => ErrorKind::Unauthorized,
        // Neutron answers 409 when a quota is used up, and old versions 413.
        _ if type_ == "OverQuota" => ErrorKind::OverQuota,
        StatusCode::FORBIDDEN => ErrorKind::Forbidden,
        StatusCode::CONFLICT if type_.ends_with("InUse") => ErrorKind::InUse,
        StatusCode::CONFLICT if type_.starts_with("GatewayConflict") => ErrorKind::Rejected,
        StatusCode::CONFLICT | StatusCode::PRECONDITION_FAILED => ErrorKind::Conflict,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => ErrorKind::Unavailable,
        // Those of Neutron itself are not errors and were handled before.
        StatusCode::NOT_FOUND => ErrorKind::Unavailable,
        status if status.is_client_error() => ErrorKind::Rejected,
        _ => ErrorKind::Unavailable,
    };
    let said = if type_.is_empty() { text } else { format!("{type_}: {text}") };
    let message = format!("{method} {path} was answered with {}: {said}", answer.status.as_u16());
    answer.error(kind, message)
}
