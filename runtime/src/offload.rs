//! Runs long work on the runtime's blocking threads.
//!
//! - Work that no blocking thread has started within [`PATIENCE`] is taken back, and done in another way:
//!   a program whose blocking threads are all busy becomes slower, but does not stop.
//! - A panic of the work is raised where its result is awaited.
//! - Work can notice that its result is no longer awaited, and stop early.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use tokio::{
    runtime::Handle,
    sync::oneshot,
    task::JoinHandle,
    time::{Duration, Instant, sleep_until},
};

/// How long work waits for a thread. A thread that is free begins within microseconds.
pub(crate) const PATIENCE: Duration = Duration::from_millis(20);

/// Work that was handed to a blocking thread, with its input `I` and its result `T`.
pub(crate) struct Offloaded<I, T> {
    /// The input, until a thread takes it.
    input: Arc<Mutex<Option<I>>>,
    /// `None` if the operating system has no thread to give.
    thread: Option<JoinHandle<Option<T>>>,
    take_back_at: Instant,
    /// Lets the work check whether its result is still awaited.
    _awaited: Arc<()>,
}

/// Whether the result of some work is still awaited.
#[derive(Clone)]
pub(crate) struct Awaited(Option<Weak<()>>);

impl Awaited {
    /// For work that is done where it is awaited.
    pub(crate) const HERE: Self = Self(None);

    pub(crate) fn holds(&self) -> bool {
        self.0.as_ref().is_none_or(|awaited| awaited.strong_count() > 0)
    }
}

impl<I: Send + 'static, T: Send + 'static> Offloaded<I, T> {
    /// Hands work to a blocking thread.
    pub(crate) fn new(input: I, work: impl FnOnce(I, &Awaited) -> T + Send + 'static) -> Self {
        let (input, awaited) = (Arc::new(Mutex::new(Some(input))), Arc::new(()));
        let (taken, watched) = (input.clone(), Awaited(Some(Arc::downgrade(&awaited))));
        let job = move || {
            let input = taken.lock().take();
            input.map(|input| work(input, &watched))
        };
        // Tokio panics where it cannot start the first thread of the pool.
        let thread = catch_unwind(AssertUnwindSafe(|| tokio::task::spawn_blocking(job))).ok();
        Self { input, thread, take_back_at: Instant::now() + PATIENCE, _awaited: awaited }
    }

    /// Waits for the result, or gives the input back if no thread takes it in time. After that it
    /// never resolves again.
    ///
    /// Dropping the future loses nothing: the next call continues to wait.
    pub(crate) async fn join(&mut self) -> Result<T, I> {
        if let Some(thread) = &mut self.thread {
            let result = tokio::select! {
                biased;
                result = &mut *thread => result,
                () = sleep_until(self.take_back_at) => {
                    // Looking and taking are one step, or a thread could take the input in between.
                    let input = self.input.lock().take();
                    match input {
                        Some(input) => {
                            self.thread = None;
                            return Err(input);
                        }
                        None => thread.await,
                    }
                }
            };
            match result {
                Ok(Some(result)) => return Ok(result),
                Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
                // The runtime shuts down and has cancelled the job.
                Ok(None) | Err(_) => {}
            }
        }
        self.thread = None;
        let input = self.input.lock().take();
        match input {
            Some(input) => Err(input),
            None => std::future::pending().await,
        }
    }
}

/// Does work that may block for good on a blocking thread, or on one of its own if none is free in time.
/// Gives the input back if the operating system has no thread to give.
pub(crate) async fn offload<I, T>(input: I, work: fn(I) -> T) -> Result<T, I>
where
    I: Send + 'static,
    T: Send + 'static,
{
    match Offloaded::new(input, move |input, _| work(input)).join().await {
        Ok(result) => Ok(result),
        Err(input) => on_own_thread(input, work).await,
    }
}

