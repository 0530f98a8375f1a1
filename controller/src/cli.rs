//! The command line.

use std::time::Duration;

use clap::{Parser, ValueEnum};
use genclient_runtime::cli::{self, ClusterArgs, ControllerArgs, LogArgs};

use crate::provider::InstallationName;

/// Keeps a network in a provider for each Network object of a cluster.
///
/// The cluster is that of `--kubeconfig` and `--context`, or of the API server `--master`; without
/// them it is that of `KUBECONFIG` or `~/.kube/config`, or of the pod's service account. With Neutron the
/// controller must be allowed to get the namespace `kube-system`, whose uid identifies the cluster.
///
/// With `--lease` one of several controllers works at a time, and the others stand by. Without it two controllers
/// at once create networks twice and delete the duplicates within the drift interval.
///
/// The first SIGINT or SIGTERM lets running keys finish and exits with 0, or with 1 if the last search for
/// orphans was refused; the second exits with 1 at once. The controller also exits with 1 if a part of it ends
/// without a signal.
#[derive(Clone, Debug, Parser)]
#[command(name = "samplecrd-controller", version, max_term_width = 100)]
pub struct Args {
    /// The cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,

    /// What is watched, by how many workers.
    #[command(flatten)]
    pub controller: ControllerArgs,

    /// Reconcile only while this controller holds the Lease: `NAMESPACE/NAME`, or `NAME` in the namespace of the
    /// kubeconfig or the pod. It is created if it does not exist; the controller must be allowed to get, create and
    /// update leases.
    #[arg(long, value_name = "LEASE")]
    pub lease: Option<String>,

    /// The interval at which each network is compared with its object, to repair changes in the provider, and
    /// at which the provider is searched for orphans: networks without an object.
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = some_time)]
    pub drift_interval: Duration,

    /// Do not hold deleted objects back with a finalizer. Networks of objects that are deleted while no
    /// controller runs are then orphans, which are deleted at the next start.
    #[arg(long)]
    pub no_finalizer: bool,

    /// Delete any number of orphans. Without this flag a search that finds more than one orphan and more than
    /// 5 % of the networks deletes nothing, because the objects were probably lost, as in a cluster that was
    /// restored from an old backup. With `--no-finalizer` the limit is five orphans and half of the networks:
    /// up to that, the networks of lost objects are deleted. Neutron itself refuses to delete networks that
    /// have ports.
    #[arg(long)]
    pub allow_mass_deletion: bool,

    /// Where networks are created: by default in Neutron if `--neutron-url` is given, and otherwise in memory.
    #[arg(long, value_enum)]
    pub provider: Option<ProviderKind>,

    /// The address of Neutron; by default that of Keystone's catalogue. Credentials come from the usual `OS_*`
    /// variables or from clouds.yaml.
    #[arg(long, value_name = "URL", env = "NEUTRON_URL")]
    pub neutron_url: Option<String>,

    /// The name of this controller among those of the same cluster: 1 to 48 letters, digits, `-`, `_` and `.`.
    /// Each network in Neutron carries this name and the uid of the cluster. Networks with another name or uid
    /// are never touched. A cluster that was restored from the backup of another one has the same uid; if both
    /// run, their controllers need different names.
    #[arg(long, value_name = "NAME", default_value_t)]
    pub installation: InstallationName,

    /// A cluster in this process.
    #[cfg(feature = "embedded")]
    #[command(flatten)]
    pub embedded: EmbeddedArgs,

    /// The log.
    #[command(flatten)]
    pub log: LogArgs,
}

/// The flags of a cluster in this process.
#[cfg(feature = "embedded")]
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Without a cluster")]
pub struct EmbeddedArgs {
    /// Run on a cluster in this process: an API server on a free port of loopback, with the CRDs installed, that
    /// everybody on this machine may use. It has objects, and no nodes. The program prints what to type to use it
    /// with kubectl.
    #[arg(long, conflicts_with_all = ["kubeconfig", "master", "context"])]
    pub embedded: bool,

    /// Keep the state of the embedded cluster in this file, which is created if it does not exist. The next start
    /// with it goes on where this one ended, even if it is killed. One program uses a file at a time. The kubeconfig
    /// is beside it, `FILE.kubeconfig`; without this flag it is among the temporary files.
    #[arg(long, value_name = "FILE", requires = "embedded")]
    pub data: Option<std::path::PathBuf>,

    /// Play the walk-through on an embedded cluster with networks in memory, within seconds, and exit: with 0 if
    /// everything happened that should.
    #[arg(long, conflicts_with_all = ["kubeconfig", "master", "context", "data", "namespaces"])]
    pub demo: bool,
}

impl Args {
    /// Parses the flags of this process. Wrong ones end it with a message and exit code 2.
    pub fn parse_and_check() -> Self {
        let args = Self::parse();
        args.check().unwrap_or_else(|error| error.exit());
        args
    }

    /// Checks what depends on more than one flag.
    #[cfg(feature = "embedded")]
    fn check(&self) -> Result<(), clap::Error> {
        use clap::{CommandFactory as _, error::ErrorKind};

        let EmbeddedArgs { embedded, data, demo } = &self.embedded;
        if *demo && self.provider == Some(ProviderKind::Neutron) {
            let message =
                "the argument '--demo' cannot be used with '--provider neutron': its networks are in memory";
            return Err(Self::command().error(ErrorKind::ArgumentConflict, message));
        }
        // Networks in Neutron belong to the cluster with the uid of its namespace kube-system.
        if *embedded && !demo && data.is_none() && self.provider() == ProviderKind::Neutron {
            let message = "'--embedded' with Neutron needs '--data <FILE>': without it every start is a new cluster, \
                           which does not touch the networks of the last one, and they are left behind; or use \
                           '--provider memory'";
            return Err(Self::command().error(ErrorKind::MissingRequiredArgument, message));
        }
        Ok(())
    }

    /// Checks what depends on more than one flag.
    #[cfg(not(feature = "embedded"))]
    fn check(&self) -> Result<(), clap::Error> {
        Ok(())
    }

    /// Returns where networks are created.
    pub fn provider(&self) -> ProviderKind {
        let default = if self.neutron_url.is_some() { ProviderKind::Neutron } else { ProviderKind::Memory };
        self.provider.unwrap_or(default)
    }
}

/// Where networks are created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProviderKind {
    /// In the memory of this process, for trying things out.
    Memory,
    /// In OpenStack's Neutron.
    Neutron,
}

/// Parses an interval. A very short one would keep the provider busy all the time.
fn some_time(text: &str) -> Result<Duration, String> {
    match cli::duration(text)? {
        time if time < Duration::from_millis(100) => Err("it must be at least 100ms".to_owned()),
        time => Ok(time),
    }
}
