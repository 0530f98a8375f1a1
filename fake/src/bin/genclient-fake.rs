//! `genclient-fake`: the fake API server as a program.

// Failures are errors that are shown; only tests may panic.
#![warn(clippy::unwrap_used)]

use std::{
    io::{self, Write as _},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Parser, Subcommand};
use genclient_fake::{
    Server,
    http::{KubeconfigFile, Serving},
};
use genclient_runtime::cli::{self, Failure, LogArgs, Shutdown};

const EXAMPLES: &str = "\
Examples:
  genclient-fake serve
      an empty cluster on port 8001, and a line that points kubectl to it

  genclient-fake serve --listen 127.0.0.1:0 --kubeconfig-out fake.kubeconfig --load crds/ --load objects.yaml &
  export KUBECONFIG=fake.kubeconfig
  kubectl get all --all-namespaces
      a cluster for a script, on any free port, with CRDs and objects

Exit codes: 0 after SIGINT or SIGTERM, 1 after an error, 2 after wrong flags.";

/// A Kubernetes API server in memory, for tests and trials.
#[derive(Debug, Parser)]
#[command(name = "genclient-fake", version, after_help = EXAMPLES)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serves the API over HTTP on this machine, for kubectl, controllers and any other client.
    ///
    /// It behaves like kube-apiserver 1.36, as far as the documentation of the crate says. Nothing runs in this
    /// cluster: a Deployment has no pods. All objects are in memory, and without `--data` they are lost with the
    /// process. The server listens on loopback only, over HTTPS, and answers clients that have the token in its
    /// kubeconfig.
    #[command(after_help = EXAMPLES)]
    Serve(Serve),
}

#[derive(Debug, clap::Args)]
struct Serve {
    /// The address to listen on, one of loopback; port 0 is any free port.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8001")]
    listen: SocketAddr,

    /// A file for the kubeconfig of the server; by default a temporary one, which is removed at the end.
    #[arg(long, value_name = "FILE")]
    kubeconfig_out: Option<PathBuf>,

    /// Keep the state in this file, which is created if it does not exist. The next start with it goes on where this
    /// one ended, even if it is killed: what was answered is there. One process uses a file at a time.
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,

    /// A manifest, or a folder of manifests, to load first: YAML with any number of documents, or JSON. It may be
    /// given several times. CRDs and namespaces are loaded before all other objects.
    #[arg(long, value_name = "FILE|DIR")]
    load: Vec<PathBuf>,

    /// Serve plain HTTP without a token. Every user and every program of this machine can then read and write the
    /// cluster; requests from web pages are still refused.
    #[arg(long)]
    insecure: bool,

    #[command(flatten)]
    log: LogArgs,
}

#[tokio::main]
async fn main() -> ExitCode {
    let Command::Serve(args) = Args::parse().command;
    args.log.init(&["genclient_fake"]);
    cli::run(|shutdown| serve(args, shutdown)).await
}

async fn serve(args: Serve, shutdown: Shutdown) -> Result<(), Failure> {
    let mut builder = Server::builder();
    if let Some(data) = &args.data {
        builder = builder.data(data);
    }
    let server = builder.try_build()?;
    let loaded = server.load_files(&args.load)?.len();
    let serving = match args.insecure {
        true => server.serve_insecure(args.listen).await?,
        false => server.serve(args.listen).await?,
    };
    let kubeconfig = match &args.kubeconfig_out {
        Some(path) => serving.write_kubeconfig(path)?,
        None => serving.write_temporary_kubeconfig()?,
    };
    // A reader that has gone away does not end the server.
    let _ = announce(&serving, &kubeconfig, loaded, args.data.as_deref());
    shutdown.await;
    serving.shutdown().await;
    Ok(())
}

/// Tells how the server is used.
fn announce(
    serving: &Serving,
    kubeconfig: &KubeconfigFile,
    loaded: usize,
    data: Option<&Path>,
) -> io::Result<()> {
    let mut out = io::stdout().lock();
    write!(out, "Serving the Kubernetes API on {}", serving.url())?;
    match loaded {
        0 => writeln!(out, ".")?,
        1 => writeln!(out, ", with 1 object loaded.")?,
        _ => writeln!(out, ", with {loaded} objects loaded.")?,
    }
    writeln!(out, "\n    {kubeconfig}")?;
    writeln!(out, "    kubectl get namespaces\n")?;
    match data {
        Some(data) => writeln!(out, "Ctrl-C ends it; its state is kept in {}.", data.display())?,
        None => writeln!(out, "Ctrl-C ends it, and everything in it is lost.")?,
    }
    out.flush()
}
