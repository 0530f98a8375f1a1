//! The program without a cluster: an embedded one, used with kubectl, and the demo.

use std::{ffi::OsString, path::Path, process::Stdio, time::Duration};

use genclient_tally::{Tally, usual_or_long};
use genclient_testenv::{Server, ensure_installed, require_servers};
use tokio::{io::AsyncWriteExt, process::Command};

use crate::support::{Controller, EXAMPLE, TestNeutron, eventually, held};

/// A controller with a cluster of its own, and a folder for its files.
struct Embedded {
    folder: tempfile::TempDir,
    flags: Vec<OsString>,
}

impl Embedded {
    fn new(flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let flags = ["--embedded"].iter().chain(flags).map(|flag| OsString::from(*flag)).collect();
        Self { folder, flags }
    }

    /// With a data file.
    fn with_data() -> Self {
        let mut embedded = Self::new(&["--data"]);
        let path = embedded.folder.path().join("cluster.data");
        embedded.flags.push(path.into());
        embedded
    }

    /// Starts it, and returns where its kubeconfig is.
    async fn start(&self) -> (Controller, String) {
        let folder = self.folder.path().to_str().unwrap().to_owned();
        let controller = Controller::run(&self.flags, &[("TMPDIR", folder)]);
        let export = controller.prints("export KUBECONFIG=").await;
        controller.says(&["started workers"]).await;
        let (_, kubeconfig) = export.split_once('=').unwrap();
        (controller, kubeconfig.to_owned())
    }

    /// Runs kubectl, and returns whether it succeeded, and what it said.
    async fn try_kubectl(&self, kubeconfig: &str, args: &[&str], input: &str) -> (bool, String) {
        let program = ensure_installed(Server::ControlPlane).unwrap().join("kubectl");
        let mut child = Command::new(program)
            .args(args)
            .env_clear()
            .env("KUBECONFIG", kubeconfig)
            .env("KUBECACHEDIR", self.folder.path().join("kubectl-cache"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        // One that does not read its input closes it early.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes()).await;
        let output = tokio::time::timeout(Duration::from_secs(60), child.wait_with_output());
        let output = output.await.expect("kubectl ends within a minute").unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.success(), text(&output.stdout) + &text(&output.stderr))
    }

    /// Runs kubectl, which must succeed.
    async fn kubectl(&self, kubeconfig: &str, args: &[&str], input: &str) -> String {
        let (success, said) = self.try_kubectl(kubeconfig, args, input).await;
        assert!(success, "kubectl {args:?}: {said}");
        said
    }
}

#[tokio::test]
async fn kubectl_walks_through_the_embedded_cluster() {
    require_servers!(ControlPlane);
    let embedded = Embedded::new(&[]);
    let (controller, config) = embedded.start().await;
    assert!(Path::new(&config).starts_with(embedded.folder.path()), "{config}");
    let kubectl = async |args: &[&str]| embedded.kubectl(&config, args, "").await;
    let crds = kubectl(&["get", "crds", "--output=name"]).await;
    assert_eq!(crds.lines().count(), 2, "{crds}");

    let applied = embedded.kubectl(&config, &["apply", "-f", "-"], EXAMPLE).await;
    assert_eq!(applied, "network.samplecrd.k8s.io/example-network created\n");
    let key = "key=default/example-network";
    controller.says(&["created network in the provider", key]).await;
    let table = kubectl(&["get", "net"]).await;
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["NAME", "CIDR", "GATEWAY", "AGE"], "{table}");
    assert_eq!(rows[1][..3], ["example-network", "192.168.0.0/16", "192.168.0.1"], "{table}");

    let changed = EXAMPLE.replace("192.168.0", "192.168.1");
    let applied = embedded.kubectl(&config, &["apply", "-f", "-"], &changed).await;
    assert_eq!(applied, "network.samplecrd.k8s.io/example-network configured\n");
    controller.says(&["updated network in the provider", key]).await;
    let described = async || kubectl(&["describe", "network", "example-network"]).await;
    let message = "cidr 192.168.1.0/16 has host bits and is taken as 192.168.0.0/16";
    let text = eventually("describe shows the events", described, |text| text.contains(message)).await;
    assert!(text.contains("Synced") && text.contains("Cidr:") && text.contains("192.168.1.1"), "{text}");

