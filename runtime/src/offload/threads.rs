//! A few threads for work that only computes.
//!
//! A runtime wakes the blocking thread that has been idle for the longest time, so work that comes piece by piece
//! visits all of its threads in turn. Most allocators give each thread memory of its own, and what one thread
//! allocated and freed is not used by the next. Here no more threads than processors do all the work, and the
//! one that became idle last gets the next piece.

use std::{
    collections::VecDeque,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{LazyLock, mpsc},
    thread::{self, ThreadId, available_parallelism},
    time::Duration,
};

use parking_lot::Mutex;

/// The number of processors that the program may use.
pub(crate) static PROCESSORS: LazyLock<usize> =
    LazyLock::new(|| available_parallelism().map_or(1, usize::from));

/// The threads of the whole program.
pub(super) static THREADS: Threads = Threads::new(Duration::from_secs(10));

pub(super) type Work = Box<dyn FnOnce() + Send>;

/// Threads that are started when they are needed, and end when they are not.
pub(super) struct Threads {
    /// How long a thread waits for work before it ends.
    patience: Duration,
    pool: Mutex<Pool>,
}

struct Pool {
    /// The number of threads.
    threads: usize,
    /// The threads that wait for work, in the order in which they began to.
    idle: Vec<Idle>,
    /// The work that waits for a thread.
    queue: VecDeque<Work>,
}

/// A thread that waits for work.
struct Idle {
    thread: ThreadId,
    give: mpsc::SyncSender<Work>,
}

impl Threads {
    const fn new(patience: Duration) -> Self {
        let pool = Pool { threads: 0, idle: Vec::new(), queue: VecDeque::new() };
        Self { patience, pool: Mutex::new(pool) }
    }

    /// Does work on one of the threads. Drops it if there is none and the operating system has none to give.
    pub(super) fn run(&'static self, work: Work) {
        let mut pool = self.pool.lock();
        if let Some(idle) = pool.idle.pop() {
            drop(pool);
            // A thread that was in the list waits until it is given work, so this does not fail.
            let _ = idle.give.try_send(work);
        } else if pool.threads < *PROCESSORS {
            pool.threads += 1;
            drop(pool);
            let thread = thread::Builder::new().name("genclient-compute".to_owned());
            if thread.spawn(move || self.attend(work)).is_err() {
                drop(self.give_up());
            }
        } else {
            pool.queue.push_back(work);
        }
    }

    /// Counts one thread less. Returns the work that no thread is left for.
    fn give_up(&self) -> VecDeque<Work> {
        let mut pool = self.pool.lock();
        pool.threads -= 1;
        if pool.threads == 0 { mem::take(&mut pool.queue) } else { VecDeque::new() }
    }

    /// Does work until there has been none for a while.
    fn attend(&self, mut work: Work) {
        let (give, given) = mpsc::sync_channel(1);
        let thread = thread::current().id();
        loop {
            // A panic is sent to whoever awaits the result. If nobody does, dropping the result can still panic.
            let _ = catch_unwind(AssertUnwindSafe(work));
            let next = self.next_or_idle(Idle { thread, give: give.clone() });
            let next = next
                .or_else(|| given.recv_timeout(self.patience).ok())
                // A thread that is no longer in the list was chosen, and its work is on the way.
                .or_else(|| if self.leave(thread) { None } else { given.recv().ok() });
            match next {
                Some(next) => work = next,
                None => return,
            }
        }
    }

    /// Returns the next work, or adds the thread to those that wait for it.
    fn next_or_idle(&self, idle: Idle) -> Option<Work> {
        let mut pool = self.pool.lock();
        let next = pool.queue.pop_front();
        if next.is_none() {
            pool.idle.push(idle);
        }
        next
    }

    /// Ends the wait of a thread, unless it was chosen for work.
    fn leave(&self, thread: ThreadId) -> bool {
        let mut pool = self.pool.lock();
        let position = pool.idle.iter().position(|idle| idle.thread == thread);
        if let Some(position) = position {
            pool.idle.remove(position);
            pool.threads -= 1;
        }
        position.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::HashSet,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        time::Instant,
    };

    use super::*;

    fn threads(patience: Duration) -> &'static Threads {
        Box::leak(Box::new(Threads::new(patience)))
    }

    fn wait_until(condition: impl Fn() -> bool) {
        let began = Instant::now();
        while !condition() {
            assert!(began.elapsed() < Duration::from_secs(60), "it never came true");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// The thread that does some work.
    fn thread_of_work(threads: &'static Threads) -> ThreadId {
        let (send, result) = mpsc::channel();
        threads.run(Box::new(move || send.send(thread::current().id()).unwrap()));
        result.recv().unwrap()
    }

    #[test]
    fn the_thread_that_became_idle_last_gets_the_next_work() {
        let threads = threads(Duration::from_secs(60));
        let used = |_| {
            let thread = thread_of_work(threads);
            wait_until(|| threads.pool.lock().idle.iter().any(|idle| idle.thread == thread));
            thread
        };
        assert_eq!((0..100).map(used).collect::<HashSet<_>>().len(), 1);
    }

    #[test]
    fn there_are_never_more_threads_than_processors_and_all_work_is_done() {
        let threads = threads(Duration::from_secs(60));
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (send, results) = mpsc::channel();
        for number in 0..10 * *PROCESSORS {
            let (running, most, send) = (running.clone(), most.clone(), send.clone());
            threads.run(Box::new(move || {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                thread::sleep(Duration::from_millis(2));
                running.fetch_sub(1, Ordering::SeqCst);
                send.send(number).unwrap();
            }));
        }
        drop(send);
        assert_eq!(results.iter().collect::<HashSet<_>>().len(), 10 * *PROCESSORS);
        assert_eq!(most.load(Ordering::SeqCst), *PROCESSORS);
    }

    #[test]
    fn work_that_waits_for_a_thread_that_cannot_be_started_is_dropped() {
        let threads = threads(Duration::from_secs(60));
        // Every processor has a thread that is just being started, and none of them can be.
        threads.pool.lock().threads = *PROCESSORS;
        let (send, results) = mpsc::channel::<()>();
        threads.run(Box::new(move || drop(send)));
        for left in (0..*PROCESSORS).rev() {
            assert_eq!(threads.give_up().len(), usize::from(left == 0));
        }
        assert!(results.recv().is_err(), "whoever waits for its result is told");
        thread_of_work(threads);
    }

    #[test]
    fn work_that_panics_costs_no_thread() {
        let threads = threads(Duration::from_secs(60));
        for _ in 0..10 * *PROCESSORS {
            threads.run(Box::new(|| panic!("too bad")));
        }
        thread_of_work(threads);
        assert!(threads.pool.lock().threads <= *PROCESSORS);
    }

    #[test]
    fn idle_threads_end_and_work_that_comes_meanwhile_is_not_lost() {
        let threads = threads(Duration::from_micros(50));
        for round in 0..2_000 {
            thread_of_work(threads);
            // Every wait ends at about the time when the next work comes.
            thread::sleep(Duration::from_micros(round % 100));
        }
        wait_until(|| threads.pool.lock().threads == 0);
        assert!(threads.pool.lock().idle.is_empty());
    }
}
