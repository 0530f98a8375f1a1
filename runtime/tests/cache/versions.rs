//! The resource version of the cache, and waiting for it.

use std::time::Duration;

use genclient_runtime::{
    informer::CatchUpError,
    reflector::{Delta, Scope},
};

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn the_version_of_the_store_follows_lists_updates_deletes_invalid_objects_and_bookmarks() {
    let (informer, feed) = running();
    assert_eq!(informer.resource_version(), None);
    for (delta, version) in [
        (list(10, vec![item("a", 1, 3)]), 10),
        (Delta::Upsert(item("a", 1, 11)), 11),
        (Delta::Delete(item("a", 1, 12)), 12),
        (Delta::Invalid(invalid("b", "b-1", 13)), 13),
        (Delta::DeleteInvalid(invalid("b", "b-1", 14)), 14),
        (bookmark(100), 100),
        (list(101, vec![]), 101),
    ] {
        feed.send([delta]).await;
        reached(&informer, version).await;
        assert_eq!(informer.resource_version(), Some(version.to_string()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_is_visible_after_the_cache_has_caught_up_to_it() {
    let (informer, feed) = running();
    feed.send([list(1, vec![])]).await;
    let written = item("a", 1, 5);
    let waiting = tokio::spawn({
        let (informer, written) = (informer.clone(), written.clone());
        async move {
            informer.caught_up_to(&written, LONG).await.map(|()| informer.store().get(&key("a")).is_some())
        }
    });
    quiet().await;
    assert!(!waiting.is_finished());
    feed.send([Delta::Upsert(written)]).await;
    assert_eq!(waiting.await.expect("no panic"), Ok(true));
}

#[tokio::test(start_paused = true)]
async fn catching_up_too_late_is_an_error_with_the_version_of_the_cache() {
    let (informer, feed) = running();
    let deadline = Duration::from_secs(3);
    assert_eq!(
        informer.caught_up_to_version("5", deadline).await,
        Err(CatchUpError::Deadline { wanted: "5".to_owned(), reached: None }),
    );
    feed.send([list(4, vec![])]).await;
    assert_eq!(
        informer.caught_up_to_version("5", deadline).await,
        Err(CatchUpError::Deadline { wanted: "5".to_owned(), reached: Some("4".to_owned()) }),
    );
}

#[tokio::test(start_paused = true)]
async fn catching_up_to_a_version_that_cannot_be_ordered_is_an_error() {
    let (informer, _feed) = running();
    for odd in ["0", "", "x", "007"] {
        assert_eq!(
            informer.caught_up_to_version(odd, LONG).await,
            Err(CatchUpError::Malformed(odd.to_owned())),
        );
    }
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_version_ends_with_the_informer() {
    let (informer, _feed) = running();
    let waiting = tokio::spawn({
        let informer = informer.clone();
        async move { informer.caught_up_to_version("5", LONG).await }
    });
    quiet().await;
    informer.stop();
    assert_eq!(waiting.await.expect("no panic"), Err(CatchUpError::Stopped { wanted: "5".to_owned() }));
}

#[tokio::test(start_paused = true)]
async fn each_namespace_of_an_informer_catches_up_independently() {
    let scope = |namespace: &str| Scope::Namespace(namespace.into());
    let informer = idle(vec![scope("x"), scope("y")]);
    let feed = run(&informer);
    feed.send([list_of(scope("x"), 9, vec![]), list_of(scope("y"), 3, vec![])]).await;
    assert!(informer.wait_for_sync().await);
    assert_eq!(informer.caught_up_to(&item_in("x", "a", 1, 9), LONG).await, Ok(()));
    assert!(matches!(
        informer.caught_up_to(&item_in("y", "a", 1, 9), Duration::ZERO).await,
        Err(CatchUpError::Deadline { .. }),
    ));
    assert!(matches!(
        informer.caught_up_to_version("9", Duration::ZERO).await,
        Err(CatchUpError::Deadline { .. })
    ));
    assert_eq!(
        informer.caught_up_to(&item_in("z", "a", 1, 9), LONG).await,
        Err(CatchUpError::NotFollowed("z".to_owned())),
    );
}
