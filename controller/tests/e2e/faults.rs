//! Servers in trouble: the controller waits, says so, and goes on where it was.

use genclient_testenv::{Neutron, TestEnv, require_servers};
use http::Method;
use serde_json::json;

use crate::support::{Cluster, Proxy, Setup, TestNeutron, Verdict, held};

#[tokio::test]
async fn an_api_server_that_dies_and_comes_back_is_followed_again() {
    require_servers!(Kubernetes, Neutron);
    let env = TestEnv::builder().own_servers().start().await.unwrap();
    let Setup { cluster, neutron } =
        Setup::of(Cluster::of(&env, "api").await, &["--drift-interval", "1s"]).await;
    let controller = cluster.controller(&[]);
    cluster.create("a", "10.0.0.0/24", "10.0.0.1").await;
    controller.says(&["successfully synced"]).await;

    env.apiserver().kill9().await.unwrap();
    controller.says(&["problem=unreachable"]).await;
    // Drift is repaired all the same: what is wanted is known.
    let id = neutron.only_id().await;
    neutron.request(Method::DELETE, &format!("/networks/{id}"), None).await;
    controller.says_times(2, &["created network in the provider"]).await;
    neutron.holds(&[held("a", "10.0.0.0/24", "10.0.0.1")]).await;

    env.apiserver().restart().await.unwrap();
    cluster.change("a", "10.0.0.0/24", "10.0.0.2").await;
    cluster.create("b", "10.1.0.0/24", "10.1.0.1").await;
    neutron.holds(&[held("a", "10.0.0.0/24", "10.0.0.2"), held("b", "10.1.0.0/24", "10.1.0.1")]).await;
    cluster.delete("a").await;
    cluster.gone("a").await;
    neutron.holds(&[held("b", "10.1.0.0/24", "10.1.0.1")]).await;
    let ended = controller.stop().await;
    assert!(ended.says("can be followed again"), "{ended:#?}");
}

#[tokio::test]
async fn a_watch_whose_history_was_compacted_away_is_begun_anew() {
    require_servers!(Kubernetes, Neutron);
    let env = TestEnv::builder().own_servers().apiserver_arg("--watch-cache=false").start().await.unwrap();
    let Setup { cluster, neutron } = Setup::of(Cluster::of(&env, "compact").await, &["--no-finalizer"]).await;
    let controller = cluster.controller(&[]);
    for (name, net) in [("a", 1), ("b", 2), ("c", 3)] {
        cluster.create(name, &format!("10.{net}.0.0/24"), &format!("10.{net}.0.1")).await;
    }
    controller.says_times(3, &["successfully synced"]).await;

    // The controller sees nothing while changes come, and their history goes; its connection goes last.
    controller.signal("STOP").await;
    env.apiserver().restart().await.unwrap();
    cluster.delete("a").await;
    cluster.change("b", "10.2.0.0/24", "10.2.0.9").await;
    cluster.create("d", "10.4.0.0/24", "10.4.0.1").await;
    env.compact_etcd().await.unwrap();
    controller.signal("CONT").await;

    neutron
        .holds(&[
            held("b", "10.2.0.0/24", "10.2.0.9"),
            held("c", "10.3.0.0/24", "10.3.0.1"),
            held("d", "10.4.0.0/24", "10.4.0.1"),
        ])
        .await;
    assert!(controller.count(&["problem=version"]) >= 1, "the old version had expired");
    cluster.delete("c").await;
    neutron.holds(&[held("b", "10.2.0.0/24", "10.2.0.9"), held("d", "10.4.0.0/24", "10.4.0.1")]).await;
    controller.stop().await;
}

