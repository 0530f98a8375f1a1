//! The manners that all examples share: help, exit codes, messages that say what to do.

use std::process::Output;

use genclient_testenv::{TestEnv, require_servers};
use serde_json::json;
use tokio::process::Command;

use super::{apply, pod};
use crate::support::{Cluster, Controller, crd, eventually, example};

const ALL: [&str; 5] =
    ["deployment_logger", "pod_watch", "app_service", "deployment_network", "sidecar_injector"];

/// Runs an example to its end.
async fn run(name: &str, args: &[&str]) -> Output {
    let output = Command::new(example(name)).args(args).env_clear().kill_on_drop(true).output();
    tokio::time::timeout(std::time::Duration::from_secs(60), output).await.expect("it ends").unwrap()
}

#[tokio::test]
async fn the_help_of_each_example_says_what_it_does_and_what_it_takes() {
    for name in ALL {
        let output = run(name, &["--help"]).await;
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{name}: {text}");
        for said in [&format!("Usage: {name}"), "--kubeconfig", "--log-format", "SIGTERM"] {
            assert!(text.contains(said), "{name} does not say {said:?}: {text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{name}: {text}");
    }
}

#[tokio::test]
async fn wrong_flags_are_explained_with_exit_code_2_and_a_wrong_kubeconfig_with_1() {
    for name in ALL {
        for (args, code, said) in [
            (&["--kubeconfig", "nowhere/config"][..], 1, "cannot read the kubeconfig `nowhere/config`"),
            (&["--kubeconfigs", "x"], 2, "--kubeconfig"),
            (&["--log-format", "xml"], 2, "[possible values: text, json]"),
        ] {
            let output = run(name, args).await;
            let text = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(code), "{name} {args:?}: {text}");
            assert!(text.contains(said), "{name} {args:?}: {text}");
        }
    }
}

#[tokio::test]
async fn a_lifetime_that_no_certificate_can_have_is_refused() {
    for (lifetime, said) in [("0s", "must live for 1s at least"), ("30000y", "cannot live for")] {
        let args =
            ["--master", "http://127.0.0.1:1", "--listen", "127.0.0.1:0", "--certificate-lifetime", lifetime];
        let output = run("sidecar_injector", &args).await;
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{lifetime}: {text}");
        assert!(text.contains(said), "{lifetime}: {text}");
    }
}

#[tokio::test]
async fn an_unreachable_server_is_waited_for_and_sigterm_ends_the_wait_with_0() {
    require_servers!();
    let env = TestEnv::shared().await.unwrap();
    for name in ALL {
        let mut args = vec!["--master", "http://127.0.0.1:1"];
        if name == "sidecar_injector" {
            args.extend(["--listen", "127.0.0.1:0"]);
        }
        let program = Controller::example(env, name, &args);
        program.says(&["unreachable", "Connection refused"]).await;
        program.stop().await;
    }
}

#[tokio::test]
async fn an_absent_definition_is_waited_for() {
    require_servers!(ControlPlane);
    let env = TestEnv::builder().own_servers().start().await.unwrap();
    for (name, kind) in
        [("deployment_network", "networks.samplecrd"), ("app_service", "appservices.appcontroller")]
    {
        let program = Controller::example(&env, name, &[]);
        program.says(&["does not serve", kind, "waiting until it appears"]).await;
        program.stop().await;
    }
    let program = Controller::example(&env, "deployment_network", &[]);
    program.says(&["does not serve"]).await;
    env.kubectl(&["apply", "-f", &crd()]).await.unwrap();
    program.says(&["started workers"]).await;
    program.stop().await;
}

#[tokio::test]
async fn each_example_survives_the_restart_of_the_api_server() {
    require_servers!(ControlPlane);
    let env = TestEnv::builder().own_servers().start().await.unwrap();
    let (home, target) = (Cluster::of(&env, "home").await, Cluster::of(&env, "target").await);
    let key = format!("{}/sidecar", home.namespace);
    let programs = [
        target.example("deployment_logger", &[]),
        target.example("pod_watch", &[]),
        target.example("app_service", &[]),
        target.example("deployment_network", &[]),
        target.example("sidecar_injector", &["--listen", "127.0.0.1:0", "--config-map", &key]),
    ];
    for round in ["before", "after"] {
        let config_map = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": { "name": "sidecar" },
            "data": { "config": format!("containers: [{{name: envoy-{round}, image: envoy}}]") },
        });
        apply(&home, &config_map).await;
        let app = json!({
            "apiVersion": "appcontroller.k8s.io/v1alpha1",
            "kind": "AppService",
            "metadata": { "name": round },
            "spec": { "deploymentName": format!("{round}-web"), "replicas": 0 },
        });
        apply(&target, &app).await;
        let [logger, watch, apps, chain, injector] = &programs;
        let key = format!("{}/{round}-web", target.namespace);
        apps.says(&["created the Deployment", &format!("{round}-web")]).await;
        logger.says(&["deployment added", &key]).await;
        chain.says(&["created the network", &key]).await;
        injector.says(&["registered the webhook"]).await;
        let mut probe = pod(round, json!({}), json!({}));
        probe["metadata"] = json!({ "generateName": format!("{round}-") });
        let probe = probe.to_string();
        let create = [
            "--namespace",
            &target.namespace,
            "create",
            "-f",
            "-",
            "-o",
            "jsonpath={.spec.containers[*].name}",
        ];
        let injected = async || env.kubectl_with_input(&create, &probe).await.unwrap_or_default();
        let wanted = format!("main envoy-{round}");
        eventually("a Pod is injected with the newest template", injected, |names| *names == wanted).await;
        watch.says(&["pod added", &format!("{}/{round}-", target.namespace)]).await;
        if round == "before" {
            env.apiserver().kill9().await.unwrap();
            for program in &programs {
                program.says(&["unreachable"]).await;
            }
            env.apiserver().start().await.unwrap();
        }
    }
    for program in programs {
        program.stop().await;
    }
}
