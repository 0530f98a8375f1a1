//! etcd, kube-apiserver and kube-controller-manager, as one control plane on the loopback interface.
//!
//! * Every connection is TLS and every user is authenticated by a certificate of the environment's own authority.
//! * RBAC decides what a user may do.
//! * The controller manager runs with one service account for each controller, as in a real cluster. There is no
//!   scheduler and no kubelet: pods stay pending, and go at once when they are deleted.
//! * etcd does not wait for the disk: a killed server loses nothing, a power failure would.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use k8s_openapi::api::core::v1::ServiceAccount;
use kube::{Api, Client, Config};
use serde_json::{Value, json};

use crate::{
    Error,
    kubeconfig::{self, for_probes},
    pki::{Authority, Identity},
    ports::Ports,
    process::Program,
    service::Service,
};

/// The user that [`TestEnv::limited_client`](crate::TestEnv::limited_client) authenticates as.
pub(crate) const LIMITED_USER: &str = "genclient:limited";

/// How long a server may take to become ready on a busy machine. If the server ends, the wait ends as well.
const START: Duration = Duration::from_secs(90);

/// What the builder of an environment can change.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) apiserver_args: Vec<String>,
    pub(crate) controller_manager_args: Vec<String>,
    pub(crate) without_controller_manager: bool,
}

/// A running control plane. Dropping it ends its servers.
#[derive(Debug)]
pub(crate) struct ControlPlane {
    // The order of the fields is the order in which the servers are ended.
    controller_manager: Service,
    apiserver: Service,
    etcd: Service,
    ports: Ports,
    etcd_config: Config,
    admin_config: Config,
}

/// The kubeconfig files of a control plane.
#[derive(Clone, Debug)]
pub(crate) struct Kubeconfigs {
    pub(crate) admin: PathBuf,
    pub(crate) limited: PathBuf,
}

impl ControlPlane {
    /// Starts the servers in `assets` with their data in `folder`, and returns when all of them are ready.
    pub(crate) async fn start(
        assets: &Path,
        folder: &Path,
        ports: Ports,
        options: &Options,
    ) -> Result<(Self, Kubeconfigs), Error> {
        let authority = Authority::create(&folder.join("pki"))?;
        let ca = &authority.identity.cert;
        let etcd_url = format!("https://127.0.0.1:{}", ports.etcd);
        let url = format!("https://127.0.0.1:{}", ports.apiserver);

        let admin = authority.user("admin", "genclient:admin", Some("system:masters"))?;
        let limited = authority.user("limited", LIMITED_USER, None)?;
        let kubeconfigs = Kubeconfigs {
            admin: kubeconfig::write(&folder.join("kubeconfig"), &url, ca, &admin)?,
            limited: kubeconfig::write(&folder.join("limited.kubeconfig"), &url, ca, &limited)?,
        };
        let manager = authority.user("controller-manager", "system:kube-controller-manager", None)?;
        let manager_kubeconfig =
            kubeconfig::write(&folder.join("controller-manager.kubeconfig"), &url, ca, &manager)?;
        let etcd_client = authority.user("etcd-client", "kube-apiserver", None)?;
        let etcd_kubeconfig =
            kubeconfig::write(&folder.join("etcd.kubeconfig"), &etcd_url, ca, &etcd_client)?;
        let service_accounts = authority.key_pair("service-accounts")?;

        let etcd = etcd(assets, folder, &authority, &etcd_url, ports.peer)?;
        let mut apiserver = apiserver(
            assets,
            folder,
            &authority,
            &etcd_url,
            &etcd_client,
            &service_accounts,
            ports.apiserver,
        )?;
        apiserver.args.extend(options.apiserver_args.iter().map(Into::into));
        let mut manager =
            controller_manager(assets, folder, &authority, &manager_kubeconfig, &service_accounts);
        manager.args.extend(options.controller_manager_args.iter().map(Into::into));

        let control_plane = Self {
            controller_manager: Service::new(manager),
            apiserver: Service::new(apiserver),
            etcd: Service::new(etcd),
            ports,
            etcd_config: kubeconfig::load(&etcd_kubeconfig).await?,
            admin_config: kubeconfig::load(&kubeconfigs.admin).await?,
        };
        control_plane.start_etcd().await?;
        control_plane.start_apiserver().await?;
        if !options.without_controller_manager {
            control_plane.start_controller_manager().await?;
        }
        Ok((control_plane, kubeconfigs))
    }