async fn on_own_thread<I, T>(input: I, work: fn(I) -> T) -> Result<T, I>
where
    I: Send + 'static,
    T: Send + 'static,
{
    let (input, (send, result)) = (Arc::new(Mutex::new(Some(input))), oneshot::channel());
    let (taken, runtime) = (input.clone(), Handle::current());
    let job = move || {
        let _entered = runtime.enter();
        let input = taken.lock().take();
        if let Some(input) = input {
            // Nobody may await it any more.
            let _ = send.send(catch_unwind(AssertUnwindSafe(|| work(input))));
        }
    };
    let thread = std::thread::Builder::new().name("genclient-work".to_owned()).spawn(job);
    let returned = if thread.is_ok() { None } else { input.lock().take() };
    match returned {
        Some(input) => Err(input),
        None => match result.await {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(panic)) => resume_unwind(panic),
            Err(_) => std::future::pending().await,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    };

    use super::*;

    /// A runtime with one blocking thread, which is taken until the sender is dropped.
    fn exhausted() -> (tokio::runtime::Runtime, mpsc::Sender<()>) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        let (release, blocked) = mpsc::channel::<()>();
        runtime.spawn_blocking(move || blocked.recv());
        (runtime, release)
    }

    #[tokio::test]
    async fn work_is_done_on_another_thread() {
        let here = std::thread::current().id();
        let there = offload((), |()| std::thread::current().id()).await;
        assert!(there.is_ok_and(|there| here != there));
    }

    #[test]
    fn work_that_no_blocking_thread_starts_is_taken_back_and_done_on_a_thread_of_its_own() {
        let (runtime, _release) = exhausted();
        let here = std::thread::current().id();
        let there = runtime.block_on(offload((), |()| std::thread::current().id()));
        assert!(there.is_ok_and(|there| here != there));
    }

    #[test]
    fn work_that_is_taken_back_is_not_done_by_the_thread() {
        let (runtime, release) = exhausted();
        runtime.block_on(async {
            let runs = Arc::new(AtomicUsize::new(0));
            let counted = runs.clone();
            let mut offloaded =
                Offloaded::new(7, move |_: i32, _: &Awaited| counted.fetch_add(1, Ordering::SeqCst));
            assert_eq!(offloaded.join().await, Err(7));
            drop(release);
            // The only thread has looked at the work by the time it does other work.
            tokio::task::spawn_blocking(|| {}).await.unwrap();
            assert_eq!(runs.load(Ordering::SeqCst), 0);
        });
    }

    #[test]
    fn work_that_a_thread_takes_while_it_is_taken_back_is_done_once_and_never_lost() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        for lead in [0, 1, 2] {
            let (release, blocked) = mpsc::channel::<()>();
            runtime.spawn_blocking(move || blocked.recv());
            let all = runtime.block_on(async {
                let jobs: Vec<_> =
                    (0..5_000).map(|job| Offloaded::new(job, |job, _: &Awaited| job)).collect();
                // The only thread begins its way through the jobs when they are about to be taken back.
                std::thread::spawn(move || {
                    std::thread::sleep(PATIENCE - Duration::from_millis(lead));
                    drop(release);
                });
                let joins = jobs.into_iter().map(|mut job| async move {
                    match job.join().await {
                        Ok(job) | Err(job) => job,
                    }
                });
                tokio::time::timeout(Duration::from_secs(60), futures::future::join_all(joins)).await
            });
            assert!(all.is_ok_and(|all| all.into_iter().eq(0..5_000)), "every job has one result");
        }
    }

    #[tokio::test]
    async fn a_panic_of_the_work_is_raised_where_it_is_awaited() {
        let joined = tokio::spawn(async { offload((), |()| -> () { panic!("too bad") }).await }).await;
        assert_eq!(crate::panics::message(&*joined.unwrap_err().into_panic()), "too bad");
    }

    #[test]
    fn work_on_a_thread_of_its_own_needs_no_blocking_thread() {
        let (runtime, _release) = exhausted();
        runtime.block_on(async {
            let here = std::thread::current().id();
            let there = on_own_thread((), |()| (std::thread::current().id(), Handle::try_current().is_ok()));
            assert!(there.await.is_ok_and(|(there, in_runtime)| here != there && in_runtime));
            let joined = tokio::spawn(on_own_thread((), |()| -> () { panic!("too bad") })).await;
            assert_eq!(crate::panics::message(&*joined.unwrap_err().into_panic()), "too bad");
        });
    }

    #[tokio::test]
    async fn work_notices_that_its_result_is_no_longer_awaited() {
        let (begin, began) = mpsc::channel();
        let (end, ended) = tokio::sync::oneshot::channel();
        let offloaded = Offloaded::new((), move |(), awaited: &Awaited| {
            begin.send(awaited.holds()).unwrap();
            while awaited.holds() {
                std::thread::yield_now();
            }
            end.send(()).unwrap();
        });
        assert!(tokio::task::spawn_blocking(move || began.recv().unwrap()).await.unwrap());
        drop(offloaded);
        ended.await.unwrap();
    }
}
