//! Which cloud to talk to, and as whom: `OS_*` variables or a `clouds.yaml`.

use std::{collections::BTreeMap, path::PathBuf};

use serde::Deserialize;

/// A cloud, as an entry of `clouds.yaml` or the `OS_*` variables describe it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Cloud {
    /// How to authenticate: `none`, `token`, `password` or `v3applicationcredential`. Guessed from
    /// what is given where it is absent.
    pub auth_type: Option<String>,
    /// Where and as whom.
    pub auth: CloudAuth,
    /// The region whose network service is meant.
    pub region_name: Option<String>,
    /// The kind of endpoint: `public` where it is absent.
    pub interface: Option<String>,
    /// A file of certificates to trust besides the system's.
    pub cacert: Option<PathBuf>,
    /// The network service's URL, instead of the one in the catalogue.
    pub network_endpoint_override: Option<String>,
}

/// Where and as whom to authenticate.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CloudAuth {
    /// Keystone's URL.
    pub auth_url: Option<String>,
    /// The network service's URL, where there is no Keystone.
    pub endpoint: Option<String>,
    /// A token that somebody else got.
    pub token: Option<String>,
    /// The user.
    pub username: Option<String>,
    /// The user's id, instead of name and domain.
    pub user_id: Option<String>,
    /// The user's password.
    pub password: Option<String>,
    /// The user's domain.
    pub user_domain_name: Option<String>,
    /// The id of the user's domain.
    pub user_domain_id: Option<String>,
    /// The project.
    pub project_name: Option<String>,
    /// The project's id, instead of name and domain.
    pub project_id: Option<String>,
    /// The project's domain.
    pub project_domain_name: Option<String>,
    /// The id of the project's domain.
    pub project_domain_id: Option<String>,
    /// An application credential.
    pub application_credential_id: Option<String>,
    /// Its secret.
    pub application_credential_secret: Option<String>,
}

/// Why a cloud could not be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// No URL was given at all.
    #[error("no network service is named: give its URL, or OS_AUTH_URL, or OS_CLOUD and a clouds.yaml")]
    NoEndpoint,
    /// Something that this way of authenticating needs is missing.
    #[error("authentication by {method} needs {needs}")]
    Incomplete {
        /// The way of authenticating.
        method: &'static str,
        /// What is missing.
        needs: &'static str,
    },
    /// A way of authenticating that is not known here.
    #[error(
        "authentication by `{0}` is not supported: it must be none, token, password or v3applicationcredential"
    )]
    UnknownAuthType(String),
    /// The clouds file has no such cloud.
    #[error("there is no cloud `{name}` in {}", searched.join(", "))]
    UnknownCloud {
        /// The cloud.
        name: String,
        /// The files that were looked at.
        searched: Vec<String>,
    },
    /// The clouds file cannot be read.
    #[error("{file} cannot be read: {problem}")]
    CloudsFile {
        /// The file.
        file: String,
        /// Why.
        problem: String,
    },
    /// The certificates to trust cannot be read.
    #[error("the certificates to trust cannot be read")]
    Certificates(#[from] std::io::Error),
}

#[derive(Deserialize)]
struct CloudsFile {
    #[serde(default)]
    clouds: BTreeMap<String, Cloud>,
}

impl Cloud {
    /// The cloud that the environment names: an entry of `clouds.yaml` if `OS_CLOUD` is set, else what
    /// the other `OS_*` variables say.
    pub fn from_env(variable: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let os = |name: &str| variable(&format!("OS_{name}")).filter(|value| !value.is_empty());
        if let Some(name) = os("CLOUD") {
            return Self::from_files(&name, clouds_files(&variable));
        }
        Ok(Self {
            auth_type: os("AUTH_TYPE"),
            auth: CloudAuth {
                auth_url: os("AUTH_URL"),
                endpoint: os("ENDPOINT").or_else(|| os("URL")),
                token: os("TOKEN"),
                username: os("USERNAME"),
                user_id: os("USER_ID"),
                password: os("PASSWORD"),
                user_domain_name: os("USER_DOMAIN_NAME"),
                user_domain_id: os("USER_DOMAIN_ID"),
                project_name: os("PROJECT_NAME"),
                project_id: os("PROJECT_ID"),
                project_domain_name: os("PROJECT_DOMAIN_NAME"),
                project_domain_id: os("PROJECT_DOMAIN_ID"),
                application_credential_id: os("APPLICATION_CREDENTIAL_ID"),
                application_credential_secret: os("APPLICATION_CREDENTIAL_SECRET"),
            },
            region_name: os("REGION_NAME"),
            interface: os("INTERFACE"),
            cacert: os("CACERT").map(PathBuf::from),
            network_endpoint_override: os("NETWORK_ENDPOINT_OVERRIDE"),
        })
    }

