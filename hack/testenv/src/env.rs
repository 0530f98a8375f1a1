//! [`TestEnv`]: a Kubernetes cluster for a test.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Stdio,
};

use kube::{Client, Config};
use tokio::{io::AsyncWriteExt, process::Command, sync::OnceCell};

use crate::{
    Error, Server,
    control_plane::{ControlPlane, LIMITED_USER, Options},
    folder::Folder,
    install, kubeconfig,
    ports::Ports,
    process::Signal,
};

/// How often the control plane is started with other ports if one of the ports is taken.
const ATTEMPTS: usize = 5;

/// A Kubernetes cluster with an administrator and a limited user.
///
/// It is either its own control plane, which ends with this value, or an external cluster, for which the handles
/// that inject faults return [`Error::NotSupported`].
#[derive(Debug)]
pub struct TestEnv {
    // The servers end before their folder is removed.
    control_plane: Option<ControlPlane>,
    kubeconfig: PathBuf,
    admin: Config,
    limited: Config,
    kubectl: PathBuf,
    folder: Folder,
}

/// Chooses how an environment is started; made by [`TestEnv::builder`].
#[derive(Clone, Debug, Default)]
pub struct Builder {
    options: Options,
    own_servers: bool,
    kubeconfig: Option<PathBuf>,
}

impl Builder {
    /// Starts servers even if `GENCLIENT_TEST_KUBECONFIG` names a cluster: for tests that inject faults. Such a
    /// test begins with `require_servers!(ControlPlane)`.
    pub fn own_servers(mut self) -> Self {
        self.own_servers = true;
        self
    }

    /// Uses the cluster of a kubeconfig, in place of servers and of the variable.
    pub fn kubeconfig(mut self, path: impl Into<PathBuf>) -> Self {
        self.kubeconfig = Some(path.into());
        self
    }

    /// Adds a flag to the API server, for example `--watch-cache=false`. Of a flag given twice the last one counts.
    pub fn apiserver_arg(mut self, arg: impl Into<String>) -> Self {
        self.options.apiserver_args.push(arg.into());
        self
    }

    /// Adds a flag to the controller manager.
    pub fn controller_manager_arg(mut self, arg: impl Into<String>) -> Self {
        self.options.controller_manager_args.push(arg.into());
        self
    }

    /// Leaves the controller manager out: a second and 90 MB less, but nothing is garbage collected, a namespace
    /// is never gone after its deletion, and pods cannot be created because there are no service accounts.
    pub fn without_controller_manager(mut self) -> Self {
        self.options.without_controller_manager = true;
        self
    }

    /// Starts the environment and waits until it is ready.
    pub async fn start(self) -> Result<TestEnv, Error> {
        let named = || variable("GENCLIENT_TEST_KUBECONFIG").filter(|_| !self.own_servers);
        if let Some(path) = self.kubeconfig.clone().or_else(named) {
            return TestEnv::external(path).await;
        }
        let assets = install::installed(Server::Kubernetes).await?;
        let mut attempt = 1;
        loop {
            match TestEnv::start_once(&assets, &self.options).await {
                Err(error) if error.is_port_conflict() && attempt < ATTEMPTS => attempt += 1,
                result => return result,
            }
        }
    }
}

impl TestEnv {
    /// A control plane of its own, or the cluster that `GENCLIENT_TEST_KUBECONFIG` names.
    pub async fn start() -> Result<Self, Error> {
        Self::builder().start().await
    }