    let patch =
        ["patch", "network", "example-network", "--type=merge", "-p", r#"{"spec":{"gateway":"10.0.0.1"}}"#];
    let (accepted, said) = embedded.try_kubectl(&config, &patch, "").await;
    assert!(!accepted && said.contains("gateway"), "{said}");

    kubectl(&["delete", "network", "example-network", "--timeout=60s"]).await;
    controller.says(&["network does not exist in the local cache", key]).await;
    let ended = controller.stop().await;
    assert!(!ended.says("ERROR"), "{ended:#?}");
    assert!(!Path::new(&config).exists(), "the kubeconfig of a cluster that is gone is removed");
}

/// Returns an object without the parts that the server may write again.
async fn shown(embedded: &Embedded, config: &str, name: &str) -> String {
    let path = "jsonpath={.metadata.uid} {.metadata.resourceVersion} {.metadata.managedFields} {.spec}";
    embedded.kubectl(config, &["get", name, "-o", path, "--show-managed-fields"], "").await
}

#[tokio::test]
async fn a_restart_with_the_data_file_keeps_everything() {
    require_servers!(ControlPlane);
    let embedded = Embedded::with_data();
    let (controller, config) = embedded.start().await;
    let kubectl = async |args: &[&str]| embedded.kubectl(&config, args, "").await;
    embedded.kubectl(&config, &["apply", "-f", "-"], EXAMPLE).await;
    controller.says(&["successfully synced", "key=default/example-network"]).await;
    kubectl(&["create", "namespace", "shop"]).await;
    kubectl(&["--namespace=shop", "create", "secret", "generic", "key", "--from-literal=a=b"]).await;
    let objects = ["network/example-network", "namespace/kube-system", "crd/networks.samplecrd.k8s.io"];
    let mut before = Vec::new();
    for object in objects {
        before.push(shown(&embedded, &config, object).await);
    }
    controller.stop().await;

    let (controller, again) = embedded.start().await;
    assert_eq!(config, again, "KUBECONFIG stays valid");
    for (object, before) in objects.into_iter().zip(before) {
        assert_eq!(shown(&embedded, &config, object).await, before, "{object}");
    }
    let secret = ["--namespace=shop", "get", "secret", "key", "-o", "jsonpath={.data.a}"];
    assert_eq!(kubectl(&secret).await, "Yg==");
    // The memory of the provider is gone, and the controller makes the network again.
    controller.says(&["created network in the provider", "key=default/example-network"]).await;

    // Only one at a time.
    let folder = embedded.folder.path().to_str().unwrap().to_owned();
    let second = Controller::run(&embedded.flags, &[("TMPDIR", folder)]).ended().await;
    assert_eq!(second.status.code(), Some(1));
    assert!(second.says("is in use by process"), "{second:#?}");
    controller.stop().await;
}

#[tokio::test]
async fn a_kill_in_the_middle_loses_no_object_that_kubectl_has_created() {
    require_servers!(ControlPlane);
    let tally = Tally::new();
    let embedded = Embedded::with_data();
    let mut created: Vec<String> = Vec::new();
    for round in 0..usual_or_long(3, 20) {
        let (controller, config) = embedded.start().await;
        for name in &created {
            embedded.kubectl(&config, &["get", "network", name], "").await;
        }
        let names: Vec<String> = (0..100).map(|number| format!("net-{round}-{number}")).collect();
        let manifests = names.iter().map(|name| EXAMPLE.replace("example-network", name));
        let manifest = manifests.collect::<Vec<_>>().join("---\n");
        let apply = embedded.try_kubectl(&config, &["create", "-f", "-"], &manifest);
        let kill = async {
            let moment = Duration::from_millis(150 + 50 * round as u64);
            controller.says(&["created network in the provider", &format!("net-{round}-")]).await;
            tokio::time::sleep(moment).await;
            controller.kill9().await;
        };
        let ((_, said), ()) = tokio::join!(apply, kill);
        let answered = said.lines().filter_map(|line| line.strip_suffix(" created"));
        let answered = answered.filter_map(|line| Some(line.split_once('/')?.1.to_owned()));
        let before = created.len();
        created.extend(answered);
        assert!(created.len() > before, "{said}");
        tally.add("created", created.len() - before);
        tally.add("interrupted", usize::from(created.len() - before < names.len()));
    }
    let (controller, config) = embedded.start().await;
    let table = embedded.kubectl(&config, &["get", "networks", "--output=name"], "").await;
    for name in &created {
        assert!(table.lines().any(|line| line.ends_with(&format!("/{name}"))), "{name} is lost");
    }
    controller.stop().await;
    tally.require(&[("created", 5), ("interrupted", 1)]);
}

#[tokio::test]
async fn the_demo_tells_its_story_and_exits_with_0() {
    for flags in [&["--demo"][..], &["--demo", "--embedded", "--no-finalizer", "--log-format", "json"]] {
        let flags: Vec<OsString> = flags.iter().map(OsString::from).collect();
        let began = std::time::Instant::now();
        // Neither a cluster nor a Neutron of the surroundings is touched.
        let surroundings =
            [("KUBECONFIG", "/nowhere".to_owned()), ("NEUTRON_URL", "http://127.0.0.1:1".to_owned())];
        let ended = Controller::run(&flags, &surroundings).ended().await;
        assert_eq!(ended.status.code(), Some(0), "{ended:#?}");
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
        let mut story = ended.printed.iter();
        for part in [
            "started first",
            "it waits: the server does not serve networks.samplecrd.k8s.io in version v1",
            "CRDs are installed",
            "A Network is created",
            "in the provider: example-network 192.168.0.0/16, gateway 192.168.0.1",
            "event Synced",
            "It is changed to 192.168.1.0/16 and 192.168.1.1",
            "in the provider: example-network 192.168.0.0/16, gateway 192.168.1.1",
            "event HostBitsIgnored",
            "refuses what cannot work",
            "gateway",
            "It is deleted",
            "the provider has no networks",
            "That is all",
        ] {
            assert!(story.any(|line| line.contains(part)), "{part}: {:#?}", ended.printed);
        }
        for part in
            ["waiting until it appears", "started workers", "created network in the provider", "stopped"]
        {
            assert!(ended.says(part), "{part}: {ended:#?}");
        }
        assert!(!ended.says("ERROR"), "{ended:#?}");
    }
}

#[tokio::test]
async fn a_signal_ends_the_demo_in_order_with_1() {
    let controller = Controller::run(&["--demo".into()], &[]);
    controller.says(&["waiting for informer caches to sync"]).await;
    controller.signal("TERM").await;
    let ended = controller.ended().await;
    assert_eq!(ended.status.code(), Some(1), "{ended:#?}");
    assert!(ended.says("the demo was stopped before its end"), "{ended:#?}");
}

#[tokio::test]
async fn flags_that_contradict_each_other_are_explained() {
    let neutron = [("NEUTRON_URL", "http://127.0.0.1:1".to_owned())];
    for (flags, variables, said) in [
        (&["--embedded", "--kubeconfig", "x"][..], &[][..], "cannot be used with '--kubeconfig"),
        (&["--embedded", "--master", "http://x"], &[], "cannot be used with '--master"),
        (&["--embedded", "--context", "x"], &[], "cannot be used with '--context"),
        (&["--demo", "--context", "x"], &[], "cannot be used with '--context"),
        (&["--demo", "--namespace", "x"], &[], "cannot be used with '--namespace"),
        (&["--demo", "--embedded", "--data", "x"], &[], "cannot be used with"),
        (&["--demo", "--provider", "neutron"], &[], "'--demo' cannot be used with '--provider neutron'"),
        (&["--data", "x"], &[], "--embedded"),
        (&["--embedded", "--provider", "neutron"], &[], "needs '--data <FILE>'"),
        (&["--embedded"], &neutron, "needs '--data <FILE>'"),
    ] {
        let flags: Vec<OsString> = flags.iter().map(OsString::from).collect();
        let ended = Controller::run(&flags, variables).ended().await;
        assert_eq!(ended.status.code(), Some(2), "{flags:?}: {ended:#?}");
        assert!(ended.log.join("\n").contains(said), "{flags:?}: {ended:#?}");
    }
}

#[tokio::test]
async fn a_data_file_that_cannot_be_used_is_explained_with_exit_code_1() {
    let folder = tempfile::tempdir().unwrap();
    let (foreign, lost) = (folder.path().join("foreign"), folder.path().join("lost/data"));
    std::fs::write(&foreign, "apiVersion: v1\n").unwrap();
    for (path, said) in
        [(&foreign, "is not a data file of genclient-fake"), (&lost, "cannot find the folder")]
    {
        let flags = ["--embedded".into(), "--data".into(), path.clone().into_os_string()];
        let ended = Controller::run(&flags, &[]).ended().await;
        assert_eq!(ended.status.code(), Some(1), "{ended:#?}");
        assert!(ended.says("cannot run the controller") && ended.says(said), "{ended:#?}");
    }
    assert_eq!(std::fs::read_to_string(foreign).unwrap(), "apiVersion: v1\n");
}

#[tokio::test]
async fn networks_in_neutron_still_belong_to_the_cluster_of_a_data_file_after_a_kill() {
    require_servers!(ControlPlane, Neutron);
    let mut embedded = Embedded::with_data();
    let installation = format!("embedded-{}", std::process::id());
    let neutron = TestNeutron::shared(&installation).await;
    let url = neutron.server.url();
    embedded.flags.extend(["--neutron-url", &url, "--installation", &installation].map(OsString::from));
    let (controller, config) = embedded.start().await;
    embedded.kubectl(&config, &["apply", "-f", "-"], EXAMPLE).await;
    neutron.holds(&[held("example-network", "192.168.0.0/16", "192.168.0.1")]).await;
    let id = neutron.only_id().await;
    controller.says(&["successfully synced", "key=default/example-network"]).await;
    controller.kill9().await;

    let (controller, config) = embedded.start().await;
    controller.says(&["successfully synced", "key=default/example-network"]).await;
    assert_eq!(neutron.only_id().await, id);
    embedded.kubectl(&config, &["delete", "network", "example-network", "--timeout=60s"], "").await;
    neutron.holds(&[]).await;
    controller.stop().await;
}