    /// The API server.
    pub(crate) fn apiserver(&self) -> &Service {
        &self.apiserver
    }

    /// The ports that the servers listen on.
    pub(crate) fn ports(&self) -> Ports {
        self.ports
    }

    /// The name and process id of every server that runs.
    pub(crate) fn processes(&self) -> Vec<(&'static str, u32)> {
        [
            ("etcd", &self.etcd),
            ("kube-apiserver", &self.apiserver),
            ("kube-controller-manager", &self.controller_manager),
        ]
        .into_iter()
        .filter_map(|(name, service)| Some((name, service.pid()?)))
        .collect()
    }

    async fn start_etcd(&self) -> Result<(), Error> {
        let client = Client::try_from(for_probes(&self.etcd_config))?;
        self.etcd.start(START, || is_healthy(&client, "/health")).await
    }

    /// Starts the API server on its port and waits until it is ready.
    pub(crate) async fn start_apiserver(&self) -> Result<(), Error> {
        let client = Client::try_from(for_probes(&self.admin_config))?;
        self.apiserver.start(START, || is_healthy(&client, "/readyz")).await
    }

    /// The controller manager is at work when it has made the service account that every pod needs.
    async fn start_controller_manager(&self) -> Result<(), Error> {
        let client = Client::try_from(for_probes(&self.admin_config))?;
        let accounts = Api::<ServiceAccount>::namespaced(client, "default");
        self.controller_manager
            .start(START, || async {
                accounts.get("default").await.map(drop).map_err(|error| error.to_string())
            })
            .await
    }

    /// Makes etcd forget every revision before the current one, which is returned.
    pub(crate) async fn compact_etcd(&self) -> Result<i64, Error> {
        let client = Client::try_from(for_probes(&self.etcd_config))?;
        // "AA==" is the key that consists of one zero byte, in the gateway's base64; any key tells the revision.
        let answer = post(&client, "/v3/kv/range", &json!({"key": "AA=="})).await?;
        let revision =
            answer["header"]["revision"].as_str().and_then(|revision| revision.parse::<i64>().ok());
        let revision = revision.ok_or_else(|| Error::Answer {
            request: String::from("etcd's /v3/kv/range"),
            answer: answer.to_string(),
        })?;
        let request = json!({"revision": revision.to_string(), "physical": true});
        post(&client, "/v3/kv/compaction", &request).await?;
        Ok(revision)
    }
}

async fn is_healthy(client: &Client, path: &'static str) -> Result<(), String> {
    let request = http::Request::get(path).body(Vec::new()).map_err(|error| error.to_string())?;
    client.request_text(request).await.map(drop).map_err(|error| error.to_string())
}

async fn post(client: &Client, path: &str, body: &Value) -> Result<Value, Error> {
    let request = http::Request::post(path)
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(body.to_string().into_bytes())
        .map_err(kube::Error::HttpError)?;
    Ok(client.request(request).await?)
}

/// A flag with a value; the value may be a path.
fn flag(name: &str, value: impl AsRef<std::ffi::OsStr>) -> std::ffi::OsString {
    let mut flag = std::ffi::OsString::from(format!("--{name}="));
    flag.push(value);
    flag
}

fn etcd(
    assets: &Path,
    folder: &Path,
    authority: &Authority,
    url: &str,
    peer_port: u16,
) -> Result<Program, Error> {
    let identity = authority.server("etcd")?;
    let ca = &authority.identity.cert;
    let peer_url = format!("https://127.0.0.1:{peer_port}");
    let mut program = Program::new("etcd", assets.join("etcd"), folder);
    program.args = vec![
        flag("name", "testenv"),
        flag("data-dir", folder.join("etcd")),
        flag("listen-client-urls", url),
        flag("advertise-client-urls", url),
        flag("listen-peer-urls", &peer_url),
        flag("initial-advertise-peer-urls", &peer_url),
        flag("initial-cluster", format!("testenv={peer_url}")),
        flag("cert-file", &identity.cert),
        flag("key-file", &identity.key),
        flag("trusted-ca-file", ca),
        flag("client-cert-auth", "true"),
        flag("peer-cert-file", &identity.cert),
        flag("peer-key-file", &identity.key),
        flag("peer-trusted-ca-file", ca),
        flag("peer-client-cert-auth", "true"),
        flag("unsafe-no-fsync", "true"),
        flag("log-level", "warn"),
    ];
    Ok(program)
}

