//! Runs long work on other threads: on the runtime's blocking threads if it may block, and on a few threads of
//! our own if it only computes.
//!
//! - Work that no thread has started within [`PATIENCE`] is taken back, and done in another way: a program
//!   whose threads are all busy becomes slower, but does not stop.
//! - A panic of the work is raised where its result is awaited.
//! - Work can notice that its result is no longer awaited, and stop early.

mod threads;

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, Weak},
    thread,
};

use parking_lot::Mutex;
pub(crate) use threads::PROCESSORS;
use threads::{THREADS, Work};
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::oneshot,
    time::{Duration, Instant, sleep_until},
};

/// How long work waits for a thread. A thread that is free begins within microseconds.
pub(crate) const PATIENCE: Duration = Duration::from_millis(20);

/// Work that was handed to another thread, with its input `I` and its result `T`.
pub(crate) struct Offloaded<I, T> {
    /// The input, until a thread takes it.
    input: Arc<Mutex<Option<I>>>,
    /// `None` if the input was taken back.
    result: Option<oneshot::Receiver<thread::Result<T>>>,
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
    /// Hands work that may block to a blocking thread.
    pub(crate) fn new(input: I, work: impl FnOnce(I, &Awaited) -> T + Send + 'static) -> Self {
        Self::on(input, work, |work| {
            // Tokio panics where it cannot start the first thread of the pool.
            drop(catch_unwind(AssertUnwindSafe(|| tokio::task::spawn_blocking(work))));
        })
    }

    /// Hands work that computes to one of [our own threads](threads).
    ///
    /// On a runtime with one thread it is a blocking thread. Only such a runtime can have a paused clock, which
    /// stands still while a blocking thread works.
    pub(crate) fn computing(input: I, work: impl FnOnce(I, &Awaited) -> T + Send + 'static) -> Self {
        let runtime = Handle::current();
        if runtime.runtime_flavor() == RuntimeFlavor::CurrentThread {
            return Self::new(input, work);
        }
        Self::on(input, work, |work| {
            THREADS.run(Box::new(move || {
                let _entered = runtime.enter();
                work();
            }));
        })
    }

    fn on(input: I, work: impl FnOnce(I, &Awaited) -> T + Send + 'static, run: impl FnOnce(Work)) -> Self {
        let (input, awaited) = (Arc::new(Mutex::new(Some(input))), Arc::new(()));
        let (taken, watched) = (input.clone(), Awaited(Some(Arc::downgrade(&awaited))));
        let (send, result) = oneshot::channel();
        run(Box::new(move || do_once(&taken, |input| work(input, &watched), send)));
        Self { input, result: Some(result), take_back_at: Instant::now() + PATIENCE, _awaited: awaited }
    }

    /// Waits for the result, or gives the input back if no thread takes it in time. After that it
    /// never resolves again.
    ///
    /// Dropping the future loses nothing: the next call continues to wait.
    pub(crate) async fn join(&mut self) -> Result<T, I> {
        let Some(result) = &mut self.result else { return std::future::pending().await };
        let received = tokio::select! {
            biased;
            received = &mut *result => received,
            () = sleep_until(self.take_back_at) => {
                // Looking and taking are one step, or a thread could take the input in between.
                let input = self.input.lock().take();
                match input {
                    Some(input) => {
                        self.result = None;
                        return Err(input);
                    }
                    None => result.await,
                }
            }
        };
        self.result = None;
        match received {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(panic)) => resume_unwind(panic),
            // There is no thread to be had, or the runtime shuts down.
            Err(_) => {
                let input = self.input.lock().take();
                match input {
                    Some(input) => Err(input),
                    None => std::future::pending().await,
                }
            }
        }
    }
}

/// Takes the input, unless it was taken back, and sends the result or the panic of the work. Nobody may await
/// it any more.
fn do_once<I, T>(
    input: &Mutex<Option<I>>,
    work: impl FnOnce(I) -> T,
    result: oneshot::Sender<thread::Result<T>>,
) {
    let input = input.lock().take();
    if let Some(input) = input {
        let _ = result.send(catch_unwind(AssertUnwindSafe(|| work(input))));
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
        do_once(&taken, work, send);
    };
    let thread = thread::Builder::new().name("genclient-work".to_owned()).spawn(job);
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

    /// The name of the thread that computes, and whether it belongs to a runtime.
    async fn computing_thread() -> (Option<String>, bool) {
        let mut offloaded = Offloaded::computing((), |(), _: &Awaited| {
            (thread::current().name().map(str::to_owned), Handle::try_current().is_ok())
        });
        offloaded.join().await.unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn work_that_computes_has_threads_of_its_own_within_the_runtime() {
        assert_eq!(computing_thread().await, (Some("genclient-compute".to_owned()), true));
    }

    #[tokio::test(start_paused = true)]
    async fn a_paused_clock_stands_still_while_work_computes() {
        let before = Instant::now();
        let mut offloaded =
            Offloaded::computing((), |(), _: &Awaited| thread::sleep(Duration::from_millis(100)));
        // Time that passes on its own passes in steps of this length.
        let step = Duration::from_secs(1);
        tokio::select! {
            biased;
            joined = offloaded.join() => joined.unwrap(),
            () = tokio::time::sleep(step) => panic!("the clock went on"),
        }
        assert!(before.elapsed() < step);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_panic_of_work_that_computes_is_raised_where_it_is_awaited() {
        let joined = tokio::spawn(async {
            Offloaded::computing((), |(), _: &Awaited| -> () { panic!("too bad") }).join().await
        });
        assert_eq!(crate::panics::message(&*joined.await.unwrap_err().into_panic()), "too bad");
        assert!(computing_thread().await.1, "the next work is done");
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