#[tokio::test]
async fn a_neutron_that_is_killed_or_paused_is_waited_for() {
    require_servers!(Kubernetes, Neutron);
    let server = Neutron::start().await.unwrap();
    let (neutron, url) = (TestNeutron::of(&server).await, server.url());
    let cluster = Cluster::shared("neutron").await;
    let controller = cluster.controller(&["--neutron-url", &url]);
    cluster.create("a", "10.0.0.0/24", "10.0.0.1").await;
    neutron.holds(&[held("a", "10.0.0.0/24", "10.0.0.1")]).await;

    server.kill9().await.unwrap();
    cluster.change("a", "10.0.0.0/24", "10.0.0.2").await;
    cluster.create("b", "10.1.0.0/24", "10.1.0.1").await;
    cluster.has_event("b", "Warning", "ProviderUnavailable", "got no answer").await;
    server.restart().await.unwrap();
    neutron.holds(&[held("a", "10.0.0.0/24", "10.0.0.2"), held("b", "10.1.0.0/24", "10.1.0.1")]).await;

    // A stopped one answers nothing and loses nothing: what was asked comes out in the end.
    server.pause().unwrap();
    cluster.change("b", "10.1.0.0/24", "10.1.0.2").await;
    cluster.delete("a").await;
    controller.says(&["processing network", "gateway=10.1.0.2"]).await;
    controller.says(&["deleting network in the provider", "/a"]).await;
    server.resume().unwrap();
    neutron.holds(&[held("b", "10.1.0.0/24", "10.1.0.2")]).await;
    cluster.gone("a").await;

    // A deletion waits, and the finalizer with it.
    server.kill9().await.unwrap();
    cluster.delete("b").await;
    controller.says(&["ERROR", "/b", "got no answer"]).await;
    assert!(cluster.networks().get("b").await.unwrap().metadata.deletion_timestamp.is_some());
    server.restart().await.unwrap();
    cluster.gone("b").await;
    neutron.holds(&[]).await;
    controller.stop().await;
}

#[tokio::test]
async fn refusals_and_lost_answers_of_neutron_are_retried_without_a_duplicate() {
    require_servers!(Kubernetes, Neutron);
    let cluster = Cluster::shared("refusals").await;
    let neutron = TestNeutron::shared(&cluster.namespace).await;
    let proxy = Proxy::start(neutron.server.url()).await;
    let controller = cluster.controller(&["--neutron-url", &proxy.url]);
    controller.says(&["started workers"]).await;
    let error =
        |type_: &str| json!({ "NeutronError": { "type": type_, "message": "no", "detail": "" } }).to_string();
    let cases = [
        ("html", Verdict::Answer(500, "<html>trouble</html>".into()), "ProviderUnavailable"),
        ("busy", Verdict::Answer(503, error("RetryRequest")), "ProviderUnavailable"),
        ("conflict", Verdict::Answer(409, error("SomeConflict")), "ProviderConflict"),
        ("in-use", Verdict::Answer(409, error("NetworkInUse")), "NetworkInUse"),
        (
            "token",
            Verdict::Answer(401, json!({ "error": { "code": 401 } }).to_string()),
            "ProviderUnauthorized",
        ),
        ("garbage", Verdict::Answer(201, "{}".into()), "ProviderProtocolError"),
        ("lost", Verdict::LoseAnswer, "ProviderUnavailable"),
    ];
    let mut expected = Vec::new();
    for (name, verdict, reason) in cases {
        // The second write fails three times: when a network is made, that is its subnet.
        let (mut writes, verdict) = (0, verdict.clone());
        proxy.script(move |method, _| match method {
            &Method::GET => Verdict::Pass,
            _ => {
                writes += 1;
                if (2..5).contains(&writes) { verdict.clone() } else { Verdict::Pass }
            }
        });
        cluster.create(name, "10.0.0.0/24", "10.0.0.1").await;
        cluster.has_event(name, "Warning", reason, "").await;
        cluster.has_event(name, "Normal", "Synced", "").await;
        expected.push(held(name, "10.0.0.0/24", "10.0.0.1"));
        neutron.holds(&expected).await;
    }
    proxy.script(|_, _| Verdict::Pass);

    // The same for the deletions, every one of which is refused at first.
    let mut deletions = 0;
    proxy.script(move |method, _| {
        deletions += usize::from(method == Method::DELETE);
        if method == Method::DELETE && deletions <= 7 {
            Verdict::Answer(500, "trouble".into())
        } else {
            Verdict::Pass
        }
    });
    for (name, _) in &expected {
        cluster.delete(name).await;
    }
    neutron.holds(&[]).await;
    for (name, _) in &expected {
        cluster.gone(name).await;
    }
    controller.stop().await;
}

