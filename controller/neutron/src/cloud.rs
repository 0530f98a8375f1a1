//! The address and the credentials of a cloud, from `OS_*` variables or a `clouds.yaml`.

use std::{collections::BTreeMap, fmt, io::ErrorKind, path::PathBuf};

use serde::Deserialize;

/// The keys of `auth` that are read, and the names of the corresponding variables.
const AUTH: [&str; 14] = [
    "auth_url",
    "endpoint",
    "token",
    "username",
    "user_id",
    "password",
    "user_domain_name",
    "user_domain_id",
    "project_name",
    "project_id",
    "project_domain_name",
    "project_domain_id",
    "application_credential_id",
    "application_credential_secret",
];

/// A cloud, as an entry of `clouds.yaml` or the `OS_*` variables describe it.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Cloud {
    /// How to authenticate: `none`, `token`, `password` or `v3applicationcredential`. By default it follows
    /// from the credentials.
    pub auth_type: Option<String>,
    /// The address of Keystone and the credentials, with the keys of a `clouds.yaml`.
    pub auth: BTreeMap<String, String>,
    /// The region of the network service.
    pub region_name: Option<String>,
    /// The kind of endpoint; `public` by default.
    pub interface: Option<String>,
    /// A file of certificates to trust in addition to the system's.
    pub cacert: Option<PathBuf>,
    /// Whether to verify the server's certificate. `false` is refused, because the password could be sent to
    /// anybody.
    pub verify: Option<bool>,
    /// The URL of the network service; overrides the one in the catalogue.
    pub network_endpoint_override: Option<String>,
}

/// Why a cloud cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub(crate) String);

#[derive(Deserialize)]
struct CloudsFile {
    #[serde(default)]
    clouds: BTreeMap<String, Cloud>,
}

impl Cloud {
    /// Returns a network service without authentication.
    pub fn at(url: impl Into<String>) -> Self {
        Self { network_endpoint_override: Some(url.into()), ..Self::default() }
    }

    /// Returns the cloud of the environment: an entry of `clouds.yaml` if `OS_CLOUD` is set, and otherwise
    /// that of the other `OS_*` variables.
    pub fn from_env(variable: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let os =
            |name: &str| variable(&format!("OS_{}", name.to_uppercase())).filter(|value| !value.is_empty());
        if let Some(name) = os("cloud") {
            return Self::from_files(&name, clouds_files(&variable));
        }
        Ok(Self {
            auth_type: os("auth_type"),
            auth: AUTH.into_iter().filter_map(|name| Some((name.to_owned(), os(name)?))).collect(),
            region_name: os("region_name"),
            interface: os("interface"),
            cacert: os("cacert").map(PathBuf::from),
            verify: None,
            network_endpoint_override: os("network_endpoint_override"),
        })
    }

    fn from_files(name: &str, files: Vec<PathBuf>) -> Result<Self, ConfigError> {
        for file in &files {
            let fail = |problem: &dyn fmt::Display| {
                ConfigError(format!("{} cannot be read: {problem}", file.display()))
            };
            let text = match std::fs::read_to_string(file) {
                Ok(text) => text,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(fail(&error)),
            };
            let mut known: CloudsFile = serde_saphyr::from_str(&text).map_err(|error| fail(&error))?;
            if let Some(cloud) = known.clouds.remove(name) {
                return Ok(cloud);
            }
        }
        let searched: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
        Err(ConfigError(format!("there is no cloud `{name}` in {}", searched.join(", "))))
    }

    /// Returns a value of `auth`.
    pub(crate) fn auth(&self, name: &str) -> Option<&String> {
        self.auth.get(name)
    }
}

/// Returns the paths at which to look for a clouds file.
fn clouds_files(variable: impl Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    if let Some(file) = variable("OS_CLIENT_CONFIG_FILE") {
        return vec![file.into()];
    }
    let config = variable("XDG_CONFIG_HOME").or_else(|| Some(format!("{}/.config", variable("HOME")?)));
    let mut files = vec![PathBuf::from("clouds.yaml")];
    files.extend(config.map(|config| PathBuf::from(config).join("openstack/clouds.yaml")));
    files.push("/etc/openstack/clouds.yaml".into());
    files
}

/// Shows the address, but no secrets.
impl fmt::Debug for Cloud {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.network_endpoint_override.as_ref().or_else(|| self.auth("auth_url"));
        f.debug_struct("Cloud").field("url", &url).finish_non_exhaustive()
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
        assert_eq!(cloud.auth["auth_url"], "https://keystone.test/v3");
        assert_eq!(cloud.auth["user_domain_name"], "Default");
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
        assert_eq!((cloud.region_name.as_deref(), cloud.auth["username"].as_str()), (Some("east"), "me"));
        let missing = Cloud::from_env(env(&[("OS_CLOUD", "prod"), ("OS_CLIENT_CONFIG_FILE", file)]));
        assert!(missing.unwrap_err().to_string().starts_with("there is no cloud `prod` in "));
        std::fs::write(file, "clouds: [").unwrap();
        let broken = Cloud::from_env(env(&[("OS_CLOUD", "lab"), ("OS_CLIENT_CONFIG_FILE", file)]));
        assert!(broken.unwrap_err().to_string().contains("cannot be read"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
