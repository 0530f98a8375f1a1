//! A real API server chooses the leader.

use std::time::Duration;

use genclient_runtime::{
    TypedClient,
    leader::{Elector, Lost, Versions},
};
use genclient_testenv::{TestEnv, require_servers};
use k8s_openapi::api::coordination::{v1::Lease, v1beta1::LeaseCandidate};
use tokio::time::{Instant, timeout};

const LONG: Duration = Duration::from_secs(120);

fn candidate(env: &TestEnv, name: &str, emulation: &str) -> Elector {
    let versions = Versions::new("1.37.0").emulating(emulation);
    let builder = Elector::builder(env.client().unwrap(), "default/example").identity(name);
    builder.coordinated(versions).build().unwrap()
}

#[tokio::test]
async fn the_server_elects_the_older_emulation_version_and_then_the_other_one() {
    require_servers!(ControlPlane);
    let env = TestEnv::builder()
        .own_servers()
        .without_controller_manager()
        .apiserver_arg("--feature-gates=CoordinatedLeaderElection=true")
        .apiserver_arg("--runtime-config=coordination.k8s.io/v1beta1=true")
        .start()
        .await
        .unwrap();
    let leases = TypedClient::<Lease>::namespaced(env.client().unwrap(), "default");
    let candidates = TypedClient::<LeaseCandidate>::namespaced(env.client().unwrap(), "default");
    let (newer, older) = (candidate(&env, "newer", "1.37.0"), candidate(&env, "older", "1.36.0"));

    let begun = Instant::now();
    let mut first = timeout(LONG, newer.acquire()).await.unwrap();
    println!("{:?}: the only candidate leads in term {}", begun.elapsed(), first.term());

    // A better candidate comes, and the leader is asked to go.
    let waiting = {
        let older = older.clone();
        tokio::spawn(async move { older.acquire().await })
    };
    let lost = timeout(LONG, first.lost()).await.unwrap();
    println!("{:?}: the leader stops, because {lost}", begun.elapsed());
    assert_eq!(lost, Lost::Preferred { holder: "older".into() });
    let term = first.term();
    first.release().await.unwrap();
    let again = {
        let newer = newer.clone();
        tokio::spawn(async move { newer.acquire().await })
    };
    let second = timeout(LONG, waiting).await.unwrap().unwrap();
    println!("{:?}: the older emulation version leads in term {}", begun.elapsed(), second.term());
    assert!(second.term() > term, "{} > {term}", second.term());
    let spec = leases.get("example").await.unwrap().spec.unwrap();
    println!("{spec:?}");
    assert_eq!(spec.holder_identity.as_deref(), Some("older"));
    assert_eq!(spec.strategy.as_deref(), Some("OldestEmulationVersion"));

    // It goes.
    let term = second.term();
    second.release().await.unwrap();
    assert!(candidates.get("older").await.unwrap_err().is_not_found());
    let mut third = timeout(LONG, again).await.unwrap().unwrap();
    println!("{:?}: the other one leads in term {}", begun.elapsed(), third.term());
    assert!(third.term() > term, "{} > {term}", third.term());
    assert_eq!(newer.leader().as_deref(), Some("newer"));

    // The server takes the Lease from a leader that died, and the other one waits until that must have stopped.
    let waiting = tokio::spawn(async move { older.acquire().await });
    timeout(LONG, third.lost()).await.unwrap();
    let (term, died) = (third.term(), Instant::now());
    drop((third, newer));
    let fourth = timeout(LONG, waiting).await.unwrap().unwrap();
    println!(
        "{:?} after the death of the leader the next one leads in term {}",
        died.elapsed(),
        fourth.term()
    );
    assert!(died.elapsed() >= Duration::from_secs(8) && fourth.term() > term);
    fourth.release().await.unwrap();
    assert!(candidates.get("older").await.unwrap_err().is_not_found());
}

#[tokio::test]
async fn without_lease_candidates_the_candidates_elect_the_leader() {
    require_servers!();
    let env = TestEnv::shared().await.unwrap();
    let leadership = timeout(LONG, candidate(env, "alone", "1.36.0").acquire()).await.unwrap();
    assert_eq!(leadership.term(), 0);
    leadership.release().await.unwrap();
}
