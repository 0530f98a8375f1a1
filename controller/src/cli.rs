//! The command line.

use std::{path::PathBuf, time::Duration};

use clap::{Parser, ValueEnum};

use crate::provider::InstallationName;

/// Keeps a network in a provider for each Network object of a cluster.
///
/// The cluster is that of `--kubeconfig` and `--context`, or of the API server `--master`; without
/// them it is that of `KUBECONFIG` or `~/.kube/config`, or of the pod's service account. With Neutron the
/// controller must be allowed to get the namespace `kube-system`, whose uid identifies the cluster.
///
/// There is no leader election: two controllers at once, as during a rolling update, create networks twice
/// and delete the duplicates within the drift interval.
///
/// The first SIGINT or SIGTERM lets running keys finish and exits with 0, or with 1 if the last search for
/// orphans was refused; the second exits with 1 at once. The controller also exits with 1 if a part of it ends
/// without a signal.
#[derive(Clone, Debug, Parser)]
#[command(name = "samplecrd-controller", version, max_term_width = 100)]
pub struct Args {
    /// The kubeconfig file; overrides `KUBECONFIG`.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// The address of the API server; overrides that of the kubeconfig.
    #[arg(long, value_name = "URL")]
    pub master: Option<String>,

    /// The context of the kubeconfig.
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,

    /// A namespace to watch; may be given several times; by default all namespaces are watched.
    #[arg(long = "namespace", value_name = "NAME")]
    pub namespaces: Vec<String>,

    /// The number of keys that are reconciled at the same time.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = at_least_one)]
    pub workers: usize,

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

    /// The format of the log.
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,

    /// Log more: -v for details, -vv for everything. `RUST_LOG` overrides it.
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

impl Args {
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

/// The format of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object per line.
    Json,
}

/// Parses an interval. A very short one would keep the provider busy all the time.
fn some_time(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(time) if time < Duration::from_millis(100) => Err("it must be at least 100ms".to_owned()),
        Ok(time) => Ok(time),
        Err(error) => Err(error.to_string()),
    }
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("it must be a number from 1".to_owned()),
        Ok(number) => Ok(number),
    }
}
