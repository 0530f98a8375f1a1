//! The election in which the server chooses the leader. The tests are the server's controller.

use super::*;

fn coordinated(server: &Server, name: &str) -> Elector {
    let versions = Versions::new("1.37.0").emulating("1.36.0");
    Elector::builder(server.client(), "default/test").identity(name).coordinated(versions).build().unwrap()
}

fn coordinating() -> Server {
    let server = Server::default();
    server.coordinate();
    server
}

fn acquiring(elector: &Elector) -> tokio::task::JoinHandle<Leadership> {
    let elector = elector.clone();
    tokio::spawn(async move { elector.acquire().await })
}

#[tokio::test(start_paused = true)]
async fn a_candidate_publishes_itself_and_answers_pings_and_leads_when_it_is_chosen() {
    let server = coordinating();
    let elector = coordinated(&server, "first");
    let acquiring = acquiring(&elector);
    sleep(30).await;
    assert_eq!(server.spec(), None, "it does not take the Lease itself");
    let candidate = server.candidate("first").unwrap();
    assert_eq!((&*candidate.lease_name, &*candidate.strategy), ("test", "OldestEmulationVersion"));
    assert_eq!(
        (&*candidate.binary_version, candidate.emulation_version.as_deref()),
        ("1.37.0", Some("1.36.0"))
    );

    server.ping("first");
    sleep(3).await;
    let candidate = server.candidate("first").unwrap();
    assert!(candidate.renew_time >= candidate.ping_time, "it answers a server whose clock is ahead");
    server.delete_candidate("first");
    sleep(3).await;
    assert!(server.candidate("first").is_some());

    server.assign("first");
    let begun = tokio::time::Instant::now();
    let mut leadership = acquiring.await.unwrap();
    assert!(begun.elapsed() <= 2 * SECOND, "nobody has led before");
    let spec = server.spec().unwrap();
    assert_eq!((spec.lease_duration_seconds, spec.lease_transitions), (Some(15), Some(1)));
    assert_eq!(spec.strategy.as_deref(), Some("OldestEmulationVersion"));
    server.ping("first");
    let lost = tokio::time::timeout(60 * SECOND, leadership.lost()).await;
    lost.unwrap_err();
    let candidate = server.candidate("first").unwrap();
    assert!(candidate.renew_time >= candidate.ping_time, "a leader answers, too");

    leadership.release().await.unwrap();
    assert_eq!(server.candidate("first"), None);
    assert_eq!(server.spec().unwrap().holder_identity.as_deref(), Some(""));
}

