//! The command line.

use std::{path::PathBuf, time::Duration};

use clap::{Parser, ValueEnum};

use crate::provider::Installation;

/// Keeps a network in a provider for each Network object of a cluster.
///
/// The cluster is that of `--kubeconfig` and `--context`, or of the API server `--master`; without
/// them it is that of `KUBECONFIG` or `~/.kube/config`, or of the pod's service account.
///
/// There is no leader election: two controllers at once, as during a rolling update, make networks twice
/// and remove the duplicates at the next look, within the drift interval.
///
/// The first SIGINT or SIGTERM lets running keys finish and exits with 0, or with 1 while a mass deletion
/// is refused; the second exits with 1 at once.
#[derive(Clone, Debug, Parser)]
#[command(name = "samplecrd-controller", version, max_term_width = 100)]
pub struct Args {
    /// The kubeconfig file, instead of those that `KUBECONFIG` names.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// The address of the API server; overrides that of the kubeconfig.
    #[arg(long, value_name = "URL")]
    pub master: Option<String>,

    /// The context of the kubeconfig.
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,

    /// A namespace to look after; repeat it for several. All of them without it.
    #[arg(long = "namespace", value_name = "NAME")]
    pub namespaces: Vec<String>,

    /// How many keys are reconciled at once.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = at_least_one)]
    pub workers: usize,

    /// How often each network is compared with its object again, to repair what changed in the provider, and
    /// how often the provider is searched for networks without an object.
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = some_time)]
    pub drift_interval: Duration,

    /// Do not hold deleted objects back with a finalizer; networks of objects that are deleted while
    /// no controller runs are then found and deleted at the next start.
    #[arg(long)]
    pub no_finalizer: bool,

    /// Delete networks without an object even if they are more than five and more than half of all. Without
    /// this flag such a search deletes nothing: the cluster is probably not the right one, or lacks objects.
    #[arg(long)]
    pub allow_mass_deletion: bool,

    /// Where networks are made: in Neutron if `--neutron-url` is given, else in memory.
    #[arg(long, value_enum)]
    pub provider: Option<ProviderKind>,

    /// Neutron's address; without it, that of the catalogue. Credentials come from the usual `OS_*`
    /// variables or from clouds.yaml.
    #[arg(long, value_name = "URL", env = "NEUTRON_URL")]
    pub neutron_url: Option<String>,

    /// The identity under which networks are kept in Neutron; those of another one are never touched. It is
    /// 1 to 64 letters, digits, `-`, `_` and `.`. Without it, it is the uid of the namespace `kube-system`,
    /// which the controller must be allowed to get. A cluster that was made from another one's backup has the
    /// same uid: if both run, one of them needs a name.
    #[arg(long, value_name = "NAME")]
    pub installation: Option<Installation>,

    /// The form of the log.
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,

    /// Say more: -v for details, -vv for everything. `RUST_LOG` overrides it.
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

impl Args {
    /// Where networks are made.
    pub fn provider(&self) -> ProviderKind {
        let default = if self.neutron_url.is_some() { ProviderKind::Neutron } else { ProviderKind::Memory };
        self.provider.unwrap_or(default)
    }
}

/// Where networks are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProviderKind {
    /// In this process and no longer than it; for trying things out.
    Memory,
    /// In OpenStack's Neutron.
    Neutron,
}

/// The form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// A network that is looked at again at once is looked at all the time.
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
