//! The command line.

use std::{path::PathBuf, time::Duration};

use clap::{Parser, ValueEnum};

/// Keeps a network in a provider for each Network object of a cluster.
///
/// The cluster is that of `--kubeconfig` and `--context`, or of the API server `--master`; without
/// them it is that of `KUBECONFIG` or `~/.kube/config`, or of the pod's service account.
///
/// The first SIGINT or SIGTERM lets running keys finish and exits with 0, the second exits with 1 at
/// once.
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

    /// How many keys are worked on at once.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = at_least_one)]
    pub workers: usize,

    /// How often handlers are told of every object again; 0s for never.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = humantime::parse_duration)]
    pub resync: Duration,

    /// How long after a success the provider is looked at again, to repair what changed behind the
    /// controller's back.
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = some_time)]
    pub drift_interval: Duration,

    /// Do not hold deleted objects back with a finalizer; networks of objects that are deleted while
    /// no controller runs are then found and deleted at the next start.
    #[arg(long)]
    pub no_finalizer: bool,

    /// Where networks are made.
    #[arg(long, value_enum, default_value_t = ProviderKind::Memory)]
    pub provider: ProviderKind,

    /// The memory provider of another process, such as `http://127.0.0.1:9000`.
    #[arg(long, value_name = "URL")]
    pub memory_url: Option<String>,

    /// Neutron's address; without it, that of the catalogue. Credentials come from the usual `OS_*`
    /// variables or from clouds.yaml.
    #[arg(long, value_name = "URL", env = "NEUTRON_URL")]
    pub neutron_url: Option<String>,

    /// The name of this installation; networks of another one are never touched.
    #[arg(long, value_name = "NAME", default_value = "samplecrd-controller")]
    pub installation: String,

    /// The form of the log.
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,

    /// Say more: -v for details, -vv for everything. `RUST_LOG` overrides it.
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// Where networks are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProviderKind {
    /// In this process, or in the one of `--memory-url`; for trying things out.
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
