//! [`Keystone`]: the real identity service, for tests of tokens.

use std::{path::Path, time::Duration};

use http::{Method, StatusCode};
use serde_json::json;

use crate::{
    Error,
    http::send,
    install::home,
    openstack::{WsgiServer, copy, python, write},
};

/// The password of Neutron's own user; `openstack/keystone_template.py` sets it, as the others below.
pub(crate) const NEUTRON_PASSWORD: &str = "neutron-secret";
const ADMIN_PASSWORD: &str = "admin-secret";
const MEMBER_PASSWORD: &str = "genclient-secret";

/// A Keystone with a project `genclient`, a member of the same name, an administrator, and a catalogue with the
/// endpoints of Keystone and Neutron. It is started by [`Neutron::with_keystone`](crate::Neutron::with_keystone).
#[derive(Debug)]
pub struct Keystone {
    server: WsgiServer,
}

impl Keystone {
    /// Prepares a Keystone in `folder` that tells its clients where Neutron is.
    pub(crate) async fn prepare(
        installed: &Path,
        folder: &Path,
        port: u16,
        neutron_url: &str,
        token_lifetime: Duration,
    ) -> Result<Self, Error> {
        let data = folder.join("keystone");
        copy(&installed.join("template"), &data)?;
        let conf = data.join("keystone.conf");
        let keys = data.join("fernet-keys");
        write(
            &conf,
            &format!(
                "[database]\nconnection = sqlite:///{data}/keystone.sqlite\n\
                 [fernet_tokens]\nkey_repository = {keys}\n\
                 [fernet_receipts]\nkey_repository = {keys}\n\
                 [credential]\nkey_repository = {data}/credential-keys\n\
                 [identity]\npassword_hash_rounds = 4\n\
                 [cache]\nenabled = false\n\
                 [token]\nexpiration = {expiration}\nallow_expired_window = 0\n",
                data = data.display(),
                keys = keys.display(),
                expiration = token_lifetime.as_secs().max(1),
            ),
        )?;
        let application = "keystone.wsgi.api:application";
        let configuration = vec![("OS_KEYSTONE_CONFIG_FILES", conf.into())];
        let server = WsgiServer::new("keystone", installed, folder, port, application, configuration);
        let keystone = Self { server };

        let endpoints = [format!("identity={}", keystone.auth_url()), format!("network={neutron_url}")];
        let output = tokio::process::Command::new(python(installed))
            .arg(home().join("openstack/keystone_endpoints.py"))
            .arg(data.join("keystone.sqlite"))
            .args(&endpoints)
            .kill_on_drop(true)
            .output()
            .await
            .map_err(Error::io("running keystone_endpoints.py"))?;
        if output.status.success() {
            return Ok(keystone);
        }
        Err(Error::Command {
            command: format!("keystone_endpoints.py {}", endpoints.join(" ")),
            status: output.status.to_string(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    pub(crate) fn server(&self) -> &WsgiServer {
        &self.server
    }

    /// The URL that clients know as `OS_AUTH_URL`.
    pub fn auth_url(&self) -> String {
        format!("{}/v3", self.server.url())
    }

    /// The environment variables with which an OpenStack client authenticates as the member of the project.
    pub fn credentials(&self) -> Vec<(&'static str, String)> {
        [
            ("OS_AUTH_URL", self.auth_url().as_str()),
            ("OS_IDENTITY_API_VERSION", "3"),
            ("OS_REGION_NAME", "RegionOne"),
            ("OS_USERNAME", "genclient"),
            ("OS_PASSWORD", MEMBER_PASSWORD),
            ("OS_PROJECT_NAME", "genclient"),
            ("OS_USER_DOMAIN_NAME", "Default"),
            ("OS_PROJECT_DOMAIN_NAME", "Default"),
        ]
        .map(|(name, value)| (name, value.to_owned()))
        .to_vec()
    }

    /// A new token for the member of the project.
    pub async fn token(&self) -> Result<String, Error> {
        self.authenticate("genclient", MEMBER_PASSWORD, "genclient").await
    }

    /// A new token for the administrator.
    pub async fn admin_token(&self) -> Result<String, Error> {
        self.authenticate("admin", ADMIN_PASSWORD, "admin").await
    }

    /// Revokes a token.
    pub async fn revoke(&self, token: &str) -> Result<(), Error> {
        let admin = self.admin_token().await?;
        let url = format!("{}/auth/tokens", self.auth_url());
        let headers = [("X-Auth-Token", admin.as_str()), ("X-Subject-Token", token)];
        let answer = send(Method::DELETE, &url, &headers, None).await?;
        answer.expect(StatusCode::NO_CONTENT, "DELETE /v3/auth/tokens").map(drop)
    }

    async fn authenticate(&self, user: &str, password: &str, project: &str) -> Result<String, Error> {
        let domain = json!({"id": "default"});
        let request = json!({"auth": {
            "identity": {
                "methods": ["password"],
                "password": {"user": {"name": user, "domain": domain, "password": password}},
            },
            "scope": {"project": {"name": project, "domain": domain}},
        }});
        let url = format!("{}/auth/tokens", self.auth_url());
        let answer = send(Method::POST, &url, &[], Some(&request)).await?;
        let answer = answer.expect(StatusCode::CREATED, "POST /v3/auth/tokens")?;
        let token = answer.headers.get("x-subject-token").and_then(|token| token.to_str().ok());
        token.map(str::to_owned).ok_or_else(|| Error::Answer {
            request: String::from("POST /v3/auth/tokens"),
            answer: String::from("no X-Subject-Token"),
        })
    }

    /// Terminates Keystone, and waits until it has ended.
    pub async fn stop(&self) -> Result<(), Error> {
        self.server.stop().await
    }

    /// Kills Keystone.
    pub async fn kill9(&self) -> Result<(), Error> {
        self.server.kill9().await
    }

    /// Pauses Keystone: it accepts connections, but does not answer.
    pub fn pause(&self) -> Result<(), Error> {
        self.server.pause()
    }

    /// Resumes a paused Keystone.
    pub fn resume(&self) -> Result<(), Error> {
        self.server.resume()
    }

    /// Stops Keystone if it runs, and starts it on the same port with its data.
    pub async fn restart(&self) -> Result<(), Error> {
        self.server.restart().await
    }
}
