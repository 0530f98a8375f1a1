//! The common part of Neutron and Keystone: a Python program behind `serve.py`, with one port and a sqlite file.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    Error,
    install::home,
    process::{Program, Signal},
    service::Service,
};

/// How long a server may take to load; usually it takes 4 to 7 seconds.
const START: Duration = Duration::from_secs(90);

/// A Python server and the file that it writes when it is ready.
#[derive(Debug)]
pub(crate) struct WsgiServer {
    service: Service,
    ready: PathBuf,
    port: u16,
}

impl WsgiServer {
    /// Returns a server that has not been started. `application` is the WSGI callable, as `module:attribute`.
    pub(crate) fn new(
        name: &'static str,
        installed: &Path,
        folder: &Path,
        port: u16,
        application: &str,
        envs: Vec<(&'static str, OsString)>,
    ) -> Self {
        let ready = folder.join(format!("{name}.ready"));
        let mut program = Program::new(name, python(installed), folder);
        program.args = vec![
            "-Wignore".into(),
            home().join("openstack/serve.py").into(),
            application.into(),
            port.to_string().into(),
            ready.clone().into(),
        ];
        program.envs = envs;
        Self { service: Service::new(program), ready, port }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.service.pid()
    }

    pub(crate) async fn start(&self) -> Result<(), Error> {
        // The file of an earlier start would look like that of this one.
        if let Err(error) = fs::remove_file(&self.ready)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            return Err(Error::io(format!("removing {}", self.ready.display()))(error));
        }
        let ready =
            || async { self.ready.exists().then_some(()).ok_or_else(|| String::from("still loading")) };
        self.service.start(START, ready).await
    }

    pub(crate) async fn restart(&self) -> Result<(), Error> {
        if self.pid().is_some() {
            self.service.stop().await?;
        }
        self.start().await
    }

    pub(crate) async fn stop(&self) -> Result<(), Error> {
        self.service.stop().await
    }

    pub(crate) async fn kill9(&self) -> Result<(), Error> {
        self.service.kill9().await
    }

    pub(crate) fn pause(&self) -> Result<(), Error> {
        self.service.signal(Signal::Stop)
    }

    pub(crate) fn resume(&self) -> Result<(), Error> {
        self.service.signal(Signal::Cont)
    }
}

/// The interpreter of an installed server.
pub(crate) fn python(installed: &Path) -> PathBuf {
    installed.join("venv/bin/python")
}

/// Copies a file or a folder of files from the installation; sqlite and Keystone write to theirs.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    let doing = || Error::io(format!("copying {} to {}", from.display(), to.display()));
    if !from.is_dir() {
        return fs::copy(from, to).map(drop).map_err(doing());
    }
    fs::create_dir(to).map_err(doing())?;
    let permissions = fs::metadata(from).map_err(doing())?.permissions();
    fs::set_permissions(to, permissions).map_err(doing())?;
    for entry in fs::read_dir(from).map_err(doing())? {
        let entry = entry.map_err(doing())?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Writes a configuration file.
pub(crate) fn write(path: &Path, content: &str) -> Result<(), Error> {
    fs::write(path, content).map_err(Error::io(format!("writing {}", path.display())))
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;
    use crate::{Server, ensure_installed, folder::Folder, ports::free_port, require_servers};

    async fn start_error(port: u16, application: &str) -> Error {
        let installed = ensure_installed(Server::Neutron).unwrap();
        let folder = Folder::create("test").unwrap();
        let server = WsgiServer::new("neutron", &installed, folder.path(), port, application, Vec::new());
        server.start().await.unwrap_err()
    }

    #[tokio::test]
    async fn a_port_that_was_taken_meanwhile_is_told_from_other_failures() {
        require_servers!(Neutron);
        let port = free_port().unwrap();
        let _listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        let error = start_error(port, "json:loads").await;
        assert!(error.is_port_conflict(), "{error}");
    }

    #[tokio::test]
    async fn an_application_that_does_not_load_ends_the_server() {
        require_servers!(Neutron);
        let error = start_error(free_port().unwrap(), "no_such_module:application").await;
        assert!(!error.is_port_conflict());
        assert!(error.to_string().contains("No module named 'no_such_module'"), "{error}");
    }
}
