//! Runs long work on the runtime's blocking threads.

use std::panic::resume_unwind;

/// Runs work on a blocking thread, and raises its panic where the result is awaited.
///
/// Dropping the future does not stop work that has begun.
pub(crate) async fn offload<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await.map_err(tokio::task::JoinError::try_into_panic) {
        Ok(result) => result,
        Err(Ok(panic)) => resume_unwind(panic),
        // The runtime shuts down, and drops this future too.
        Err(Err(_)) => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_is_done_on_another_thread_and_its_panic_is_raised_where_it_is_awaited() {
        let here = std::thread::current().id();
        assert_ne!(offload(|| std::thread::current().id()).await, here);
        let joined = tokio::spawn(offload(|| -> () { panic!("too bad") })).await;
        assert_eq!(crate::panics::message(&*joined.unwrap_err().into_panic()), "too bad");
    }
}
