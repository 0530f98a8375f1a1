//! The reflector: sends the state of one collection on the server, and then its changes, to a sink.
//!
//! A sink can rely on this:
//!
//! - **First the whole state, then every change, in the server's order.** The state comes as one
//!   [`Delta::Replace`], at the start and whenever changes may have been missed.
//! - **Never back in time.** A later list must not be older than what was already sent. Only if the
//!   server does not know that version is its newest state taken instead. If even that is older, the
//!   server's history was set back, and a [`Delta::Reset`] says so.
//! - **No needless lists.** A watch that ended, was cut or was refused resumes from the last version,
//!   which bookmarks keep recent. Only an expired version makes a new list necessary.
//! - **No needless pauses.** A watch that worked and was cut is opened again at once. Failures are
//!   retried after growing, jittered pauses, and so are lists that do not lead to a watch.
//! - **Lists are streamed** (`sendInitialEvents`) if the server offers that. If it refuses or does not finish a
//!   stream, lists are read in pages for ten minutes.
//! - **Nothing is fatal.** A missing definition, a missing permission and an overloaded or absent
//!   server are waited for; a server's `Retry-After` is honoured, up to five minutes. A panic is
//!   logged and counted, and the reflector lists again after a pause. Each such state is logged once,
//!   in words, and can be seen in [`Reflector::state`].
//! - **An object that does not decode interrupts neither the list nor the watch.** It is reported as
//!   invalid. This includes an object that is nested too deeply, has no name, or makes its type or
//!   transform panic.
//! - **Decoding does not block async threads.** Pages and batches of 128 KB are decoded on blocking threads,
//!   smaller batches in place, in slices of 16 KB, or of one object if that is larger.
//! - **Events are passed on at once**, and those that have arrived together are passed on together.
//! - **Back-pressure.** A sink that does not take a batch stops the reading.
//! - **Silence is noticed.** A dead connection is given up; see [`Timeouts`].
//!
//! The reflector works while [`Reflector::run`] is polled. Dropping that future, or closing the sink,
//! ends it.

mod config;
mod decoder;
mod events;
mod initial;
mod list;
mod report;
mod state;
mod watch;

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::FutureExt as _;
use kube::Client;
use tokio::{sync::watch as watched, time::Instant};
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use crate::{
    backoff::Backoff,
    dynamic::DynamicKind,
    error::Error,
    object::{Decodable, Watched},
    panics,
    wire::Collection,
};
pub use crate::{
    delta::{Delta, DeltaReceiver, DeltaSender, DeltaSink, InvalidObject, Scope, SinkClosed, delta_queue},
    wire::Timeouts,
};
pub use config::{ErrorHook, ListOptions, ReflectorConfig, Transform};
use decoder::Decoder;
use events::Events;
use report::Report;
pub use state::{Problem, ReflectorState};

/// A list that ended longer ago than this is not part of the same trouble, and the next one need not
/// wait.
const LIST_QUIET: Duration = Duration::from_secs(30);

/// Follows one collection on the server.
pub struct Reflector<K> {
    collection: Collection,
    config: ReflectorConfig<K>,
    state: watched::Sender<ReflectorState>,
    jobs: TaskTracker,
}

impl<K: Decodable> Reflector<K> {
    /// A reflector of the kind `K`. It does nothing until it is run.
    pub fn new(client: Client, config: ReflectorConfig<K>) -> Self
    where
        K: Watched,
    {
        Self::of_kind(client, &DynamicKind::of::<K>(), config)
    }

    /// A reflector of a kind that is not known at compile time. Its objects are decoded as `K`. It does
    /// nothing until it is run.
    pub fn of_kind(client: Client, kind: &DynamicKind, config: ReflectorConfig<K>) -> Self {
        let collection = Collection {
            client,
            resource: kind.api_resource().clone(),
            scope: config.scope.clone(),
            selectors: config.list.selectors(),
            metadata_only: config.metadata_only,
            keep_managed_fields: config.keep_managed_fields,
            timeouts: config.list.timeouts.clone(),
        };
        let state = watched::Sender::new(ReflectorState::Listing);
        Self { collection, config, state, jobs: TaskTracker::new() }
    }

    /// Counts the reflector's work on other threads in this tracker.
    pub(crate) fn track_jobs(mut self, jobs: TaskTracker) -> Self {
        self.jobs = jobs;
        self
    }

    /// What the reflector is doing, now and from now on.
    pub fn state(&self) -> watched::Receiver<ReflectorState> {
        self.state.subscribe()
    }