    /// Chooses how the environment is started.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The one environment that all tests of this process share, started by the first call.
    ///
    /// It is the cluster that `GENCLIENT_SHARED_KUBECONFIG` (set for every test program by
    /// `hack/testenv/run.sh -- COMMAND`) or `GENCLIENT_TEST_KUBECONFIG` names, and otherwise a control plane that
    /// ends with the process. A test keeps to a namespace of its own in it, and does not inject faults.
    pub async fn shared() -> Result<&'static Self, Error> {
        static SHARED: OnceCell<TestEnv> = OnceCell::const_new();
        SHARED
            .get_or_try_init(|| async {
                match variable("GENCLIENT_SHARED_KUBECONFIG") {
                    Some(path) => Self::external(path).await,
                    None => Self::start().await,
                }
            })
            .await
    }

    async fn start_once(assets: &Path, options: &Options) -> Result<Self, Error> {
        let mut folder = Folder::create("testenv")?;
        let started = ControlPlane::start(assets, folder.path(), Ports::choose()?, options).await;
        let (control_plane, kubeconfigs) = started.inspect_err(|error| {
            // The logs are of interest, except for a port that was taken.
            if !error.is_port_conflict() {
                folder.keep();
            }
        })?;
        Ok(Self {
            control_plane: Some(control_plane),
            admin: kubeconfig::load(&kubeconfigs.admin).await?,
            limited: kubeconfig::load(&kubeconfigs.limited).await?,
            kubeconfig: kubeconfigs.admin,
            kubectl: assets.join("kubectl"),
            folder,
        })
    }

    async fn external(kubeconfig: PathBuf) -> Result<Self, Error> {
        let admin = kubeconfig::load(&kubeconfig).await?;
        let mut limited = admin.clone();
        limited.auth_info.impersonate = Some(String::from(LIMITED_USER));
        // Prefer the kubectl of this environment, and fall back to any other.
        let installed = install::installed(Server::Kubernetes).await;
        Ok(Self {
            control_plane: None,
            kubeconfig,
            admin,
            limited,
            kubectl: installed.map_or_else(|_| PathBuf::from("kubectl"), |assets| assets.join("kubectl")),
            folder: Folder::create("testenv")?,
        })
    }

    /// A new client for the administrator. It belongs to the async runtime in which it is made.
    pub fn client(&self) -> Result<Client, Error> {
        Ok(Client::try_from(self.admin.clone())?)
    }

    /// A new client for a user who may do nothing but discovery, until a test binds a role to
    /// [`TestEnv::limited_user`].
    pub fn limited_client(&self) -> Result<Client, Error> {
        Ok(Client::try_from(self.limited.clone())?)
    }

    /// The name of the limited user, for a role binding's subject.
    pub fn limited_user(&self) -> &'static str {
        LIMITED_USER
    }

    /// The administrator's client configuration, to change before making a client of it.
    pub fn config(&self) -> Config {
        self.admin.clone()
    }

    /// The administrator's kubeconfig file.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The folder with the data and the log of every server.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The program that [`TestEnv::kubectl`] runs.
    pub fn kubectl_path(&self) -> &Path {
        &self.kubectl
    }

    /// Runs the environment's own kubectl as the administrator and returns what it printed.
    pub async fn kubectl<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String, Error> {
        self.kubectl_with_input(args, "").await
    }

    /// Like [`TestEnv::kubectl`], with standard input: `env.kubectl_with_input(&["apply", "-f", "-"], manifest)`.
    pub async fn kubectl_with_input<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        input: &str,
    ) -> Result<String, Error> {
        let words: Vec<_> = args.iter().map(|word| word.as_ref().to_string_lossy()).collect();
        let command = format!("kubectl {}", words.join(" "));
        let failed = |error| Error::io(format!("running {command}"))(error);
        let mut child = Command::new(&self.kubectl)
            .args(args)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("KUBECACHEDIR", self.folder.path().join("kubectl-cache"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        if let Some(mut stdin) = child.stdin.take() {
            // A kubectl that does not read its input closes it early.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
        let output = child.wait_with_output().await.map_err(failed)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(Error::Command { command, status: output.status.to_string(), stderr })
    }

    /// The handle to stop, kill, pause and restart the API server.
    pub fn apiserver(&self) -> ApiServer<'_> {
        ApiServer { control_plane: self.control_plane.as_ref() }
    }

    /// Makes etcd forget every revision before the current one, which is returned.
    ///
    /// The API server still answers a watch from an older version out of its watch cache, as far as that goes
    /// back. Restart it, which empties the cache, or start the environment with
    /// `apiserver_arg("--watch-cache=false")`, to have every such watch answered with 410.
    pub async fn compact_etcd(&self) -> Result<i64, Error> {
        own(self.control_plane.as_ref(), "compacting etcd")?.compact_etcd().await
    }

    /// The name and process id of every server that runs; empty for a cluster that somebody else runs.
    pub fn processes(&self) -> Vec<(&'static str, u32)> {
        self.control_plane.as_ref().map(ControlPlane::processes).unwrap_or_default()
    }

    /// The ports that the servers listen on; empty for a cluster that somebody else runs.
    pub fn ports(&self) -> Vec<u16> {
        let ports = self.control_plane.as_ref().map(ControlPlane::ports);
        ports.map(|ports| vec![ports.etcd, ports.peer, ports.apiserver]).unwrap_or_default()
    }
}

/// Injects faults into the API server. Its data survives all of them; the port and the certificates stay.
#[derive(Clone, Copy, Debug)]
pub struct ApiServer<'a> {
    control_plane: Option<&'a ControlPlane>,
}

impl ApiServer<'_> {
    /// Kills the server, which breaks its connections.
    pub async fn kill9(&self) -> Result<(), Error> {
        own(self.control_plane, "killing the API server")?.apiserver().kill9().await
    }

    /// Terminates the server, which finishes requests and closes watches.
    pub async fn stop(&self) -> Result<(), Error> {
        own(self.control_plane, "stopping the API server")?.apiserver().stop().await
    }

    /// Pauses the server: connections stay open, but it does not answer.
    pub fn pause(&self) -> Result<(), Error> {
        own(self.control_plane, "pausing the API server")?.apiserver().signal(Signal::Stop)
    }

    /// Resumes a paused server.
    pub fn resume(&self) -> Result<(), Error> {
        own(self.control_plane, "resuming the API server")?.apiserver().signal(Signal::Cont)
    }

    /// Starts a stopped server on the same port, and waits until it is ready.
    pub async fn start(&self) -> Result<(), Error> {
        own(self.control_plane, "starting the API server")?.start_apiserver().await
    }

    /// Stops the server if it runs, and starts it on the same port.
    pub async fn restart(&self) -> Result<(), Error> {
        let control_plane = own(self.control_plane, "restarting the API server")?;
        if control_plane.apiserver().pid().is_some() {
            control_plane.apiserver().stop().await?;
        }
        control_plane.start_apiserver().await
    }
}

fn own<'a>(
    control_plane: Option<&'a ControlPlane>,
    operation: &'static str,
) -> Result<&'a ControlPlane, Error> {
    control_plane.ok_or(Error::NotSupported { operation })
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}
