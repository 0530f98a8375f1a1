//! A cluster in this process, for trying the controller: an API server in memory, served on loopback.
//!
//! * It needs nothing but this program. kubectl and all other clients can use it while it runs.
//! * It has the CRDs of the sample, and no nodes: objects are all there is.
//! * With a data file, everything that was answered is there after the next start, whatever ended the last one.

pub mod demo;

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
};

use genclient_fake::{
    DataError, Server,
    http::{KubeconfigFile, Serving},
};
use genclient_runtime::{
    Client,
    crd::MergeError,
    kube::{
        Config,
        config::{KubeConfigOptions, Kubeconfig},
    },
};
use samplecrd_client::crds;

/// Why there is no cluster in this process.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The data file cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
    /// It cannot be served.
    #[error("cannot serve the embedded cluster: {0}")]
    Serve(#[source] io::Error),
    /// The kubeconfig cannot be written.
    #[error("{0}")]
    Kubeconfig(#[source] io::Error),
    /// A client cannot connect.
    #[error("cannot connect to the embedded cluster: {0}")]
    Connect(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The versions of a kind contradict each other.
    #[error(transparent)]
    Definition(#[from] MergeError),
    /// The cluster does not take a CRD.
    #[error("cannot install the CRDs: {0}")]
    Install(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// A cluster in this process.
#[derive(Debug)]
pub struct Cluster {
    server: Server,
    serving: Serving,
    kubeconfig: KubeconfigFile,
    data: Option<PathBuf>,
}

impl Cluster {
    /// Starts a cluster without CRDs, or goes on with that of a data file.
    ///
    /// # Errors
    ///
    /// Returns an error if the data file cannot be used, or if there is no free port or no place for the kubeconfig.
    pub async fn start(data: Option<&Path>) -> Result<Self, Error> {
        let mut builder = Server::builder();
        if let Some(path) = data {
            builder = builder.data(path);
        }
        let server = builder.try_build()?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let serving = server.serve(address).await.map_err(Error::Serve)?;
        let kubeconfig = match data {
            // Beside the data file, where it is the same after every start.
            Some(path) => {
                let mut path = path.as_os_str().to_owned();
                path.push(".kubeconfig");
                serving.write_kubeconfig(path)
            }
            None => serving.write_temporary_kubeconfig(),
        };
        let kubeconfig = kubeconfig.map_err(Error::Kubeconfig)?;
        Ok(Self { server, serving, kubeconfig, data: data.map(Path::to_owned) })
    }

    /// Installs the CRDs of the sample, or brings them up to date.
    ///
    /// # Errors
    ///
    /// Returns an error if the cluster does not take one of them.
    pub fn install_crds(&self) -> Result<(), Error> {
        for crd in crds::all()? {
            let manifest = serde_json::to_string(&crd).map_err(|error| Error::Install(error.into()))?;
            self.server.load_yaml(&manifest).map_err(|error| Error::Install(error.into()))?;
        }
        Ok(())
    }

    /// Returns a client that needs no connection.
    pub fn client(&self) -> Client {
        self.server.client()
    }

    /// Returns a client with a connection, as those of other processes have.
    ///
    /// # Errors
    ///
    /// Returns an error if the kubeconfig does not lead to the cluster.
    pub async fn connect(&self) -> Result<Client, Error> {
        let kubeconfig = Kubeconfig::from_yaml(&self.serving.kubeconfig());
        let kubeconfig = kubeconfig.map_err(|error| Error::Connect(error.into()))?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        let config = config.map_err(|error| Error::Connect(error.into()))?;
        Client::try_from(config).map_err(|error| Error::Connect(error.into()))
    }

    /// Says how to use the cluster.
    pub fn welcome(&self) -> String {
        let kept = match &self.data {
            Some(path) => format!("its state is kept in {}", path.display()),
            None => "nothing is kept; --data FILE would keep it".to_owned(),
        };
        format!(
            "A cluster runs in this process, at {}. In another terminal, in the folder of the repository:\n\n\
             \x20 {}\n\
             \x20 kubectl apply -f controller/example/example-network.yaml\n\
             \x20 kubectl get networks\n\
             \x20 kubectl describe network example-network\n\
             \x20 kubectl delete network example-network\n\n\
             Ctrl-C ends it: {kept}.\n",
            self.serving.url(),
            self.kubeconfig,
        )
    }

    /// Ends the cluster, and removes its kubeconfig unless the next start writes it again.
    pub async fn shutdown(self) {
        self.serving.shutdown().await;
    }
}
