//! What is another's is never destroyed: other clusters, other installations, and objects that only seem gone.

use genclient_runtime::{ListParams, Patch};
use genclient_testenv::{Neutron, TestEnv, require_servers};
use serde_json::json;

use crate::support::{Cluster, Controller, Held, Setup, TestNeutron, held};

#[tokio::test]
async fn two_clusters_on_one_project_leave_each_other_alone() {
    require_servers!(ControlPlane, Neutron);
    let server = Neutron::start().await.unwrap();
    let (neutron, url) = (TestNeutron::of(&server).await, server.url());
    let (first, second) =
        tokio::join!(TestEnv::builder().own_servers().start(), TestEnv::builder().own_servers().start());
    let (first, second) = (first.unwrap(), second.unwrap());
    let (ours, theirs) = (Cluster::of(&first, "ours").await, Cluster::of(&second, "theirs").await);
    let args = ["--neutron-url", &url, "--drift-interval", "500ms", "--allow-mass-deletion"];

    // The second one, with no objects at all, is what a wrong kubeconfig looks like.
    let controller = Controller::start(&first, &args, &[]);
    ours.create("a", "10.0.0.0/24", "10.0.0.1").await;
    let mut wanted = vec![held("a", "10.0.0.0/24", "10.0.0.1")];
    neutron.holds(&wanted).await;
    let id = neutron.only_id().await;
    let wrong = Controller::start(&second, &args, &[]);
    theirs.create("a", "10.1.0.0/24", "10.1.0.1").await;
    wanted.push(held("a", "10.1.0.0/24", "10.1.0.1"));
    neutron.holds(&wanted).await;
    theirs.delete("a").await;
    theirs.gone("a").await;
    wanted.pop();
    neutron.holds(&wanted).await;
    assert_eq!(neutron.only_id().await, id);
    for controller in [&controller, &wrong] {
        assert_eq!(controller.count(&["found an orphaned network"]), 0);
    }

    // The marker holds the cluster's identity whole.
    let uid = ours.uid().await;
    let description = neutron.networks().await[0]["description"].to_string();
    assert!(description.contains(&format!("installation=default cluster={uid} ")), "{description} {uid}");
    controller.stop().await;
    wrong.stop().await;
}

#[tokio::test]
async fn two_clusters_whose_installations_have_the_same_name_leave_each_other_alone() {
    require_servers!(ControlPlane, Neutron);
    let server = Neutron::start().await.unwrap();
    let (neutron, url) = (TestNeutron::of(&server).await, server.url());
    let cluster = Cluster::shared("same-name").await;
    let another = TestEnv::builder().own_servers().start().await.unwrap();
    Cluster::of(&another, "same-name").await;
    let args = ["--installation", "prod", "--neutron-url", &url, "--drift-interval", "500ms"];
    let ours = [&["--namespace", &cluster.namespace], &args[..]].concat();
    let controller = Controller::start(cluster.env, &ours, &[]);
    let names = ["a", "b"];
    for name in names {
        cluster.create(name, "10.0.0.0/24", "10.0.0.1").await;
    }
    let both = names.map(|name| held(name, "10.0.0.0/24", "10.0.0.1"));
    neutron.holds(&both).await;
    controller.stop().await;
    let before = neutron.networks().await;

    // The wrong kubeconfig: no object of this cluster has a network there, and any number may be deleted.
    for more in [&[][..], &["--allow-mass-deletion"], &["--no-finalizer", "--allow-mass-deletion"]] {
        let wrong = Controller::start(&another, &[&args[..], &["-v"], more].concat(), &[]);
        wrong.says(&["WARN", "belong to other clusters and are left alone", "networks=2"]).await;
        wrong.says(&["started workers"]).await;
        wrong.says_times(3, &["looked for orphaned networks"]).await;
        let ended = wrong.stop().await;
        assert!(!ended.says("found an orphaned network") && !ended.says("Z ERROR "), "{ended:#?}");
        assert_eq!(neutron.networks().await, before);
    }
}

#[tokio::test]
async fn two_installations_on_one_project_leave_each_other_alone() {
    require_servers!(Kubernetes, Neutron);
    let server = Neutron::start().await.unwrap();
    let (neutron, url) = (TestNeutron::of(&server).await, server.url());
    let cluster = Cluster::shared("beside").await;
    let longest = "x".repeat(48);
    let controllers: Vec<_> = ["one", "ONE", "one-two", &longest]
        .into_iter()
        .map(|installation| {
            // The same object for all: each makes its own network of it.
            let args = ["--namespace", &cluster.namespace, "--installation", installation, "--no-finalizer"];
            let more = ["--neutron-url", &url, "--drift-interval", "500ms"];
            Controller::start(cluster.env, &[&args[..], &more].concat(), &[])
        })
        .collect();
    cluster.create("a", "10.0.0.0/24", "10.0.0.1").await;
    let each = vec![held("a", "10.0.0.0/24", "10.0.0.1"); 4];
    neutron.holds(&each).await;
    for controller in &controllers {
        controller.says_times(3, &["processing network"]).await;
        assert_eq!(controller.count(&["found an orphaned network"]), 0);
    }
    neutron.holds(&each).await;
    for controller in controllers {
        controller.stop().await;
    }
}

/// Makes this many objects vanish without a deletion that any controller could see.
async fn vanish(cluster: &Cluster<'_>, number: usize) {
    let networks = cluster.networks();
    let all = networks.list(&ListParams::default()).await.unwrap().items;
    let release = Patch::merge(&json!({ "metadata": { "finalizers": null } }));
    for network in all.into_iter().take(number) {
        let name = network.metadata.name.unwrap();
        networks.patch(&name, &release).await.unwrap();
        networks.delete(&name).await.unwrap();
    }
}

