//! The program's manners: signals, exit codes, and messages that say what to do.

use std::ffi::OsString;

use genclient_testenv::require_servers;
use tokio::process::Command;

use crate::support::{Cluster, Controller, Gate, Proxy, TestNeutron, Verdict, held};

/// A controller that is in the middle of making a network, and what lets Neutron go on.
async fn busy<'a>(cluster: &Cluster<'a>, neutron: &TestNeutron<'_>) -> (Proxy, Controller, Gate) {
    let proxy = Proxy::start(neutron.server.url()).await;
    let gate = Gate::default();
    let held = gate.clone();
    proxy.script(move |method, path| {
        if method == http::Method::POST && path.contains("/subnets") {
            return Verdict::Hold(held.clone());
        }
        Verdict::Pass
    });
    let controller = cluster.controller(&["--neutron-url", &proxy.url]);
    cluster.create("a", "10.0.0.0/24", "10.0.0.1").await;
    gate.reached().await;
    (proxy, controller, gate)
}

#[tokio::test]
async fn the_first_signal_lets_running_keys_finish_and_exits_with_0() {
    require_servers!(Kubernetes, Neutron);
    for signal in ["TERM", "INT"] {
        let cluster = Cluster::shared("signal").await;
        let neutron = TestNeutron::shared(&cluster.namespace).await;
        let (_proxy, controller, gate) = busy(&cluster, &neutron).await;
        controller.signal(signal).await;
        controller.says(&["shutting down workers"]).await;
        gate.let_one_through().await;
        let ended = controller.ended().await;
        assert_eq!(ended.status.code(), Some(0), "{ended:#?}");
        assert!(ended.says("successfully synced"), "{ended:#?}");
        assert_eq!(neutron.all().await, [held("a", "10.0.0.0/24", "10.0.0.1")]);
        let events = cluster.events("a").await;
        assert!(
            events.iter().any(|[_, reason, ..]| reason == "Synced"),
            "the last events are sent: {events:?}"
        );
    }
}

#[tokio::test]
async fn the_second_signal_ends_it_at_once_with_1() {
    require_servers!(Kubernetes, Neutron);
    let cluster = Cluster::shared("signals").await;
    let neutron = TestNeutron::shared(&cluster.namespace).await;
    let (_proxy, controller, _gate) = busy(&cluster, &neutron).await;
    controller.signal("TERM").await;
    controller.says(&["running keys may finish"]).await;
    controller.signal("TERM").await;
    let ended = controller.ended().await;
    assert_eq!(ended.status.code(), Some(1), "{ended:#?}");
    assert!(ended.says("stopping at once"), "{ended:#?}");
}

