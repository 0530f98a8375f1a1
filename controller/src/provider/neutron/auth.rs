//! Tokens and endpoints: who we are, and where the network service is.

use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::cloud::{Cloud, CloudAuth, ConfigError};
use crate::provider::{Error, ErrorKind, http::Http};

/// What a request needs: the service's URL, and the token if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Session {
    /// The URL up to and with the version.
    pub url: String,
    pub token: Option<String>,
}

/// Gives out sessions, and renews them when a token is refused.
#[derive(Debug)]
pub(super) struct Auth {
    pub http: Http,
    method: AuthMethod,
    /// Renewed by one task at a time; the others wait for its outcome.
    session: Mutex<Option<Session>>,
}

#[derive(Debug)]
enum AuthMethod {
    /// The session never changes.
    Fixed(Session),
    Keystone(Box<Keystone>),
}

struct Keystone {
    tokens_url: String,
    request: Value,
    url: Option<String>,
    region: Option<String>,
    interface: String,
}

impl std::fmt::Debug for Keystone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The request holds the password.
        f.debug_struct("Keystone").field("tokens_url", &self.tokens_url).finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct TokenAnswer {
    token: Token,
}

#[derive(Deserialize)]
struct Token {
    #[serde(default)]
    catalog: Vec<Service>,
}

#[derive(Deserialize)]
struct Service {
    #[serde(rename = "type")]
    type_: String,
    endpoints: Vec<Endpoint>,
}

#[derive(Deserialize)]
struct Endpoint {
    interface: String,
    region: Option<String>,
    url: String,
}

impl Auth {
    pub fn new(http: Http, cloud: Cloud) -> Result<Self, ConfigError> {
        let Cloud { auth_type, auth, region_name, interface, network_endpoint_override, .. } = cloud;
        let url = network_endpoint_override.or_else(|| auth.endpoint.clone()).map(|url| versioned(&url));
        let guessed = match &auth {
            CloudAuth { token: Some(_), .. } => "token",
            CloudAuth { application_credential_id: Some(_), .. } => "v3applicationcredential",
            CloudAuth { auth_url: Some(_), .. } => "password",
            _ => "none",
        };
        let method = match auth_type.as_deref().unwrap_or(guessed) {
            "none" | "noauth" => {
                AuthMethod::Fixed(Session { url: url.ok_or(ConfigError::NoEndpoint)?, token: None })
            }
            "token" | "v3token" | "admin_token" => {
                let needs = |needs| ConfigError::Incomplete { method: "token", needs };
                let url = url.ok_or_else(|| needs("the network service's URL"))?;
                let token = auth.token.ok_or_else(|| needs("a token (OS_TOKEN)"))?;
                AuthMethod::Fixed(Session { url, token: Some(token) })
            }
            kind @ ("password" | "v3password" | "v3applicationcredential") => {
                let identity = if kind == "v3applicationcredential" {
                    application_credential(&auth)?
                } else {
                    password(&auth)?
                };
                let auth_url = auth.auth_url.as_deref().ok_or(ConfigError::NoEndpoint)?.trim_end_matches('/');
                let auth_url = auth_url.strip_suffix("/v3").unwrap_or(auth_url);
                AuthMethod::Keystone(Box::new(Keystone {
                    tokens_url: format!("{auth_url}/v3/auth/tokens"),
                    request: identity,
                    url,
                    region: region_name,
                    interface: interface.unwrap_or_else(|| "public".to_owned()),
                }))
            }
            other => return Err(ConfigError::UnknownAuthType(other.to_owned())),
        };
        Ok(Self { http, method, session: Mutex::new(None) })
    }

    /// The session to use, fetched if there is none yet.
    pub async fn session(&self) -> Result<Session, Error> {
        let keystone = match &self.method {
            AuthMethod::Fixed(session) => return Ok(session.clone()),
            AuthMethod::Keystone(keystone) => keystone,
        };
        let mut current = self.session.lock().await;
        if let Some(session) = &*current {
            return Ok(session.clone());
        }
        Ok(current.insert(keystone.log_in(&self.http).await?).clone())
    }

    /// Another session than the one whose token was refused, or `None` if there can be no other.
    pub async fn renewed(&self, refused: &Session) -> Result<Option<Session>, Error> {
        if let AuthMethod::Fixed(_) = self.method {
            return Ok(None);
        }
        // Many requests can be refused at once: the first one drops the session, the others find a new one.
        self.session.lock().await.take_if(|current| current == refused);
        self.session().await.map(Some)
    }
}

