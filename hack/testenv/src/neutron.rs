//! [`Neutron`]: the real network service, alone or behind Keystone.

use std::{path::Path, time::Duration};

use crate::{
    Error, Keystone, Server,
    folder::Folder,
    install,
    keystone::NEUTRON_PASSWORD,
    openstack::{WsgiServer, copy, write},
    ports::free_ports,
};

/// How often the servers are started with other ports if one of the ports is taken.
const ATTEMPTS: usize = 5;

/// A Neutron with an empty database of its own, which ends with this value.
///
/// It handles one request at a time, because sqlite has one writer. Without Keystone it ignores tokens, and
/// requests must not have the header `X-Project-Id`.
#[derive(Debug)]
pub struct Neutron {
    // The servers end before their folder is removed.
    server: WsgiServer,
    keystone: Option<Keystone>,
    folder: Folder,
}

/// Chooses how a Neutron is started; made by [`Neutron::builder`].
#[derive(Clone, Debug)]
pub struct NeutronBuilder {
    keystone: bool,
    token_lifetime: Duration,
    network_quota: i64,
}

impl NeutronBuilder {
    /// Adds a Keystone. Every request then needs a token.
    pub fn with_keystone(mut self) -> Self {
        self.keystone = true;
        self
    }

    /// How long Keystone's tokens are valid, in whole seconds; an hour by default. Neutron's own token
    /// is one of them, and below half a minute it gets a new one for every request.
    pub fn token_lifetime(mut self, lifetime: Duration) -> Self {
        self.token_lifetime = lifetime;
        self
    }

    /// The network quota of a project; unlimited by default.
    pub fn network_quota(mut self, networks: u32) -> Self {
        self.network_quota = networks.into();
        self
    }

    /// Starts the servers and waits until they answer.
    pub async fn start(self) -> Result<Neutron, Error> {
        let neutron = install::installed(Server::Neutron).await?;
        let keystone = if self.keystone { Some(install::installed(Server::Keystone).await?) } else { None };
        let mut attempt = 1;
        loop {
            match self.start_once(&neutron, keystone.as_deref()).await {
                Err(error) if error.is_port_conflict() && attempt < ATTEMPTS => attempt += 1,
                result => return result,
            }
        }
    }

    async fn start_once(&self, installed: &Path, keystone: Option<&Path>) -> Result<Neutron, Error> {
        let mut folder = Folder::create("neutron")?;
        let started = self.start_in(folder.path(), installed, keystone).await;
        let (server, keystone) = started.inspect_err(|error| {
            if !error.is_port_conflict() {
                folder.keep();
            }
        })?;
        Ok(Neutron { server, keystone, folder })
    }

    async fn start_in(
        &self,
        folder: &Path,
        installed: &Path,
        keystone: Option<&Path>,
    ) -> Result<(WsgiServer, Option<Keystone>), Error> {
        copy(&installed.join("neutron.sqlite"), &folder.join("neutron.sqlite"))?;
        let [port, keystone_port] = free_ports()?;
        let application = "neutron.wsgi.api:application";
        let configuration = vec![
            ("OS_NEUTRON_CONFIG_DIR", folder.into()),
            ("OS_NEUTRON_CONFIG_FILES", "neutron.conf".into()),
        ];
        let server = WsgiServer::new("neutron", installed, folder, port, application, configuration);
        let keystone = match keystone {
            None => None,
            Some(keystone) => {
                let url = server.url();
                Some(Keystone::prepare(keystone, folder, keystone_port, &url, self.token_lifetime).await?)
            }
        };
        write(&folder.join("neutron.conf"), &self.configuration(folder, installed, keystone.as_ref()))?;
        match &keystone {
            None => server.start().await?,
            // Neutron asks Keystone for the first time when it has to check a token, so both can load at once.
            Some(keystone) => drop(tokio::try_join!(server.start(), keystone.server().start())?),
        }
        Ok((server, keystone))
    }