/// Runs the program to its end and gives its exit code and what it said.
async fn run(args: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_samplecrd-controller"))
        .args(args)
        .env_clear()
        .envs(variables.iter().copied())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(std::time::Duration::from_secs(60), output).await.unwrap().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[tokio::test]
async fn wrong_flags_are_explained_with_exit_code_2() {
    for (args, said) in [
        (&["--workers", "0"][..], "it must be a number from 1"),
        (&["--workers", "many"], "it must be a number from 1"),
        (&["--drift-interval", "5"], "time unit needed"),
        (&["--drift-interval", "0s"], "it must be at least 100ms"),
        (&["--installation", ""], "1 to 48 letters"),
        (&["--installation", "a b"], "1 to 48 letters"),
        (&["--installation", &"x".repeat(49)], "1 to 48 letters"),
        (&["--provider", "neutrino"], "neutron"),
        (&["--log-format", "xml"], "[possible values: text, json]"),
        (&["--no-finaliser"], "--no-finalizer"),
        (&["example"], "unexpected argument 'example'"),
    ] {
        let (code, text) = run(args, &[]).await;
        assert_eq!(code, Some(2), "{args:?}: {text}");
        assert!(text.contains(said), "{args:?}: {text}");
    }
}

#[tokio::test]
async fn what_keeps_it_from_running_is_explained_with_exit_code_1() {
    let folder = tempfile("lost");
    let (lost, broken) = (folder.join("lost"), folder.join("broken"));
    std::fs::write(&broken, "apiVersion: v1\nkind: Config\nclusters: 7\n").unwrap();
    let (lost, broken) = (lost.to_str().unwrap(), broken.to_str().unwrap());
    let neutron = ["--master", "http://127.0.0.1:1", "--provider", "neutron"];
    type Case<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], &'a str);
    let cases: [Case; 9] = [
        (&["--kubeconfig", lost], &[], lost),
        (&["--kubeconfig", broken], &[], broken),
        (&[], &[("KUBECONFIG", lost)], lost),
        (&["--context", "nowhere"], &[("HOME", lost)], lost),
        (&["--master", "no url"], &[], "no url"),
        (&neutron, &[], "OS_AUTH_URL"),
        (&neutron, &[("OS_AUTH_URL", "http://127.0.0.1:1/v3")], "OS_USERNAME"),
        (
            &neutron,
            &[("OS_AUTH_URL", "http://k"), ("OS_USERNAME", "me"), ("OS_PROJECT_NAME", "p")],
            "OS_PASSWORD",
        ),
        (&neutron, &[("OS_CLOUD", "lab"), ("HOME", lost)], "there is no cloud `lab`"),
    ];
    for (args, variables, said) in cases {
        let (code, text) = run(args, variables).await;
        assert_eq!(code, Some(1), "{args:?}: {text}");
        assert!(text.contains("cannot run the controller") && text.contains(said), "{args:?}: {text}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn several_kubeconfig_files_are_merged_and_a_context_of_one_is_chosen() {
    let folder = tempfile("merged");
    let file = |name: &str, url: &str| {
        let path = folder.join(name);
        let text = format!(
            "{{apiVersion: v1, kind: Config, current-context: {name}, users: [{{name: {name}, user: {{}}}}], \
             clusters: [{{name: {name}, cluster: {{server: '{url}'}}}}], \
             contexts: [{{name: {name}, context: {{cluster: {name}, user: {name}}}}}]}}"
        );
        std::fs::write(&path, text).unwrap();
        path
    };
    let files = [file("first", "http://127.0.0.1:1"), file("second", "http://127.0.0.1:2")];
    let both = std::env::join_paths(&files).unwrap().into_string().unwrap();
    let variables = [("KUBECONFIG", both)];
    for (args, server) in
        [(&[][..], "http://127.0.0.1:1/"), (&["--context", "second"], "http://127.0.0.1:2/")]
    {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        let controller = Controller::run(&args, &variables);
        controller.says(&["using cluster", server]).await;
        controller.says(&["waiting for informer caches"]).await;
        controller.stop().await;
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// A folder of this test alone.
fn tempfile(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("samplecrd-controller-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[tokio::test]
async fn an_unreachable_server_is_waited_for_and_a_signal_ends_the_wait() {
    let args: Vec<OsString> = ["--master", "http://127.0.0.1:1"].map(OsString::from).into();
    let controller = Controller::run(&args, &[]);
    controller.says(&["problem=unreachable", "Connection refused"]).await;
    controller.says(&["still waiting", "networks.samplecrd.k8s.io/v1", "Connection refused"]).await;
    let ended = controller.stop().await;
    assert!(ended.says("asked to stop before the caches were synced"), "{ended:#?}");
}

#[tokio::test]
async fn the_cluster_s_identity_is_waited_for_too() {
    let args = ["--master", "http://127.0.0.1:1", "--neutron-url", "http://127.0.0.1:1"];
    let controller = Controller::run(&args.map(OsString::from), &[]);
    controller.says(&["still waiting", "identity", "Connection refused"]).await;
    controller.stop().await;
}

#[tokio::test]
async fn an_address_of_neutron_selects_neutron_and_memory_is_never_used_without_a_word() {
    let local = ["--master", "http://127.0.0.1:1", "--installation", "mine"].map(OsString::from);
    let neutron = Controller::run(&local, &[("NEUTRON_URL", "http://127.0.0.1:1".to_owned())]);
    neutron.says(&["networks are created in Neutron", "installation=mine"]).await;
    neutron.stop().await;
    let memory = Controller::run(&local, &[]);
    memory.says(&["WARN", "networks are created in memory"]).await;
    memory.stop().await;
}

#[tokio::test]
async fn the_log_can_be_json() {
    let args: Vec<OsString> =
        ["--master", "http://127.0.0.1:1", "--log-format", "json"].map(OsString::from).into();
    let controller = Controller::run(&args, &[]);
    controller.says(&["\"problem\":\"unreachable\""]).await;
    for line in controller.stop().await.log {
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert!(line["message"].is_string() && line["level"].is_string(), "{line}");
    }
}
