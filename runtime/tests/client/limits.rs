//! The limits that a `RestClient` sets for every request.

use std::{sync::Arc, time::Duration};

use futures::{FutureExt as _, StreamExt as _, TryFutureExt as _, future::join_all};
use genclient_runtime::{ListParams, Patch, RestClient, TypedClient, error::Cause};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{object, support::*};

#[tokio::test(start_paused = true)]
async fn a_request_without_an_answer_ends_at_its_timeout() {
    let (client, _log) = in_process(|_: Received| Answer::Silence);
    let client = TypedClient::<ConfigMap>::namespaced(client, "default");
    let begin = Instant::now();
    let error = client.get("a").timeout(Duration::from_secs(7)).await.unwrap_err();
    assert!(error.is_timeout());
    assert_eq!(error.to_string(), "cannot get ConfigMap default/a: no answer within 7s");
    assert_eq!(begin.elapsed(), Duration::from_secs(7));
}

#[tokio::test(start_paused = true)]
async fn every_request_ends_after_60_seconds_by_default() {
    let (client, log) = in_process(|_: Received| Answer::Silence);
    let client = TypedClient::<ConfigMap>::namespaced(client, "default");
    let (object, params, patch) = (object("a"), ListParams::default(), Patch::merge(&json!({})));
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let begin = Instant::now();
    let requests = [
        client.create(&object).into_future().map_ok(drop).boxed(),
        client.update(&object).into_future().map_ok(drop).boxed(),
        client.update_status(&object).into_future().map_ok(drop).boxed(),
        client.delete("a").into_future().map_ok(drop).boxed(),
        client.delete_collection(&params).into_future(),
        client.get("a").into_future().map_ok(drop).boxed(),
        client.list::<Value>(&params).into_future().map_ok(drop).boxed(),
        client.pages(&params).all().map_ok(drop).boxed(),
        client.patch("a", &patch).into_future().map_ok(drop).boxed(),
        client.apply_untyped(&config).field_manager("me").into_future().map_ok(drop).boxed(),
        client.get_subresource::<Value>("a", "scale").into_future().map_ok(drop).boxed(),
    ];
    let (count, outcomes) = (requests.len(), join_all(requests).await);
    assert!(outcomes.into_iter().all(|outcome| outcome.unwrap_err().is_timeout()));
    assert_eq!((begin.elapsed(), log.len()), (Duration::from_secs(60), count));
}

/// A client in namespace `default`, and the moments at which its server saw a request.
fn timed(
    limits: impl FnOnce(RestClient) -> RestClient,
) -> (TypedClient<ConfigMap>, Arc<Mutex<Vec<Instant>>>) {
    let seen = Arc::<Mutex<Vec<Instant>>>::default();
    let moments = Arc::clone(&seen);
    let (client, _log) = in_process(move |_: Received| {
        moments.lock().push(Instant::now());
        Answer::json(config_map("a", 5))
    });
    (TypedClient::namespaced(limits(client.into()), "default"), seen)
}

#[tokio::test(start_paused = true)]
async fn the_clients_timeout_can_be_changed_removed_and_overridden() {
    let (client, _log) = in_process(|_: Received| Answer::Silence);
    let rest = RestClient::from(client);
    let elapsed = async |client: RestClient, own: Option<u64>| {
        let client = TypedClient::<ConfigMap>::namespaced(client, "default");
        let begin = Instant::now();
        let request = client.get("a");
        let request = match own {
            Some(seconds) => request.timeout(Duration::from_secs(seconds)),
            None => request,
        };
        let _ = tokio::time::timeout(Duration::from_secs(86_400), request.into_future()).await;
        begin.elapsed().as_secs()
    };
    assert_eq!(elapsed(rest.clone().timeout(Duration::from_secs(5)), None).await, 5);
    assert_eq!(elapsed(rest.clone().timeout(Duration::from_secs(5)), Some(9)).await, 9);
    assert_eq!(elapsed(rest.clone().no_timeout(), None).await, 86_400);
    assert_eq!(elapsed(rest.clone().no_timeout(), Some(9)).await, 9);
    assert_eq!(elapsed(rest, Some(u64::MAX)).await, 86_400);
}