    fn configuration(&self, folder: &Path, installed: &Path, keystone: Option<&Keystone>) -> String {
        let auth = match keystone {
            None => String::from("[DEFAULT]\nauth_strategy = noauth\n"),
            // The middleware would otherwise go on accepting a revoked token for five minutes.
            Some(keystone) => format!(
                "[keystone_authtoken]\nauth_type = password\nauth_url = {url}\nwww_authenticate_uri = {url}\n\
                 username = neutron\npassword = {NEUTRON_PASSWORD}\nproject_name = service\n\
                 user_domain_id = default\nproject_domain_id = default\ntoken_cache_time = -1\n\
                 [DEFAULT]\nauth_strategy = keystone\n",
                url = keystone.auth_url(),
            ),
        };
        format!(
            "{auth}\
             core_plugin = ml2\n\
             service_plugins = router\n\
             api_paste_config = {installed}/venv/etc/neutron/api-paste.ini\n\
             state_path = {folder}\n\
             transport_url = fake://\n\
             rpc_workers = 0\n\
             [database]\nconnection = sqlite:///{folder}/neutron.sqlite\nsqlite_synchronous = false\n\
             [oslo_messaging_notifications]\ndriver = noop\n\
             [oslo_concurrency]\nlock_path = {folder}/lock\n\
             [quotas]\nquota_network = {networks}\nquota_subnet = -1\nquota_port = -1\n\
             [ml2]\ntype_drivers = local,flat,vxlan\ntenant_network_types = local\n\
             mechanism_drivers = openvswitch\nextension_drivers = port_security\n",
            folder = folder.display(),
            installed = installed.display(),
            networks = self.network_quota,
        )
    }
}

impl Neutron {
    /// A Neutron without authentication.
    pub async fn start() -> Result<Self, Error> {
        Self::builder().start().await
    }

    /// A Neutron that requires tokens, with the [`Keystone`] that issues them.
    pub async fn with_keystone() -> Result<Self, Error> {
        Self::builder().with_keystone().start().await
    }

    /// Chooses how Neutron is started.
    pub fn builder() -> NeutronBuilder {
        NeutronBuilder { keystone: false, token_lifetime: Duration::from_secs(3600), network_quota: -1 }
    }

    /// The URL of the service; the API is below `/v2.0`.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// The Keystone in front, if there is one.
    pub fn keystone(&self) -> Option<&Keystone> {
        self.keystone.as_ref()
    }

    /// The folder with the data and the log of the servers.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The name and process id of every server that runs.
    pub fn processes(&self) -> Vec<(&'static str, u32)> {
        let keystone = self.keystone.as_ref().and_then(|keystone| keystone.server().pid());
        let both = [("neutron", self.server.pid()), ("keystone", keystone)];
        both.into_iter().filter_map(|(name, pid)| Some((name, pid?))).collect()
    }

    /// The ports that the servers listen on.
    pub fn ports(&self) -> Vec<u16> {
        let keystone = self.keystone.as_ref().map(|keystone| keystone.server().port());
        std::iter::once(self.server.port()).chain(keystone).collect()
    }

    /// Terminates Neutron, and waits until it has ended.
    pub async fn stop(&self) -> Result<(), Error> {
        self.server.stop().await
    }

    /// Kills Neutron. A request may have been carried out without an answer.
    pub async fn kill9(&self) -> Result<(), Error> {
        self.server.kill9().await
    }

    /// Pauses Neutron: it accepts connections, but does not answer.
    pub fn pause(&self) -> Result<(), Error> {
        self.server.pause()
    }

    /// Resumes a paused Neutron, which then handles the requests that arrived meanwhile.
    pub fn resume(&self) -> Result<(), Error> {
        self.server.resume()
    }

    /// Stops Neutron if it runs, and starts it on the same port with its data.
    pub async fn restart(&self) -> Result<(), Error> {
        self.server.restart().await
    }
}
