//! The reflector: keeps a sink supplied with the state of one collection on the server.
//!
//! What a sink can rely on:
//!
//! - **First the whole state, then every change, in the server's order.** The state comes as one
//!   [`Delta::Replace`](crate::delta::Delta::Replace), at the start and whenever changes may have been missed.
//! - **Never back in time.** A later list is asked to be no older than what was already told. Only
//!   where the server does not know that version is its newest state taken instead. If even that is
//!   older, the server's own history was set back, and a [`Delta::Reset`](crate::delta::Delta::Reset) says so.
//! - **No needless lists.** An ended, cut or refused watch goes on from the last version; bookmarks
//!   keep that version young. Only a version that has expired makes a new list necessary.
//! - **A list is streamed** (`sendInitialEvents`) where the server offers that, and read in pages where
//!   not; which of the two is found out once and remembered.
//! - **Nothing is fatal.** A missing definition, a missing permission, an overloaded or absent server
//!   are waited for, with growing, jittered pauses; a server's `Retry-After` is honoured. Each such
//!   state is logged once, in words, and can be seen in [`Reflector::state`].
//! - **An object that does not decode**, or on which the transform panics, is told as such and costs
//!   nothing but itself.
//! - **Much at once holds nobody up.** Lists and busy watches are decoded on the runtime's threads for
//!   blocking work, a few batches at a time, while the connection is read on; a few events are decoded
//!   where they are.
//! - **Back-pressure.** While the sink does not take a batch, no more than these few are read ahead.
//!
//! The reflector works as long as [`Reflector::run`] is polled; dropping that future ends it.

mod config;
mod decoder;
mod events;
mod initial;
mod list;
mod report;
mod state;
mod watch;

use std::{sync::Arc, time::Duration};

use kube::Client;
use tokio::{sync::watch as watched, time::Instant};
use tracing::Instrument as _;

pub use config::{ErrorHook, ReflectorConfig, Transform};
use decoder::Decoder;
use events::Events;
use report::Report;
pub use state::{Problem, ReflectorState};

use crate::{backoff::Backoff, error::Error, object::Watched, wire::Collection};
pub use crate::{
    delta::{Delta, DeltaReceiver, DeltaSender, DeltaSink, InvalidObject, Scope, SinkClosed, delta_queue},
    wire::Selectors,
};

/// After this time a list is no longer part of the same trouble, and the next one need not wait.
const LIST_QUIET: Duration = Duration::from_secs(30);

/// Follows one collection on the server.
pub struct Reflector<K> {
    collection: Collection,
    config: ReflectorConfig<K>,
    state: watched::Sender<ReflectorState>,
}

impl<K: Watched> Reflector<K> {
    /// A reflector of the kind `K`, which does nothing until it is run.
    pub fn new(client: Client, config: ReflectorConfig<K>) -> Self {
        let collection = Collection {
            client,
            resource: K::api_resource(),
            scope: config.scope.clone(),
            selectors: config.selectors.clone(),
            metadata_only: config.metadata_only,
        };
        Self { collection, config, state: watched::Sender::new(ReflectorState::Listing) }
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
        let report = Report::new(&self.collection, self.config.on_error.clone(), self.state);
        let decoder = Decoder {
            keep_managed_fields: self.config.keep_managed_fields,
            transform: self.config.transform.clone(),
        };
        let run = Run {
            decoder: Arc::new(decoder),
            streaming: self.config.streaming_lists,
            backoff: Backoff::new(self.config.backoff),
            collection: self.collection,
            config: self.config,
            sink,
            report,
            version: None,
            version_unknown: false,
            listed: None,
            unreadable: false,
        };
        run.run().instrument(span).await;
    }
}

/// What is to be done next.
enum Next<K> {
    List,
    /// Follow the changes, on a watch that is already open if there is one.
    Watch(Option<Box<Events<K>>>),
}

/// Why a step did not come to its regular end.
enum Stop {
    Closed,
    Failed(Error),
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

/// A reflector at work.
struct Run<K, S> {
    collection: Collection,
    config: ReflectorConfig<K>,
    decoder: Arc<Decoder<K>>,
    sink: S,
    report: Report,
    backoff: Backoff,
    /// Whether lists are asked for as streams.
    streaming: bool,
    /// The last version that was told.
    version: Option<String>,
    /// Whether the server does not know that version: any more, or yet, or because its history was
    /// set back.
    version_unknown: bool,
    /// When the last list began.
    listed: Option<Instant>,
    /// Whether the last thing that the server sent could not be read.
    unreadable: bool,
}

impl<K: Watched, S: DeltaSink<K>> Run<K, S> {
    async fn run(mut self) {
        let mut next = Next::List;
        loop {
            let listing = matches!(next, Next::List);
            let outcome = match next {
                Next::List => self.list().await,
                Next::Watch(open) => self.watch(open).await,
            };
            next = match outcome {
                Ok(next) => next,
                Err(Stop::Closed) => return,
                Err(Stop::Failed(error)) => {
                    let next = if listing { Next::List } else { self.after_failed_watch(&error) };
                    self.pause(&error).await;
                    next
                }
            };
        }
    }

    /// The version that what comes next must not be older than.
    fn not_older_than(&self) -> Option<String> {
        if self.version_unknown { None } else { self.version.clone() }
    }

    /// Whether a watch that failed like this can go on from where it was.
    fn after_failed_watch(&mut self, error: &Error) -> Next<K> {
        match Problem::of(error) {
            Problem::Version => {
                self.version_unknown = true;
                Next::List
            }
            // A definition that comes back is another one, and so are its objects.
            Problem::Absent | Problem::Refused => Next::List,
            // Once may be an accident on the way. Twice, and the event itself is in the way.
            Problem::Unreadable if std::mem::replace(&mut self.unreadable, true) => Next::List,
            _ => Next::Watch(None),
        }
    }

    /// Waits before the next attempt, and says what for.
    async fn pause(&mut self, error: &Error) {
        let recently = self.listed.is_some_and(|listed| listed.elapsed() < LIST_QUIET);
        let pause = if Problem::of(error) == Problem::Version && !recently {
            // Versions expire in the best of worlds, and each moment of waiting is a moment of old data.
            Duration::ZERO
        } else {
            self.backoff.next().max(error.retry_after().unwrap_or_default())
        };
        self.report.failed(&self.collection, error, self.backoff.attempt(), pause);
        tokio::time::sleep(pause).await;
    }
}
