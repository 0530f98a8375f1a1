//! Neutron's API as far as it is needed: one call, one list, and what its errors mean.

use http::{Method, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;

use super::auth::{Auth, Session};
use crate::provider::{
    Error, ErrorKind,
    http::{Answer, Http},
};

/// How many entries a page has.
const PAGE: usize = 500;
/// How often a list begins anew because an entry vanished between two pages.
const LIST_ATTEMPTS: usize = 5;

#[derive(Debug)]
pub(super) struct Client {
    pub http: Http,
    pub auth: Auth,
}

impl Client {
    /// Sends a request, with a new token if the old one is refused, and gives the body of a success.
    ///
    /// `Ok(None)` says that there is no such thing (404).
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Option<Answer>, Error> {
        let session = self.auth.session().await?;
        let mut answer = self.send(&session, &method, path, body).await?;
        if answer.status == StatusCode::UNAUTHORIZED
            && let Some(session) = self.auth.renewed(&session).await?
        {
            answer = self.send(&session, &method, path, body).await?;
        }
        match answer.status {
            StatusCode::NOT_FOUND => Ok(None),
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

    /// Everything in a collection that the filters let through, page by page.
    ///
    /// Filters can be looser than equality, so the caller looks again.
    pub async fn list<T: DeserializeOwned>(
        &self,
        collection: &str,
        filters: &[(&str, &str)],
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

    /// `None` if the last entry of a page was gone when the next page was asked for.
    async fn list_once(
        &self,
        collection: &str,
        filters: &[(&str, &str)],
    ) -> Result<Option<Vec<Value>>, Error> {
        let mut entries: Vec<Value> = Vec::new();
        loop {
            let marker = entries.last().and_then(|last| last["id"].as_str());
            let Some(answer) = self.call(Method::GET, &page_path(collection, filters, marker), None).await?
            else {
                if entries.is_empty() {
                    let message = format!("the provider has no {collection}: is this a network service?");
                    return Err(Error::new(ErrorKind::Rejected, message));
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

fn page_path(collection: &str, filters: &[(&str, &str)], after: Option<&str>) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(filters).append_pair("limit", &PAGE.to_string());
    query.extend_pairs(after.map(|id| ("marker", id)));
    format!("/{collection}?{}", query.finish())
}

/// What a refusal means. Some are not JSON, and 401 has a shape of its own.
fn refusal(method: &Method, path: &str, answer: &Answer) -> Error {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let error = &body["NeutronError"];
    let type_ = error["type"].as_str().unwrap_or_default();
    let text = error["message"].as_str().or_else(|| error.as_str()).map_or_else(
        || String::from_utf8_lossy(&answer.body).trim().chars().take(300).collect(),
        str::to_owned,
    );
    let kind = match answer.status {
        StatusCode::UNAUTHORIZED => ErrorKind::Unauthorized,
        // Neutron answers 409, and older ones 413, when a quota is used up.
        _ if type_ == "OverQuota" => ErrorKind::OverQuota,
        StatusCode::FORBIDDEN => ErrorKind::Forbidden,
        StatusCode::CONFLICT if type_.ends_with("InUse") => ErrorKind::InUse,
        StatusCode::CONFLICT if type_.starts_with("GatewayConflict") => ErrorKind::Rejected,
        StatusCode::CONFLICT | StatusCode::PRECONDITION_FAILED => ErrorKind::Conflict,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => ErrorKind::Unavailable,
        status if status.is_client_error() => ErrorKind::Rejected,
        _ => ErrorKind::Unavailable,
    };
    let message = format!("{method} {path} was answered with {} {type_}: {text}", answer.status.as_u16());
    Error { kind, message, request_id: answer.request_id() }
}
