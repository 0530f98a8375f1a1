//! A task that does not wake itself.

use std::{
    future::poll_fn,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    task::{Context, Poll, Wake, Waker},
};

use futures::task::AtomicWaker;

/// How often a future is polled in a turn before other tasks run.
const POLLS: usize = 4;

/// Runs a future, and polls it again at once if one part of it wakes another.
///
/// tokio would put the task that woke itself into its queue, and wake another thread to help with it: two system calls
/// for each event of a watch.
pub(super) async fn in_turns<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let turn = Arc::new(Turn::default());
    let waker = Waker::from(turn.clone());
    poll_fn(move |context| {
        turn.task.register(context.waker());
        for _ in 0..POLLS {
            // The poll sees what happened before a wake-up that is taken here.
            turn.is_woken.swap(false, SeqCst);
            turn.is_polled.store(true, SeqCst);
            let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
            turn.is_polled.store(false, SeqCst);
            if polled.is_ready() || !turn.is_woken.load(SeqCst) {
                return polled;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

#[derive(Default)]
struct Turn {
    task: AtomicWaker,
    is_polled: AtomicBool,
    /// Whether the future was woken while it was polled.
    is_woken: AtomicBool,
}

impl Wake for Turn {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.is_woken.store(true, SeqCst);
        if !self.is_polled.load(SeqCst) {
            self.task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{pin::Pin, sync::atomic::AtomicUsize, time::Duration};

    use tokio::sync::mpsc;

    use super::*;

    /// Counts the wake-ups of a task.
    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    /// Polls a future once, and returns how often its task has been woken so far.
    fn poll(future: Pin<&mut impl Future>, wakes: &Arc<Wakes>) -> usize {
        let waker = Waker::from(wakes.clone());
        assert!(future.poll(&mut Context::from_waker(&waker)).is_pending());
        wakes.0.load(SeqCst)
    }

    #[tokio::test]
    async fn what_one_part_sends_to_another_is_received_in_the_same_turn_and_does_not_wake_the_task() {
        let (sender, mut receiver) = mpsc::channel(1);
        let (outside, mut inside) = mpsc::channel(8);
        let received = AtomicUsize::new(0);
        let receiving = async {
            while let Some(number) = receiver.recv().await {
                received.fetch_add(number, SeqCst);
            }
        };
        let sending = async move {
            while let Some(number) = inside.recv().await {
                sender.send(number).await.unwrap();
            }
        };
        // The receiver is polled first, and has to be polled again.
        let mut both = pin!(in_turns(async { tokio::join!(biased; receiving, sending) }));
        let wakes = Arc::new(Wakes::default());
        assert_eq!(poll(both.as_mut(), &wakes), 0);
        for turn in 1..=3 {
            outside.try_send(1).unwrap();
            assert_eq!(poll(both.as_mut(), &wakes), turn, "only the data from outside woke it");
            assert_eq!(received.load(SeqCst), turn);
        }
    }

    #[tokio::test]
    async fn a_future_that_always_wakes_itself_lets_other_tasks_run() {
        let polls = AtomicUsize::new(0);
        let mut busy = pin!(in_turns(poll_fn(|context| {
            polls.fetch_add(1, SeqCst);
            context.waker().wake_by_ref();
            Poll::<()>::Pending
        })));
        let wakes = Arc::new(Wakes::default());
        assert_eq!(poll(busy.as_mut(), &wakes), 1);
        assert_eq!(polls.load(SeqCst), POLLS);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_wake_up_from_another_thread_is_lost() {
        const MESSAGES: usize = 20_000;
        let (sender, mut receiver) = mpsc::channel(1);
        let sending = tokio::spawn(async move {
            for number in 0..MESSAGES {
                sender.send(number).await.unwrap();
                if number % 3 == 0 {
                    tokio::task::yield_now().await;
                }
            }
        });
        let receiving = tokio::spawn(in_turns(async move {
            let mut received = 0;
            while receiver.recv().await.is_some() {
                received += 1;
            }
            received
        }));
        let received = tokio::time::timeout(Duration::from_secs(60), receiving).await;
        assert_eq!(received.expect("no wake-up is lost").unwrap(), MESSAGES);
        sending.await.unwrap();
    }
}