fn apiserver(
    assets: &Path,
    folder: &Path,
    authority: &Authority,
    etcd_url: &str,
    etcd_client: &Identity,
    service_accounts: &Identity,
    port: u16,
) -> Result<Program, Error> {
    let identity = authority.server("kube-apiserver")?;
    let ca = &authority.identity.cert;
    let mut program = Program::new("kube-apiserver", assets.join("kube-apiserver"), folder);
    program.args = vec![
        flag("bind-address", "127.0.0.1"),
        flag("secure-port", port.to_string()),
        flag("advertise-address", "127.0.0.1"),
        // An endpoint must not be a loopback address, and nothing here reaches the server through its service.
        flag("endpoint-reconciler-type", "none"),
        flag("cert-dir", folder.join("pki")),
        flag("tls-cert-file", &identity.cert),
        flag("tls-private-key-file", &identity.key),
        flag("client-ca-file", ca),
        flag("etcd-servers", etcd_url),
        flag("etcd-cafile", ca),
        flag("etcd-certfile", &etcd_client.cert),
        flag("etcd-keyfile", &etcd_client.key),
        flag("authorization-mode", "RBAC"),
        flag("service-account-issuer", "https://kubernetes.default.svc"),
        flag("service-account-key-file", &service_accounts.cert),
        flag("service-account-signing-key-file", &service_accounts.key),
        flag("service-cluster-ip-range", "10.0.0.0/24"),
        flag("allow-privileged", "true"),
        flag("profiling", "false"),
        // Without it a server that is to end waits for every watch to end by itself, which takes minutes.
        flag("shutdown-watch-termination-grace-period", "5s"),
    ];
    Ok(program)
}

fn controller_manager(
    assets: &Path,
    folder: &Path,
    authority: &Authority,
    kubeconfig: &Path,
    service_accounts: &Identity,
) -> Program {
    let ca = &authority.identity;
    let mut program = Program::new("kube-controller-manager", assets.join("kube-controller-manager"), folder);
    program.args = vec![
        flag("kubeconfig", kubeconfig),
        // It needs no port, because nothing connects to it.
        flag("secure-port", "0"),
        flag("leader-elect", "false"),
        flag("use-service-account-credentials", "true"),
        // The usual 20 requests a second would stretch the start, when every controller gets its account, to 5 s.
        flag("kube-api-qps", "1000"),
        flag("kube-api-burst", "1000"),
        flag("service-account-private-key-file", &service_accounts.key),
        flag("root-ca-file", &ca.cert),
        flag("cluster-signing-cert-file", &ca.cert),
        flag("cluster-signing-key-file", &ca.key),
        flag("service-cluster-ip-range", "10.0.0.0/24"),
        flag("profiling", "false"),
    ];
    program
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;
    use crate::{Server, ensure_installed, folder::Folder, require_servers};

    #[tokio::test]
    async fn a_port_that_was_taken_meanwhile_is_told_from_other_failures() {
        require_servers!(ControlPlane);
        let assets = ensure_installed(Server::Kubernetes).unwrap();
        let choose: [fn(&Ports) -> u16; 3] =
            [|ports| ports.etcd, |ports| ports.peer, |ports| ports.apiserver];
        for taken in choose {
            let ports = Ports::choose().unwrap();
            let _listener = TcpListener::bind((Ipv4Addr::LOCALHOST, taken(&ports))).unwrap();
            let folder = Folder::create("test").unwrap();
            let error =
                ControlPlane::start(&assets, folder.path(), ports, &Options::default()).await.unwrap_err();
            assert!(error.is_port_conflict(), "{error}");
        }
    }
}
