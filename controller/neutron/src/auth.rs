//! Tokens, and the endpoint of the network service.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::{Cloud, ConfigError, Error, ErrorKind, http::Http};

/// The URL of the service, and the token if there is one.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Session {
    /// The URL, including the version.
    pub url: String,
    pub token: Option<String>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The token is a secret, like the password.
        f.debug_struct("Session").field("url", &self.url).finish_non_exhaustive()
    }
}

/// Provides sessions, and renews them when a token is refused.
#[derive(Debug)]
pub(crate) struct Auth {
    pub http: Http,
    method: AuthMethod,
    /// Locked by the task that logs in; the others wait for it and share its outcome.
    state: Mutex<State>,
    /// The number of completed logins.
    logins: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    session: Option<Session>,
    /// Why the last login failed, if it did.
    failure: Option<Error>,
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
        // The request contains the password.
        f.debug_struct("Keystone").field("tokens_url", &self.tokens_url).finish_non_exhaustive()
    }
}

impl Auth {
    pub fn new(http: Http, cloud: &Cloud) -> Result<Self, ConfigError> {
        if cloud.verify == Some(false) {
            let advice = "name the authority's certificates with `cacert` (OS_CACERT)";
            return Err(ConfigError(format!("`verify: false` is not supported: {advice}")));
        }
        let url = cloud.network_endpoint_override.as_ref().or_else(|| cloud.auth("endpoint"));
        let url = url.map(|url| versioned(url));
        let guessed = match () {
            () if cloud.auth("token").is_some() => "token",
            () if cloud.auth("application_credential_id").is_some() => "v3applicationcredential",
            () if cloud.auth("auth_url").is_some() => "password",
            () => "none",
        };
        let request = match cloud.auth_type.as_deref().unwrap_or(guessed) {
            "none" | "noauth" | "token" | "v3token" | "admin_token" => {
                let url = url.ok_or_else(|| {
                    let advice = match cloud.auth("token") {
                        Some(_) => "a token alone names none; give the service's URL as well (OS_ENDPOINT)",
                        None => "give its URL, or OS_AUTH_URL, or OS_CLOUD and a clouds.yaml",
                    };
                    ConfigError(format!("no network service is named: {advice}"))
                })?;
                let method = AuthMethod::Fixed(Session { url, token: cloud.auth("token").cloned() });
                return Ok(Self { http, method, state: Mutex::default(), logins: AtomicU64::new(0) });
            }
            "v3applicationcredential" => application_credential(cloud)?,
            "password" | "v3password" => password(cloud)?,
            other => {
                let known = "none, token, password or v3applicationcredential";
                return Err(ConfigError(format!(
                    "authentication by `{other}` is not known: it must be {known}"
                )));
            }
        };
        let auth_url = needed(cloud, "auth_url")?.trim_end_matches('/');
        let keystone = Keystone {
            tokens_url: format!("{}/v3/auth/tokens", auth_url.strip_suffix("/v3").unwrap_or(auth_url)),
            request,
            url,
            region: cloud.region_name.clone(),
            interface: cloud.interface.clone().unwrap_or_else(|| "public".to_owned()),
        };
        let method = AuthMethod::Keystone(Box::new(keystone));
        Ok(Self { http, method, state: Mutex::default(), logins: AtomicU64::new(0) })
    }

    /// Returns the current session, and logs in if there is none yet.
    pub async fn session(&self) -> Result<Session, Error> {
        let keystone = match &self.method {
            AuthMethod::Fixed(session) => return Ok(session.clone()),
            AuthMethod::Keystone(keystone) => keystone,
        };
        let before = self.logins.load(SeqCst);
        let mut state = self.state.lock().await;
        if let Some(session) = &state.session {
            return Ok(session.clone());
        }
        // This task shares the outcome of a login that was completed while it waited.
        if self.logins.load(SeqCst) != before
            && let Some(failure) = &state.failure
        {
            return Err(failure.clone());
        }
        let outcome = keystone.log_in(&self.http).await;
        state.session = outcome.as_ref().ok().cloned();
        state.failure = outcome.as_ref().err().cloned();
        self.logins.fetch_add(1, SeqCst);
        outcome
    }

    /// Returns a new session in place of one whose token was refused, or `None` if it cannot be renewed.
    pub async fn renewed(&self, refused: &Session) -> Result<Option<Session>, Error> {
        if let AuthMethod::Fixed(_) = self.method {
            return Ok(None);
        }
        // Many requests can be refused at once. The first one drops the session, and the others find a new one.
        self.state.lock().await.session.take_if(|current| current == refused);
        self.session().await.map(Some)
    }
}

impl Keystone {
    async fn log_in(&self, http: &Http) -> Result<Session, Error> {
        let answer = http.send(Method::POST, &self.tokens_url, None, Some(&self.request)).await?;
        let fail = |kind, message: String| Err(answer.error(kind, message));
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
        let body: Value = answer.json()?;
        let Some(url) = self.url.clone().or_else(|| self.find(&body["token"]["catalog"])) else {
            let message =
                format!("Keystone's catalogue names no {} endpoint of a network service", self.interface);
            return fail(ErrorKind::Forbidden, message);
        };
        tracing::debug!(url, "got a token");
        Ok(Session { url, token: Some(token.to_owned()) })
    }

    fn find(&self, catalog: &Value) -> Option<String> {
        let services = catalog.as_array()?.iter().filter(|service| service["type"] == "network");
        let mut endpoints = services.filter_map(|service| service["endpoints"].as_array()).flatten();
        let endpoint = endpoints.find(|endpoint| {
            let here = self.region.as_ref().is_none_or(|region| endpoint["region"] == **region);
            here && endpoint["interface"] == self.interface
        });
        endpoint?["url"].as_str().map(versioned)
    }
}

/// Returns the URL of the network service with its version.
fn versioned(url: &str) -> String {
    let url = url.trim_end_matches('/');
    format!("{}/v2.0", url.strip_suffix("/v2.0").unwrap_or(url))
}

fn needed<'a>(cloud: &'a Cloud, name: &str) -> Result<&'a String, ConfigError> {
    let missing = || ConfigError(format!("authentication needs `{name}` (OS_{})", name.to_uppercase()));
    cloud.auth(name).ok_or_else(missing)
}

fn password(cloud: &Cloud) -> Result<Value, ConfigError> {
    let (mut user, project) = (named(cloud, "user", "username")?, named(cloud, "project", "project_name")?);
    user["password"] = json!(needed(cloud, "password")?);
    Ok(json!({ "auth": {
        "identity": { "methods": ["password"], "password": { "user": user } },
        "scope": { "project": project },
    } }))
}

fn application_credential(cloud: &Cloud) -> Result<Value, ConfigError> {
    let id = needed(cloud, "application_credential_id")?;
    let secret = needed(cloud, "application_credential_secret")?;
    Ok(json!({ "auth": { "identity": {
        "methods": ["application_credential"],
        "application_credential": { "id": id, "secret": secret },
    } } }))
}

/// Returns a user or a project, by its id or by its name in a domain.
fn named(cloud: &Cloud, what: &str, name: &str) -> Result<Value, ConfigError> {
    if let Some(id) = cloud.auth(&format!("{what}_id")) {
        return Ok(json!({ "id": id }));
    }
    let domain = match cloud.auth(&format!("{what}_domain_name")) {
        Some(domain) => json!({ "name": domain }),
        None => json!({ "id": cloud.auth(&format!("{what}_domain_id")).map_or("default", |id| id) }),
    };
    Ok(json!({ "name": needed(cloud, name)?, "domain": domain }))
}
