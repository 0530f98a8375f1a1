//! Flags that select a cluster.

use std::path::PathBuf;

use http::uri::InvalidUri;
use kube::{
    Client, Config,
    config::{InferConfigError, KubeConfigOptions, Kubeconfig, KubeconfigError},
};

use crate::{client, error::Error};

/// Flags that select a cluster.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ClusterArgs {
    /// The kubeconfig file; overrides `KUBECONFIG`.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// The address of the API server; overrides the address in the kubeconfig.
    #[arg(long, value_name = "URL")]
    pub master: Option<String>,

    /// The context of the kubeconfig.
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
}

/// Why a program cannot connect to its cluster.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The file of `--kubeconfig` cannot be read.
    #[error("cannot read the kubeconfig `{}`: {error}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the file.
        error: KubeconfigError,
    },
    /// The kubeconfig does not describe the cluster.
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
    /// There is neither a kubeconfig nor a service account.
    #[error(transparent)]
    Infer(#[from] InferConfigError),
    /// `--master` is not a URL.
    #[error("`{url}` is not a URL: {error}")]
    Url {
        /// The text.
        url: String,
        /// The error of the text.
        error: InvalidUri,
    },
    /// The credentials or certificates cannot be used.
    #[error(transparent)]
    Client(#[from] Error),
}

impl ClusterArgs {
    /// Returns the configuration of the selected cluster, or of the environment, and logs its address.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no configuration, or if it cannot be read.
    pub async fn config(&self) -> Result<Config, ConnectError> {
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        let mut config = match &self.kubeconfig {
            Some(path) => {
                let kubeconfig = Kubeconfig::read_from(path)
                    .map_err(|error| ConnectError::Unreadable { path: path.clone(), error })?;
                Config::from_custom_kubeconfig(kubeconfig, &options).await?
            }
            // `KUBECONFIG` can name several files; they are merged.
            None if self.context.is_some() || std::env::var_os("KUBECONFIG").is_some() => {
                Config::from_kubeconfig(&options).await?
            }
            None => match (Config::infer().await, &self.master) {
                (Ok(config), _) => config,
                (Err(_), Some(master)) => Config::new(parse_url(master)?),
                (Err(error), None) => return Err(error.into()),
            },
        };
        if let Some(master) = &self.master {
            config.cluster_url = parse_url(master)?;
        }
        tracing::info!(server = %config.cluster_url, "using cluster");
        Ok(config)
    }

    /// Connects to the cluster with [`client::connect`].
    ///
    /// # Errors
    ///
    /// Returns an error if there is no configuration, or if it cannot be used. An API server that does not
    /// answer is not an error: informers wait for it.
    pub async fn connect(&self) -> Result<Client, ConnectError> {
        Ok(client::connect(self.config().await?)?)
    }
}

fn parse_url(url: &str) -> Result<http::Uri, ConnectError> {
    url.parse().map_err(|error| ConnectError::Url { url: url.to_owned(), error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_flags_select_the_cluster() {
        let file = std::env::temp_dir().join(format!("genclient-cli-{}", std::process::id()));
        let kubeconfig = "{apiVersion: v1, kind: Config, current-context: a, users: [{name: u, user: {}}], \
             clusters: [{name: a, cluster: {server: 'http://a'}}, {name: b, cluster: {server: 'http://b'}}], \
             contexts: [{name: a, context: {cluster: a, user: u}}, {name: b, context: {cluster: b, user: u}}]}";
        std::fs::write(&file, kubeconfig).unwrap();
        let server = async |context: Option<&str>, master: Option<&str>| {
            let args = ClusterArgs {
                kubeconfig: Some(file.clone()),
                context: context.map(str::to_owned),
                master: master.map(str::to_owned),
            };
            args.config()
                .await
                .map(|config| config.cluster_url.to_string())
                .map_err(|error| error.to_string())
        };
        assert_eq!(server(None, None).await.unwrap(), "http://a/");
        assert_eq!(server(Some("b"), None).await.unwrap(), "http://b/");
        assert_eq!(server(Some("b"), Some("http://c")).await.unwrap(), "http://c/");
        assert!(server(Some("z"), None).await.unwrap_err().contains('z'));
        assert!(server(None, Some("no url")).await.unwrap_err().contains("`no url` is not a URL"));
        std::fs::remove_file(&file).unwrap();
        let lost = server(None, None).await.unwrap_err();
        assert!(
            lost.contains("cannot read the kubeconfig") && lost.contains(file.to_str().unwrap()),
            "{lost}"
        );
    }
}