impl Keystone {
    async fn log_in(&self, http: &Http) -> Result<Session, Error> {
        let answer = http.send(Method::POST, &self.tokens_url, None, Some(&self.request)).await?;
        let request_id = answer.request_id();
        let fail = |kind, message: String| Err(Error { kind, message, request_id: request_id.clone() });
        match answer.status {
            StatusCode::CREATED => {}
            StatusCode::UNAUTHORIZED => {
                return fail(ErrorKind::Unauthorized, "Keystone did not accept the credentials".into());
            }
            status if status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS => {
                return fail(ErrorKind::Forbidden, format!("Keystone refused to give a token: {status}"));
            }
            status => return fail(ErrorKind::Unavailable, format!("Keystone answered {status}")),
        }
        let Some(token) = answer.headers.get("x-subject-token").and_then(|token| token.to_str().ok()) else {
            return fail(ErrorKind::Protocol, "Keystone's answer holds no token".into());
        };
        let catalog = answer.json::<TokenAnswer>()?.token.catalog;
        let Some(url) = self.url.clone().or_else(|| self.find(&catalog)) else {
            let message =
                format!("Keystone's catalogue names no {} endpoint of a network service", self.interface);
            return fail(ErrorKind::Forbidden, message);
        };
        tracing::debug!(url, "got a token");
        Ok(Session { url, token: Some(token.to_owned()) })
    }

    fn find(&self, catalog: &[Service]) -> Option<String> {
        let mut endpoints =
            catalog.iter().filter(|service| service.type_ == "network").flat_map(|s| &s.endpoints);
        let fits = |endpoint: &&Endpoint| {
            endpoint.interface == self.interface && (self.region.is_none() || endpoint.region == self.region)
        };
        endpoints.find(fits).map(|endpoint| versioned(&endpoint.url))
    }
}

/// The network service's URL with its version.
fn versioned(url: &str) -> String {
    let url = url.trim_end_matches('/');
    format!("{}/v2.0", url.strip_suffix("/v2.0").unwrap_or(url))
}

fn password(auth: &CloudAuth) -> Result<Value, ConfigError> {
    let needs = |needs| ConfigError::Incomplete { method: "password", needs };
    let password = auth.password.as_ref().ok_or_else(|| needs("a password (OS_PASSWORD)"))?;
    let user = named(&auth.user_id, &auth.username, &auth.user_domain_id, &auth.user_domain_name)
        .ok_or_else(|| needs("a user (OS_USERNAME)"))?;
    let project =
        named(&auth.project_id, &auth.project_name, &auth.project_domain_id, &auth.project_domain_name)
            .ok_or_else(|| needs("a project (OS_PROJECT_NAME)"))?;
    let mut user = user;
    user["password"] = json!(password);
    Ok(json!({ "auth": {
        "identity": { "methods": ["password"], "password": { "user": user } },
        "scope": { "project": project },
    } }))
}

fn application_credential(auth: &CloudAuth) -> Result<Value, ConfigError> {
    let needs = |needs| ConfigError::Incomplete { method: "application credential", needs };
    let id = auth.application_credential_id.as_ref();
    let id = id.ok_or_else(|| needs("an id (OS_APPLICATION_CREDENTIAL_ID)"))?;
    let secret = auth.application_credential_secret.as_ref();
    let secret = secret.ok_or_else(|| needs("a secret (OS_APPLICATION_CREDENTIAL_SECRET)"))?;
    Ok(json!({ "auth": { "identity": {
        "methods": ["application_credential"],
        "application_credential": { "id": id, "secret": secret },
    } } }))
}

/// A user or a project: by id, or by its name in a domain.
fn named(
    id: &Option<String>,
    name: &Option<String>,
    domain_id: &Option<String>,
    domain_name: &Option<String>,
) -> Option<Value> {
    if let Some(id) = id {
        return Some(json!({ "id": id }));
    }
    let domain = match (domain_id, domain_name) {
        (Some(id), _) => json!({ "id": id }),
        (None, Some(name)) => json!({ "name": name }),
        (None, None) => json!({ "id": "default" }),
    };
    name.as_ref().map(|name| json!({ "name": name, "domain": domain }))
}