#[tokio::test(start_paused = true)]
async fn the_timeout_covers_a_body_that_does_not_end() {
    let (client, _log) = in_process(|_: Received| {
        let (writer, answer) = Answer::stream();
        writer.raw("{\"metadata\":");
        writer.leave_open();
        answer
    });
    let begin = Instant::now();
    assert!(TypedClient::<ConfigMap>::cluster(client).get("a").await.unwrap_err().is_timeout());
    assert_eq!(begin.elapsed(), Duration::from_secs(60));
}

#[tokio::test]
async fn the_timeout_covers_retries_even_if_the_server_asks_to_wait_for_a_day() {
    let server = ScriptedServer::start(|_: Received| {
        Answer::status(429, "TooManyRequests", "slow down").header("retry-after", 86_400)
    })
    .await;
    let client = TypedClient::<ConfigMap>::namespaced(server.client(), "default");
    assert!(client.get("a").timeout(Duration::from_millis(200)).await.unwrap_err().is_timeout());
}

#[tokio::test(start_paused = true)]
async fn a_burst_is_sent_at_once_and_what_follows_at_the_rate() {
    let (client, seen) = timed(|client| client.rate_limit(10.0, 5));
    let begin = Instant::now();
    // 100 tasks at once, on clones that share the limit.
    let tasks: Vec<_> = (0..100)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.get("a").await.map(drop) })
        })
        .collect();
    assert!(join_all(tasks).await.into_iter().all(|outcome| outcome.unwrap().is_ok()));
    let seen = seen.lock();
    let at = |number: usize| (seen[number] - begin).as_millis();
    assert_eq!((at(0), at(4), at(5), at(6), at(99)), (0, 0, 100, 200, 9500));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_be_sent_within_its_timeout_fails_at_once() {
    let (client, seen) = timed(|client| client.rate_limit(0.1, 1).timeout(Duration::from_secs(5)));
    client.get("a").await.unwrap();
    let begin = Instant::now();
    let error = client.get("a").await.unwrap_err();
    assert!(matches!(error.cause(), Cause::RateLimited { wait, timeout }
        if (wait.as_secs(), timeout.as_secs()) == (10, 5)));
    assert!(!error.is_timeout());
    assert_eq!(
        error.to_string(),
        "cannot get ConfigMap default/a: not sent: the client's rate limit would delay it by 10.0s, longer \
         than its timeout of 5s; raise `RestClient::rate_limit`, or make fewer requests at a time"
    );
    assert_eq!((begin.elapsed(), seen.lock().len()), (Duration::ZERO, 1));
    client.get("a").timeout(Duration::from_secs(10)).await.unwrap();
    assert_eq!(begin.elapsed(), Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn the_timeout_starts_when_the_request_is_sent() {
    let (client, _log) = in_process(|_: Received| Answer::Silence);
    let client = RestClient::from(client).rate_limit(0.1, 1).timeout(Duration::from_secs(15));
    let client = TypedClient::<ConfigMap>::namespaced(client, "default");
    let begin = Instant::now();
    let (first, second) = tokio::join!(client.get("a").into_future(), client.get("a").into_future());
    assert!(first.unwrap_err().is_timeout() && second.unwrap_err().is_timeout());
    assert_eq!(begin.elapsed(), Duration::from_secs(25));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_request_leaves_the_queue() {
    let (client, seen) = timed(|client| client.rate_limit(1.0, 1).timeout(Duration::from_secs(3)));
    let begin = Instant::now();
    client.get("a").await.unwrap();
    let mut requests: Vec<_> = (0..99).map(|_| client.get("a").into_future()).collect();
    // Three wait, and the others are refused.
    let refused = requests.iter_mut().filter_map(|request| request.now_or_never()).filter(Result::is_err);
    assert_eq!(refused.count(), 96);
    drop(requests);
    for _ in 0..3 {
        client.get("a").await.unwrap();
    }
    let seconds: Vec<_> = seen.lock().iter().map(|at| (*at - begin).as_secs()).collect();
    assert_eq!(seconds, [0, 1, 2, 3]);
}

/// Callers who write for 20 virtual seconds at 50 requests a second and a timeout of a second, with `update` or
/// with `update_with`. Returns the number of writes that succeeded, and of requests that the server received.
async fn writes_of(callers: usize, reads_first: bool) -> (usize, usize) {
    let (client, log) = in_process(|_: Received| {
        let (writer, answer) = Answer::stream();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            writer.raw(config_map("a", 5).to_string());
        });
        answer
    });
    let client = RestClient::from(client).rate_limit(50.0, 1).timeout(Duration::from_secs(1));
    let client = TypedClient::<ConfigMap>::namespaced(client, "default");
    let end = Instant::now() + Duration::from_secs(20);
    let paint = |object: &mut ConfigMap| {
        object.data.get_or_insert_default().insert("colour".to_owned(), "green".to_owned());
    };
    let callers = (0..callers).map(|_| async {
        let mut written = 0;
        while Instant::now() < end {
            let outcome = match reads_first {
                true => client.update_with("a", paint).await,
                false => client.update(&object("a")).await,
            };
            match outcome {
                Ok(_) => written += 1,
                Err(error) => {
                    assert!(matches!(error.cause(), Cause::RateLimited { .. }), "{error}");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
        written
    });
    (join_all(callers).await.into_iter().sum(), log.len())
}

#[tokio::test(start_paused = true)]
async fn throughput_stays_at_the_rate_limit_however_many_callers_wait_for_it() {
    for callers in [40, 60, 200] {
        let (written, received) = writes_of(callers, false).await;
        assert_eq!(written, received, "a write of {callers} callers was sent and given up");
        assert!((980..=1060).contains(&written), "{callers} callers: {written}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_update_of_two_requests_does_not_time_out_while_it_waits_for_the_rate_limit() {
    for callers in [20, 60, 200] {
        let (written, received) = writes_of(callers, true).await;
        assert!((980..=1210).contains(&received), "{callers} callers: {received}");
        assert_eq!(written * 2, received, "no read of {callers} callers was in vain");
    }
}

#[tokio::test(start_paused = true)]
async fn opening_a_watch_waits_for_the_rate_limit_and_an_invalid_request_does_not() {
    let (client, log) = in_process(|_: Received| Answer::watch([bookmark(10)]));
    let rest = RestClient::from(client).rate_limit(0.1, 1);
    let client = TypedClient::<ConfigMap>::namespaced(rest.clone(), "default");
    let begin = Instant::now();
    for _ in 0..3 {
        client.watch(&ListParams::default().at("5")).next().await.unwrap().unwrap();
    }
    assert_eq!((begin.elapsed(), log.len()), (Duration::from_secs(20), 3));
    assert!(client.get("..").await.unwrap_err().is_invalid_request());
    assert_eq!(begin.elapsed(), Duration::from_secs(20));
}

#[tokio::test(start_paused = true)]
async fn a_rate_that_is_not_positive_is_no_limit_and_a_burst_of_zero_is_one() {
    for qps in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let (client, seen) = timed(|client| client.rate_limit(1.0, 1).rate_limit(qps, 1));
        let begin = Instant::now();
        for _ in 0..10 {
            client.get("a").await.unwrap();
        }
        assert_eq!((begin.elapsed(), seen.lock().len()), (Duration::ZERO, 10), "{qps}");
    }
    let (client, _) = timed(|client| client.rate_limit(1.0, 0));
    let begin = Instant::now();
    for _ in 0..3 {
        client.get("a").await.unwrap();
    }
    assert_eq!(begin.elapsed(), Duration::from_secs(2));
    let (client, _) = timed(|client| client.rate_limit(f64::MIN_POSITIVE, 1));
    client.get("a").await.unwrap();
    let error = client.get("a").await.unwrap_err();
    assert!(matches!(error.cause(), Cause::RateLimited { .. }), "{error}");
}

#[tokio::test]
async fn writes_that_name_no_field_manager_have_the_clients() {
    let (client, log) = in_process(|_: Received| Answer::json(config_map("a", 5)));
    let client =
        TypedClient::<ConfigMap>::namespaced(RestClient::from(client).field_manager("me"), "default");
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let patch = Patch::merge(&json!({}));
    client.create(&object("a")).await.unwrap();
    client.update(&object("a")).await.unwrap();
    client.patch("a", &patch).await.unwrap();
    client.update_subresource::<_, ConfigMap>("a", "scale", &object("a")).await.unwrap();
    let managers = |log: &Log| -> Vec<_> {
        log.all().iter().map(|request| request.query("fieldManager").map(str::to_owned)).collect()
    };
    assert_eq!(managers(&log), vec![Some("me".to_owned()); 4]);
    client.patch("a", &patch).field_manager("you").await.unwrap();
    client.apply_untyped(&config).field_manager("you").await.unwrap();
    client.get("a").await.unwrap();
    assert_eq!(managers(&log)[4..], [Some("you".to_owned()), Some("you".to_owned()), None]);
}