    /// Feeds the sink until it is closed.
    pub async fn run<S: DeltaSink<K>>(self, sink: S) {
        let namespace = match &self.collection.scope {
            Scope::All => None,
            Scope::Namespace(namespace) => Some(&**namespace),
        };
        let span = tracing::info_span!("reflector", kind = %self.collection.resource.kind, namespace);
        let report = Report::new(&self.collection, &self.config, self.state);
        let decoder = Decoder {
            keep_managed_fields: self.config.keep_managed_fields,
            transform: self.config.transform.clone(),
            scope: self.config.scope.clone(),
            jobs: self.jobs,
        };
        let closed = sink.closed();
        let run = Run {
            decoder: Arc::new(decoder),
            pages_until: None,
            backoff: Backoff::new(self.config.list.backoff),
            collection: self.collection,
            config: self.config,
            sink,
            report,
            version: None,
            version_unknown: false,
            listed: None,
            unreadable: false,
        };
        tokio::select! {
            () = run.run().instrument(span) => {}
            () = closed => {}
        }
    }
}

/// What to do next.
enum Next<K> {
    List,
    /// Follow the changes, on this watch if one is open already.
    Watch(Option<Box<Events<K>>>),
}

/// Why a step did not come to its regular end.
enum Stop {
    /// The sink takes no more deltas.
    Closed,
    /// The step failed.
    Failed(Error),
    /// The watch worked until its connection was lost.
    Cut(Error),
    /// The watch cannot show what changed, for this reason, but a list can.
    Relist(Error),
}

impl From<SinkClosed> for Stop {
    fn from(_: SinkClosed) -> Self {
        Self::Closed
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// A running reflector.
struct Run<K, S> {
    collection: Collection,
    config: ReflectorConfig<K>,
    decoder: Arc<Decoder<K>>,
    sink: S,
    report: Report,
    backoff: Backoff,
    /// Until when lists are read in pages because the server did not stream one.
    pages_until: Option<Instant>,
    /// The last version that was sent.
    version: Option<String>,
    /// Whether the server does not know that version: it expired, it is not reached yet, or the
    /// server's history was set back.
    version_unknown: bool,
    /// When the last list ended.
    listed: Option<Instant>,
    /// Whether the last thing that the server sent could not be read.
    unreadable: bool,
}

impl<K: Decodable, S: DeltaSink<K>> Run<K, S> {
    async fn run(mut self) {
        let mut next = Next::List;
        loop {
            let listing = matches!(next, Next::List);
            let step = async {
                match next {
                    Next::List => self.list().await,
                    Next::Watch(open) => self.watch(open).await,
                }
            };
            let outcome = AssertUnwindSafe(step).catch_unwind().await;
            if listing {
                self.listed = Some(Instant::now());
                // A list takes its time, which must not look like a quiet time.
                self.backoff.touch();
            }
            next = match outcome {
                Ok(Ok(next)) => next,
                Ok(Err(Stop::Closed)) => return,
                Ok(Err(Stop::Failed(error))) => {
                    let next = if listing { Next::List } else { self.after_failed_watch(&error) };
                    self.pause(&error).await;
                    next
                }
                Ok(Err(Stop::Cut(error))) => {
                    self.report.cut(&error);
                    Next::Watch(None)
                }
                Ok(Err(Stop::Relist(error))) => {
                    self.pause(&error).await;
                    Next::List
                }
                Err(panic) => {
                    let pause = self.backoff.next();
                    self.report.panicked(&panics::message(&*panic), self.backoff.attempt(), pause);
                    tokio::time::sleep(pause).await;
                    Next::List
                }
            };
        }
    }

    /// The minimum resource version of the next list.
    fn not_older_than(&self) -> Option<String> {
        if self.version_unknown { None } else { self.version.clone() }
    }

    /// Decides whether a watch that failed like this can resume.
    fn after_failed_watch(&mut self, error: &Error) -> Next<K> {
        match Problem::of(error) {
            Problem::Version => {
                self.version_unknown = true;
                Next::List
            }
            // A definition that comes back is another one, and so are its objects.
            Problem::Absent | Problem::Refused => Next::List,
            // Once may be an accident on the way. Twice means that the event itself is in the way.
            Problem::Unreadable if std::mem::replace(&mut self.unreadable, true) => Next::List,
            _ => Next::Watch(None),
        }
    }

    /// Reports a failure and waits before the next attempt.
    async fn pause(&mut self, error: &Error) {
        let listed_recently = self.listed.is_some_and(|listed| listed.elapsed() < LIST_QUIET);
        let pause = if Problem::of(error) == Problem::Version && !listed_recently {
            // Versions expire in the normal course of things, and waiting means serving old data.
            Duration::ZERO
        } else {
            let asked_for = error.retry_after().unwrap_or_default();
            self.backoff.next().max(asked_for)
        };
        self.report.failed(&self.collection, error, self.backoff.attempt(), pause);
        tokio::time::sleep(pause).await;
    }
}
