//! Runs long work on the runtime's blocking threads.

use std::{panic::resume_unwind, sync::Arc};

use parking_lot::Mutex;
use tokio::task::{JoinError, spawn_blocking};

use crate::panics;

/// Runs work on a blocking thread, and raises its panic where the result is awaited.
///
/// Dropping the future drops the work if no thread has begun it, and does not stop it otherwise.
pub(crate) async fn offload<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let queued = Queued(Arc::new(Mutex::new(Some(work))));
    let work = queued.0.clone();
    let job = spawn_blocking(move || {
        let work = work.lock().take();
        work.map(|work| work())
    });
    match job.await.map_err(JoinError::try_into_panic) {
        Ok(Some(result)) => result,
        Err(Ok(panic)) => resume_unwind(panic),
        // The runtime shuts down, and drops this future too.
        Ok(None) | Err(Err(_)) => std::future::pending().await,
    }
}

/// Work that waits for a thread.
struct Queued<F>(Arc<Mutex<Option<F>>>);

impl<F> Drop for Queued<F> {
    fn drop(&mut self) {
        let work = self.0.lock().take();
        panics::drop_caught(work);
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Barrier, time::Duration};

    use super::*;

    #[tokio::test]
    async fn work_is_done_on_another_thread_and_its_panic_is_raised_where_it_is_awaited() {
        let here = std::thread::current().id();
        assert_ne!(offload(|| std::thread::current().id()).await, here);
        let joined = tokio::spawn(offload(|| -> () { panic!("too bad") })).await;
        assert_eq!(panics::message(&*joined.unwrap_err().into_panic()), "too bad");
    }

    #[test]
    fn work_that_no_thread_has_begun_is_dropped_with_its_future() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        let release = Arc::new(Barrier::new(2));
        let blocked = release.clone();
        runtime.spawn_blocking(move || blocked.wait());
        let held = Arc::new(());
        let holds = held.clone();
        runtime.block_on(async {
            let work = offload(move || drop(holds));
            assert!(tokio::time::timeout(Duration::from_millis(10), work).await.is_err());
        });
        assert_eq!(Arc::strong_count(&held), 1);
        release.wait();
    }
}