#[tokio::test(start_paused = true)]
async fn a_released_lease_passes_on_at_once_with_a_higher_term() {
    let server = coordinating();
    let (first, second) = (coordinated(&server, "first"), coordinated(&server, "second"));
    server.assign("first");
    let leadership = first.acquire().await;
    let waiting = acquiring(&second);
    sleep(20).await;
    leadership.release().await.unwrap();
    // The candidate sees the choice and not the release.
    server.assign("second");
    let assigned = tokio::time::Instant::now();
    let later = waiting.await.unwrap();
    assert!(assigned.elapsed() <= 2 * SECOND, "{:?}", assigned.elapsed());
    assert_eq!(later.term(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_chooses_too_early_does_not_make_two_leaders() {
    let server = coordinating();
    let (first, second) = (coordinated(&server, "first"), coordinated(&server, "second"));
    server.assign("first");
    let mut leadership = first.acquire().await;
    let waiting = acquiring(&second);
    sleep(5).await;
    // The first one is cut off, and its lease is valid for some time.
    server.hang("first");
    server.assign("second");
    let assigned = tokio::time::Instant::now();
    assert_eq!(leadership.lost().await, Lost::Expired);
    assert!(!waiting.is_finished());
    let held = server.spec().unwrap();
    assert_eq!(held.holder_identity.as_deref(), Some("second"));
    assert!(held.acquire_time.is_some(), "it keeps the Lease while it waits");
    let later = waiting.await.unwrap();
    assert!((15 * SECOND..=17 * SECOND).contains(&assigned.elapsed()), "{:?}", assigned.elapsed());
    assert_eq!(later.term(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_leader_steps_down_for_a_preferred_candidate_and_hands_the_lease_over() {
    let server = coordinating();
    let elector = coordinated(&server, "first");
    server.assign("first");
    let mut leadership = elector.acquire().await;
    server.prefer("second");
    let asked = tokio::time::Instant::now();
    assert_eq!(leadership.lost().await, Lost::Preferred { holder: "second".into() });
    assert!(asked.elapsed() <= 3 * SECOND);
    assert_eq!(elector.term(), None);
    let spec = server.spec();
    sleep(5).await;
    assert_eq!(server.spec(), spec, "it does not renew");
    leadership.release().await.unwrap();
    let spec = server.spec().unwrap();
    assert_eq!((spec.holder_identity.as_deref(), spec.preferred_holder), (Some(""), None));
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_does_not_release_the_lease_it_should_give_away_lets_the_next_one_wait() {
    let server = coordinating();
    let (first, second) = (coordinated(&server, "first"), coordinated(&server, "second"));
    server.assign("first");
    let mut leadership = first.acquire().await;
    server.prefer("second");
    leadership.lost().await;
    drop(leadership);
    let _again = acquiring(&first);
    sleep(5).await;
    assert_eq!(server.spec().unwrap().holder_identity.as_deref(), Some(""));
    server.assign("second");
    let assigned = tokio::time::Instant::now();
    let _later = second.acquire().await;
    assert!(assigned.elapsed() >= 15 * SECOND, "{:?}", assigned.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_leader_loses_a_lease_that_is_deleted_and_does_not_create_it() {
    let server = coordinating();
    server.assign("first");
    let mut leadership = coordinated(&server, "first").acquire().await;
    server.delete();
    assert_eq!(leadership.lost().await, Lost::Taken { by: None });
    assert_eq!(server.spec(), None);
}

#[tokio::test(start_paused = true)]
async fn two_processes_with_one_identity_do_not_both_lead_when_it_is_chosen() {
    let server = coordinating();
    server.assign("same");
    let leadership = coordinated(&server, "same").acquire().await;
    let waiting = acquiring(&coordinated(&server, "same"));
    sleep(60).await;
    assert!(!waiting.is_finished());
    drop(leadership);
    assert_eq!(waiting.await.unwrap().term(), 2);
}

#[tokio::test(start_paused = true)]
async fn without_lease_candidates_the_candidates_elect_the_leader() {
    let server = Server::default();
    let (first, second) = (coordinated(&server, "first"), coordinated(&server, "second"));
    let leadership = first.acquire().await;
    assert_eq!(leadership.term(), 0);
    let waiting = acquiring(&second);
    sleep(60).await;
    assert!(!waiting.is_finished());
    leadership.release().await.unwrap();
    assert_eq!(waiting.await.unwrap().term(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_withdraws_is_no_candidate_any_more() {
    let server = coordinating();
    let elector = coordinated(&server, "first");
    let acquiring = acquiring(&elector);
    sleep(3).await;
    acquiring.abort();
    assert!(acquiring.await.is_err());
    elector.withdraw().await.unwrap();
    assert_eq!(server.candidate("first"), None);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_given_up_without_the_work_of_a_leader_is_not_taken_at_once_by_an_ordinary_candidate()
{
    let server = coordinating();
    let first = coordinated(&server, "first");
    server.assign("first");
    drop(first.acquire().await);
    server.prefer("second");
    let _again = acquiring(&first);
    sleep(3).await;
    assert_eq!(server.spec().unwrap().holder_identity.as_deref(), Some(""));
    let begun = tokio::time::Instant::now();
    let leadership = elector(&server, "ordinary").acquire().await;
    assert!(begun.elapsed() >= 15 * SECOND, "{:?}", begun.elapsed());
    assert_eq!(leadership.term(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_manager_hands_the_lease_over_stays_a_candidate_and_withdraws_at_its_shutdown() {
    let server = coordinating();
    let configure = |elector: ElectorBuilder| elector.identity("first").coordinated(Versions::default());
    let builder = crate::Manager::builder("test").lease("default/test").elector(configure);
    let manager = builder.build(server.client()).unwrap();
    let running = tokio::spawn({
        let manager = manager.clone();
        async move { manager.run_until(std::future::pending()).await }
    });
    sleep(3).await;
    server.assign("first");
    sleep(3).await;
    let term = || manager.elector().unwrap().term();
    assert_eq!(term(), Some(1));

    server.prefer("second");
    sleep(3).await;
    assert_eq!(term(), None);
    assert_eq!(server.spec().unwrap().holder_identity.as_deref(), Some("first"), "its requests may arrive");
    sleep(5).await;
    assert_eq!(server.spec().unwrap().holder_identity.as_deref(), Some(""));
    sleep(3).await;
    assert!(server.candidate("first").is_some());
    server.assign("first");
    sleep(3).await;
    assert_eq!(term(), Some(2));

    server.prefer("second");
    sleep(15).await;
    server.assign("second");
    manager.shutdown_token().cancel();
    running.await.unwrap().unwrap();
    assert_eq!(server.candidate("first"), None);
    assert_eq!(server.spec().unwrap().holder_identity.as_deref(), Some("second"));
}