    /// A network service without authentication.
    pub fn at(url: impl Into<String>) -> Self {
        Self { network_endpoint_override: Some(url.into()), ..Self::default() }
    }

    fn from_files(name: &str, files: Vec<PathBuf>) -> Result<Self, ConfigError> {
        let mut searched = Vec::new();
        for file in files {
            let shown = file.display().to_string();
            let fail = |problem: String| ConfigError::CloudsFile { file: shown.clone(), problem };
            let text = match std::fs::read_to_string(&file) {
                Ok(text) => text,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    searched.push(shown);
                    continue;
                }
                Err(error) => return Err(fail(error.to_string())),
            };
            let clouds: CloudsFile =
                serde_saphyr::from_str(&text).map_err(|error| fail(error.to_string()))?;
            if let Some(cloud) = clouds.clouds.get(name) {
                return Ok(cloud.clone());
            }
            searched.push(shown);
        }
        Err(ConfigError::UnknownCloud { name: name.to_owned(), searched })
    }
}

/// Where a clouds file can be: the one that is named, or the usual places.
fn clouds_files(variable: impl Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    if let Some(file) = variable("OS_CLIENT_CONFIG_FILE") {
        return vec![file.into()];
    }
    let home = variable("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| variable("HOME").map(|home| PathBuf::from(home).join(".config")));
    let mut files = vec![PathBuf::from("clouds.yaml")];
    files.extend(home.map(|home| home.join("openstack/clouds.yaml")));
    files.push("/etc/openstack/clouds.yaml".into());
    files
}

/// Shows who, and never the secrets.
impl std::fmt::Debug for CloudAuth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CloudAuth")
            .field("auth_url", &self.auth_url)
            .field("endpoint", &self.endpoint)
            .field("username", &self.username)
            .field("project_name", &self.project_name)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> impl Fn(&str) -> Option<String> {
        let pairs: BTreeMap<_, _> = pairs.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
        move |name| pairs.get(name).cloned()
    }

    #[test]
    fn the_usual_variables_name_a_cloud() {
        let cloud = Cloud::from_env(env(&[
            ("OS_AUTH_URL", "https://keystone.test/v3"),
            ("OS_USERNAME", "me"),
            ("OS_PASSWORD", "secret"),
            ("OS_PROJECT_NAME", "demo"),
            ("OS_USER_DOMAIN_NAME", "Default"),
            ("OS_REGION_NAME", ""),
        ]))
        .unwrap();
        assert_eq!(cloud.auth.auth_url.as_deref(), Some("https://keystone.test/v3"));
        assert_eq!(cloud.auth.user_domain_name.as_deref(), Some("Default"));
        assert_eq!(cloud.region_name, None, "an empty variable is none");
        assert!(!format!("{cloud:?}").contains("secret"));
    }

    #[test]
    fn a_clouds_file_names_a_cloud() {
        let folder = std::env::temp_dir().join(format!("genclient-clouds-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("clouds.yaml");
        let text = "clouds:\n  lab:\n    auth:\n      auth_url: http://k\n      username: me\n      password: p\n    \
                    region_name: east\n    some_other_setting: 1\n";
        std::fs::write(&file, text).unwrap();
        let file = file.to_str().unwrap();
        let cloud = Cloud::from_env(env(&[("OS_CLOUD", "lab"), ("OS_CLIENT_CONFIG_FILE", file)])).unwrap();
        assert_eq!(
            (cloud.region_name.as_deref(), cloud.auth.username.as_deref()),
            (Some("east"), Some("me"))
        );
        let missing = Cloud::from_env(env(&[("OS_CLOUD", "prod"), ("OS_CLIENT_CONFIG_FILE", file)]));
        assert!(missing.unwrap_err().to_string().starts_with("there is no cloud `prod` in "));
        std::fs::write(file, "clouds: [").unwrap();
        let broken = Cloud::from_env(env(&[("OS_CLOUD", "lab"), ("OS_CLIENT_CONFIG_FILE", file)]));
        assert!(broken.unwrap_err().to_string().contains("cannot be read"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