#[tokio::test]
async fn a_finalizer_that_meets_a_conflict_is_set_again_without_a_warning() {
    require_servers!(Kubernetes, Neutron);
    let Setup { cluster, neutron } = Setup::new("conflict", &[]).await;
    let controller = cluster.controller(&[]);
    controller.says(&["started workers"]).await;
    // A writer who changes the object as fast as it can meets the controller's own write now and then.
    for round in 0..10 {
        let name = format!("n{round}");
        cluster.create(&name, "10.0.0.0/24", "10.0.0.1").await;
        for gateway in 2..8 {
            cluster.change(&name, "10.0.0.0/24", &format!("10.0.0.{gateway}")).await;
        }
    }
    let expected: Vec<_> =
        (0..10).map(|round| held(&format!("n{round}"), "10.0.0.0/24", "10.0.0.7")).collect();
    neutron.holds(&expected).await;
    for round in 0..10 {
        let name = format!("n{round}");
        cluster.has_event(&name, "Normal", "Synced", "").await;
        let events = cluster.events(&name).await;
        assert!(events.iter().all(|[type_, ..]| type_ == "Normal"), "{events:?}");
    }
    controller.stop().await;
}

#[tokio::test]
async fn a_token_that_is_refused_is_renewed() {
    require_servers!(Kubernetes, Neutron, Keystone);
    let server = Neutron::with_keystone().await.unwrap();
    let keystone = server.keystone().unwrap();
    let neutron = TestNeutron::of(&server).await;
    let proxy = Proxy::start(server.url()).await;
    let cluster = Cluster::shared("keystone").await;
    let args = ["--neutron-url", &proxy.url, "-v"];
    let mut variables = keystone.credentials();
    let controller = cluster.controller_with(&args, &variables);
    cluster.create("a", "10.0.0.0/24", "10.0.0.1").await;
    neutron.holds(&[held("a", "10.0.0.0/24", "10.0.0.1")]).await;
    controller.says(&["successfully synced"]).await;
    assert_eq!(controller.count(&["got a token"]), 1, "one token does for everything");

    keystone.revoke(&proxy.token().unwrap()).await.unwrap();
    cluster.change("a", "10.0.0.0/24", "10.0.0.2").await;
    neutron.holds(&[held("a", "10.0.0.0/24", "10.0.0.2")]).await;
    controller.says(&["status=401"]).await;
    assert_eq!(controller.count(&["got a token"]), 2);
    let events = cluster.events("a").await;
    assert!(events.iter().all(|[type_, ..]| type_ == "Normal"), "a renewal has no event: {events:?}");

    // Without Keystone nothing can be renewed; when it is back, everything goes on.
    keystone.revoke(&proxy.token().unwrap()).await.unwrap();
    keystone.kill9().await.unwrap();
    cluster.change("a", "10.0.0.0/24", "10.0.0.3").await;
    cluster.has_event("a", "Warning", "ProviderUnavailable", "").await;
    keystone.restart().await.unwrap();
    neutron.holds(&[held("a", "10.0.0.0/24", "10.0.0.3")]).await;
    controller.stop().await;

    // A wrong password is reported to the user, and nothing is touched.
    variables.iter_mut().filter(|(name, _)| *name == "OS_PASSWORD").for_each(|(_, value)| value.push('x'));
    let controller = cluster.controller_with(&args, &variables);
    cluster
        .has_event("a", "Warning", "ProviderUnauthorized", "Keystone did not accept the credentials")
        .await;
    controller.stop().await;
    neutron.holds(&[held("a", "10.0.0.0/24", "10.0.0.3")]).await;
}