#[tokio::test]
async fn a_cluster_that_lost_its_objects_does_not_lose_its_networks() {
    require_servers!(Kubernetes, Neutron);
    let Setup { cluster, neutron } = Setup::new("restored", &["--drift-interval", "500ms"]).await;
    let controller = cluster.controller(&[]);
    let name = |n: usize| format!("n{n}");
    let all: Vec<Held> = (0..8).map(|n| held(&name(n), "10.0.0.0/24", "10.0.0.1")).collect();
    for n in 0..8 {
        cluster.create(&name(n), "10.0.0.0/24", "10.0.0.1").await;
    }
    neutron.holds(&all).await;
    controller.kill9().await;
    vanish(&cluster, 8).await;

    // It says why it deletes nothing, works on, and ends in an error.
    let controller = cluster.controller(&[]);
    let refused = ["ERROR", "8 of 8 networks", "refusing to delete that many", "--allow-mass-deletion"];
    controller.says_times(3, &refused).await;
    cluster.create("new", "10.1.0.0/24", "10.1.0.1").await;
    let mut more = all.clone();
    more.push(held("new", "10.1.0.0/24", "10.1.0.1"));
    neutron.holds(&more).await;
    cluster.delete("new").await;
    cluster.gone("new").await;
    neutron.holds(&all).await;
    controller.signal("TERM").await;
    let ended = controller.ended().await;
    assert_eq!(ended.status.code(), Some(1), "{ended:#?}");
    assert!(ended.says("the controller ended in an error state"), "{ended:#?}");

    let controller = cluster.controller(&["--allow-mass-deletion"]);
    neutron.holds(&[]).await;
    controller.stop().await;
}

#[tokio::test]
async fn a_cluster_restored_from_a_backup_that_lacks_some_objects_keeps_their_networks() {
    require_servers!(Kubernetes, Neutron);
    let Setup { cluster, neutron } = Setup::new("backup", &["--drift-interval", "500ms"]).await;
    let controller = cluster.controller(&[]);
    let name = |n: usize| format!("n{n}");
    let all: Vec<Held> = (0..10).map(|n| held(&name(n), "10.0.0.0/24", "10.0.0.1")).collect();
    for n in 0..10 {
        cluster.create(&name(n), "10.0.0.0/24", "10.0.0.1").await;
    }
    neutron.holds(&all).await;
    controller.kill9().await;
    vanish(&cluster, 3).await;

    let controller = cluster.controller(&[]);
    controller.says_times(2, &["ERROR", "3 of 10 networks"]).await;
    assert_eq!(neutron.all().await, all);
    controller.signal("TERM").await;
    assert_eq!(controller.ended().await.status.code(), Some(1));

    // Without the finalizer they look like deletions that no controller saw, as the help says.
    let controller = cluster.controller(&["--no-finalizer"]);
    neutron.holds(&all[3..]).await;
    controller.stop().await;
}

#[tokio::test]
async fn objects_that_a_relist_misses_are_not_deleted_in_masses_either() {
    require_servers!(ControlPlane, Neutron);
    let env = TestEnv::builder().own_servers().apiserver_arg("--watch-cache=false").start().await.unwrap();
    let Setup { cluster, neutron } = Setup::of(Cluster::of(&env, "relist").await, &[]).await;
    let controller = cluster.controller(&[]);
    let name = |n: usize| format!("n{n}");
    let all: Vec<Held> = (0..6).map(|n| held(&name(n), "10.0.0.0/24", "10.0.0.1")).collect();
    for n in 0..6 {
        cluster.create(&name(n), "10.0.0.0/24", "10.0.0.1").await;
    }
    neutron.holds(&all).await;

    // The history in which they were deleted is gone when the controller looks again.
    controller.signal("STOP").await;
    env.apiserver().restart().await.unwrap();
    vanish(&cluster, 6).await;
    env.compact_etcd().await.unwrap();
    controller.signal("CONT").await;
    controller.says(&["ERROR", "6 of 6 networks"]).await;
    neutron.holds(&all).await;
    controller.signal("TERM").await;
    assert_eq!(controller.ended().await.status.code(), Some(1));
}

#[tokio::test]
async fn a_cluster_whose_identity_may_not_be_read_is_not_guessed() {
    require_servers!(ControlPlane, Neutron);
    let env = TestEnv::builder().own_servers().start().await.unwrap();
    let neutron = TestNeutron::shared("nobody").await;
    let url = neutron.server.url();
    let user = env.limited_user();
    let kubeconfig = env.kubectl(&["config", "view", "--raw", "--minify", "-o", "json"]).await.unwrap();
    let mut kubeconfig: serde_json::Value = serde_json::from_str(&kubeconfig).unwrap();
    kubeconfig["users"][0]["user"]["as"] = json!(user);
    let file = std::env::temp_dir().join(format!("samplecrd-controller-limited-{}", std::process::id()));
    std::fs::write(&file, kubeconfig.to_string()).unwrap();
    let args = ["--kubeconfig", file.to_str().unwrap(), "--neutron-url", &url].map(std::ffi::OsString::from);
    let ended = Controller::run(&args, &[]).ended().await;
    std::fs::remove_file(file).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{ended:#?}");
    assert!(ended.says("allow the controller to get the namespace kube-system"), "{ended:#?}");
}
