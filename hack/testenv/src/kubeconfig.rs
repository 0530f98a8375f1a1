//! Kubeconfig files, and the client configurations in them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use kube::{
    Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::json;

use crate::{Error, pki::Identity};

/// Writes a kubeconfig for one user. The file is JSON, which is YAML.
pub(crate) fn write(path: &Path, server: &str, ca: &Path, user: &Identity) -> Result<PathBuf, Error> {
    let content = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "testenv", "cluster": {"server": server, "certificate-authority": ca}}],
        "users": [{"name": "user", "user": {"client-certificate": user.cert, "client-key": user.key}}],
        "contexts": [{"name": "testenv", "context": {"cluster": "testenv", "user": "user"}}],
        "current-context": "testenv",
    });
    fs::write(path, format!("{content:#}\n")).map_err(Error::io(format!("writing {}", path.display())))?;
    Ok(path.to_owned())
}

/// Reads the configuration for the current context of a kubeconfig.
pub(crate) async fn load(path: &Path) -> Result<Config, Error> {
    let kubeconfig = Kubeconfig::read_from(path)?;
    Ok(Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?)
}

/// Returns the configuration without kube's retries, for probes of the current state.
pub(crate) fn for_probes(config: &Config) -> Config {
    let mut config = config.clone();
    config.default_retry = false;
    config.connect_timeout = Some(std::time::Duration::from_secs(2));
    config.read_timeout = Some(std::time::Duration::from_secs(10));
    config
}
