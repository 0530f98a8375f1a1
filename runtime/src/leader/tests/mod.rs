//! The election against a server in memory, in paused time.

mod coordinated;
mod model;
mod server;

use std::time::Duration;

use super::*;
use crate::error::Error;
use server::Server;

const SECOND: Duration = Duration::from_secs(1);

fn elector(server: &Server, name: &str) -> Elector {
    Elector::builder(server.client(), "default/test").identity(name).build().unwrap()
}

async fn sleep(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

fn invalid(change: impl FnOnce(ElectorBuilder) -> ElectorBuilder, lease: &str) -> String {
    change(Elector::builder(Server::default().client(), lease)).build().unwrap_err().to_string()
}

#[tokio::test]
async fn invalid_settings_are_refused_with_their_values() {
    assert!(invalid(|elector| elector, "a/b/c").starts_with("`a/b/c` is not a Lease"));
    assert!(invalid(|elector| elector, "").starts_with("`` is not a Lease"));
    assert!(invalid(|elector| elector.identity(""), "a").contains("identity"));
    assert!(invalid(|elector| elector.coordinated("1.0.0").identity("a/b"), "a").contains("`a/b`"));
    for versions in ["", "1.0", "v1.0.0", "01.0.0", "1.0.0.0", "0.0.0"] {
        assert!(
            invalid(|elector| elector.coordinated(versions), "a").contains("semantic versions"),
            "{versions}"
        );
    }
    let newer = Versions::new("1.9.0").emulating("1.10.0-rc.1");
    assert!(invalid(|elector| elector.coordinated(newer), "a").contains("1.10.0-rc.1"));
    let half = Duration::from_millis(15_500);
    assert!(invalid(|elector| elector.lease_duration(half), "a").contains("15.5s"));
    assert!(
        invalid(|elector| elector.renew_deadline(15 * SECOND), "a")
            .contains("shorter than the lease duration")
    );
    assert!(invalid(|elector| elector.retry_period(5 * SECOND), "a").contains("half of the renew deadline"));
    assert!(invalid(|elector| elector.retry_period(Duration::ZERO), "a").contains("longer than zero"));
}

#[tokio::test(start_paused = true)]
async fn a_lease_has_the_fields_of_client_go_and_is_released_with_its_transitions() {
    let server = Server::default();
    let leader = elector(&server, "first");
    let leadership = leader.acquire().await;
    sleep(5).await;
    let spec = server.spec().unwrap();
    assert_eq!(spec.holder_identity.as_deref(), Some("first"));
    assert_eq!((spec.lease_duration_seconds, spec.lease_transitions), (Some(15), Some(0)));
    assert!(spec.renew_time > spec.acquire_time);
    assert_eq!((leader.term(), leader.leader().as_deref()), (Some(0), Some("first")));

    leadership.release().await.unwrap();
    assert_eq!(leader.term(), None);
    let spec = server.spec().unwrap();
    assert_eq!(spec.holder_identity.as_deref(), Some(""));
    assert_eq!((spec.lease_duration_seconds, spec.lease_transitions), (Some(1), Some(0)));
}

#[tokio::test(start_paused = true)]
async fn a_candidate_takes_a_released_lease_within_the_retry_period_with_a_higher_term() {
    let server = Server::default();
    let (first, second) = (elector(&server, "first"), elector(&server, "second"));
    let leadership = first.acquire().await;
    let waiting = tokio::spawn(async move { second.acquire().await });
    sleep(60).await;
    assert!(!waiting.is_finished());
    let released = tokio::time::Instant::now();
    leadership.release().await.unwrap();
    let leadership = waiting.await.unwrap();
    assert!(released.elapsed() <= 2 * SECOND, "{:?}", released.elapsed());
    assert_eq!(leadership.term(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_lease_whose_leader_died_is_taken_within_the_lease_duration_and_the_retry_period() {
    let server = Server::default();
    let (first, second) = (elector(&server, "first"), elector(&server, "second"));
    let leadership = first.acquire().await;
    let waiting = tokio::spawn(async move { second.acquire().await });
    sleep(60).await;
    let died = tokio::time::Instant::now();
    drop(leadership);
    assert_eq!(first.term(), None);
    let _leadership = waiting.await.unwrap();
    let took = died.elapsed();
    assert!((12 * SECOND..=17 * SECOND).contains(&took), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_cannot_renew_stops_at_its_deadline_and_its_writes_are_refused() {
    let server = Server::default();
    let leader = elector(&server, "first");
    let client = TypedClient::<Lease>::namespaced(leader.fence().client(server.client()), "default");
    let refused = client.update(&Lease::default()).await.unwrap_err();
    assert!(refused.is_invalid_request(), "{refused}");

    let mut leadership = leader.acquire().await;
    let lease = client.get("test").await.unwrap();
    client.update(&lease).await.unwrap();
    sleep(1).await;
    let cut = tokio::time::Instant::now();
    server.hang("first");
    let fence = leader.fence();
    let guarded = fence.guard(std::future::pending::<()>());
    let (lost, guarded) = tokio::join!(leadership.lost(), guarded);
    assert_eq!(lost, Lost::Expired);
    assert!(cut.elapsed() <= 10 * SECOND, "{:?}", cut.elapsed());
    guarded.unwrap_err();
    server.heal();
    let refused: Error = client.update(&lease).await.unwrap_err();
    assert!(refused.is_not_leading(), "{refused}");
    assert!(refused.to_string().contains("default/test"), "{refused}");
    client.get("test").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_lease_somebody_takes_stops_at_its_next_renewal() {
    let server = Server::default();
    let leader = elector(&server, "first");
    let mut leadership = leader.acquire().await;
    server.edit(|spec| spec.holder_identity = Some("thief".into()));
    let begun = tokio::time::Instant::now();
    assert_eq!(leadership.lost().await, Lost::Taken { by: Some("thief".into()) });
    assert!(begun.elapsed() <= 3 * SECOND);
    // It is said again to a caller that has dropped the future.
    assert_eq!(leadership.lost().await, Lost::Taken { by: Some("thief".into()) });
}

#[tokio::test(start_paused = true)]
async fn a_leader_keeps_a_lease_whose_object_is_edited_or_deleted() {
    let server = Server::default();
    let leader = elector(&server, "first");
    let mut leadership = leader.acquire().await;
    server.touch();
    sleep(20).await;
    server.delete();
    let lost = tokio::time::timeout(60 * SECOND, leadership.lost()).await;
    lost.unwrap_err();
    assert_eq!(leader.term(), Some(0));
    assert_eq!(server.spec().unwrap().holder_identity.as_deref(), Some("first"));
}

#[tokio::test(start_paused = true)]
async fn a_candidate_waits_for_the_end_of_a_lease_that_was_deleted() {
    let server = Server::default();
    let (first, second) = (elector(&server, "first"), elector(&server, "second"));
    let leadership = first.acquire().await;
    let waiting = tokio::spawn(async move { second.acquire().await });
    sleep(10).await;
    server.hang("first");
    server.delete();
    sleep(9).await;
    assert!(!waiting.is_finished(), "the first one may still lead");
    assert_eq!(waiting.await.unwrap().term(), 1, "terms go on");
    drop(leadership);
}

#[tokio::test(start_paused = true)]
async fn two_processes_with_one_identity_do_not_lead_at_the_same_time() {
    let server = Server::default();
    let (first, second) = (elector(&server, "same"), elector(&server, "same"));
    let leadership = first.acquire().await;
    let second = tokio::spawn(async move { second.acquire().await });
    sleep(60).await;
    assert!(!second.is_finished());
    drop(leadership);
    assert_eq!(second.await.unwrap().term(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_stands_still_does_not_make_renewals_look_alike() {
    let server = Server::default();
    let mut leadership = elector(&server, "first").acquire().await;
    clock::jumping::jump(k8s_openapi::jiff::SignedDuration::from_hours(-1));
    let before = server.spec().unwrap().renew_time;
    assert!(tokio::time::timeout(5 * SECOND, leadership.lost()).await.is_err());
    assert!(server.spec().unwrap().renew_time > before);
    clock::jumping::jump(k8s_openapi::jiff::SignedDuration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn dropping_a_leadership_stops_its_renewals() {
    let server = Server::default();
    let leadership = elector(&server, "first").acquire().await;
    sleep(5).await;
    drop(leadership);
    let requests = server.requests();
    sleep(60).await;
    assert_eq!(server.requests(), requests);
}

#[tokio::test(start_paused = true)]
async fn a_release_follows_a_renewal_whose_answer_was_lost() {
    let server = Server::default();
    let leader = elector(&server, "first");
    let leadership = leader.acquire().await;
    server.lose_answers("first");
    sleep(3).await;
    server.heal();
    leadership.release().await.unwrap();
    assert_eq!(server.spec().unwrap().holder_identity.as_deref(), Some(""));
}
