//! Full queues, silent servers and spam.

use super::{
    super::{queue::CAPACITY, spam},
    *,
};

#[tokio::test(start_paused = true)]
async fn a_full_queue_drops_its_oldest_event() {
    let (server, recorder, metrics) = Server::start([]);
    for n in 0..CAPACITY + 10 {
        recorder.normal(&object(&n.to_string()), "Synced", n);
    }
    assert_eq!(dropped(&metrics), [10, 0, 0, 0]);
    assert_eq!(recorder.flush(SECOND).await, 0);
    let expected: Vec<_> = (10..CAPACITY + 10).map(|n| n.to_string()).collect();
    assert_eq!(server.notes(), expected);
}

#[tokio::test(start_paused = true)]
async fn flush_counts_the_event_that_is_being_sent_while_others_are_dropped() {
    let (server, recorder, metrics) = Server::start([Answer::After(9 * SECOND)]);
    recorder.normal(&object("first"), "Synced", "first");
    sleep(SECOND).await;
    let start = Instant::now();
    let (left, ()) = tokio::join!(recorder.flush(MINUTE), async {
        sleep(SECOND).await;
        for n in 0..3 * CAPACITY {
            recorder.normal(&object(&n.to_string()), "Synced", n);
        }
    });
    assert_eq!((left, start.elapsed()), (0, 8 * SECOND));
    assert_eq!(dropped(&metrics), [2 * CAPACITY as u64, 0, 0, 0]);
    assert_eq!(server.notes()[0], "first");
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_at_a_silent_server_is_empty_within_minutes() {
    for silence in [Answer::Hang, Answer::Cut, Answer::Status(503)] {
        let (server, recorder, metrics) = Server::start([]);
        server.always(silence);
        for n in 0..CAPACITY {
            recorder.normal(&object(&n.to_string()), "Synced", n);
        }
        assert_eq!(recorder.flush(5 * MINUTE + 10 * SECOND).await, 0, "{silence:?}");
        let [_, _, expired, failed] = dropped(&metrics);
        assert_eq!((sent(&metrics), expired + failed), (0, CAPACITY as u64));

        server.always(Answer::Regular);
        recorder.normal(&object("a"), "Synced", "back again");
        assert_eq!(recorder.flush(SECOND).await, 0);
        assert_eq!(server.notes(), ["back again"]);
    }
}

#[tokio::test(start_paused = true)]
async fn the_queue_outlasts_a_short_silence() {
    let (server, recorder, metrics) = Server::start([]);
    server.always(Answer::Hang);
    for n in 0..100 {
        recorder.normal(&object(&n.to_string()), "Synced", n);
    }
    sleep(2 * MINUTE).await;
    server.always(Answer::Regular);
    assert_eq!(recorder.flush(MINUTE).await, 0);
    let [.., failed] = dropped(&metrics);
    assert_eq!(sent(&metrics) + failed, 100);
    assert!(failed <= 3, "{failed} events were lost");
}

#[tokio::test(start_paused = true)]
async fn one_object_and_reason_cannot_flood_the_server() {
    let (_server, recorder, metrics) = Server::start([]);
    let record = |count: usize, name: &str, reason: &str| {
        (0..count).for_each(|n| recorder.normal(&object(name), reason, n));
    };
    record(100, "a", "Synced");
    assert_eq!(dropped(&metrics), [0, 75, 0, 0]);
    record(25, "a", "Other");
    record(25, "b", "Synced");
    assert_eq!(dropped(&metrics), [0, 75, 0, 0], "others have their own buckets");
    sleep(spam::BUCKET.interval * 2).await;
    record(3, "a", "Synced");
    assert_eq!(dropped(&metrics), [0, 76, 0, 0], "the bucket gained two tokens");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn recording_never_blocks_and_never_fails_under_contention() {
    let (server, metrics) = (Server::default(), TestRecorder::default());
    server.always(Answer::Hang);
    let recorder = metrics.observe(|| {
        EventRecorder::new(server.client(), Reporter { controller: "tester".into(), instance: None })
    });
    let callers: Vec<_> = (0..4)
        .map(|caller| {
            let recorder = recorder.clone();
            tokio::spawn(async move {
                for n in 0..2000 {
                    recorder.normal(&object(&format!("{caller}-{n}")), "Synced", n);
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
    let left = recorder.flush(Duration::from_millis(1)).await;
    let [full, spam, expired, failed] = dropped(&metrics);
    assert_eq!((left + full, spam, expired, failed), (8000, 0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn every_dropped_event_is_counted() {
    let (server, recorder, metrics) = Server::start([Answer::Status(403)]);
    recorder.normal(&object("a"), "Synced", "refused");
    recorder.flush(SECOND).await;
    server.always(Answer::Hang);
    for n in 0..30 {
        recorder.normal(&object("b"), "Synced", n);
    }
    for n in 0..CAPACITY {
        recorder.normal(&object(&n.to_string()), "Synced", n);
    }
    sleep(10 * MINUTE).await;
    let [full, spam, expired, failed] = dropped(&metrics);
    assert_eq!((full, spam, sent(&metrics)), (25, 5, 0));
    assert_eq!(full + spam + expired + failed, 1 + 30 + CAPACITY as u64);
    assert!(expired > failed, "most of them expired");
}

#[tokio::test(start_paused = true)]
async fn a_slow_server_gets_events_that_are_at_most_five_minutes_old() {
    let (server, recorder, metrics) = Server::start([]);
    server.always(Answer::After(9 * SECOND));
    for n in 0..CAPACITY {
        recorder.normal(&object(&n.to_string()), "Synced", n);
    }
    sleep(5 * MINUTE).await;
    recorder.normal(&object("new"), "Synced", "new");
    let start = Instant::now();
    assert_eq!(recorder.flush(MINUTE).await, 0);
    assert!(start.elapsed() < 20 * SECOND, "a new event does not wait for the old ones");
    assert_eq!(server.notes().last().unwrap(), "new");
    assert_eq!(dropped(&metrics)[2], CAPACITY as u64 - 33, "33 events were sent in five minutes");
}
