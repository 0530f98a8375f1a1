//! Decodes lists and watches into objects that are ready for the cache.
//!
//! Large batches are decoded on other threads while the connection is read further. Small batches, and all
//! batches of a server that sends less than can be read, are decoded in place, which costs less than handing
//! them over. There are never more jobs than processors: a further batch is decoded in place too. What takes
//! long in place is decoded in slices between which other tasks run.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, LazyLock},
};

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::{TaskTracker, task_tracker::TaskTrackerToken};

use super::Transform;
use crate::{
    decode::{Decoded, ListPage, RawPage, Scratch, Unreadable, decode_event, decode_list},
    delta::{InvalidObject, Scope},
    object::{Decodable, ObjectKey},
    offload::{Awaited, Offloaded, PROCESSORS},
    panics,
    wire::LineBatch,
};

/// So many bytes are decoded in place before other tasks run.
const FEW_BYTES: usize = 16 << 10;

/// So many bytes are decoded on another thread even if nothing else waits to be done.
const MANY_BYTES: usize = 128 << 10;

/// The decoding jobs of all reflectors together.
static JOBS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(*PROCESSORS)));

/// Decodes objects as a reflector is configured to.
pub(super) struct Decoder<K> {
    pub(super) keep_managed_fields: bool,
    pub(super) transform: Option<Transform<K>>,
    pub(super) scope: Scope,
    /// Counts the jobs, so that a shutdown can wait for them.
    pub(super) jobs: TaskTracker,
}

/// A decoding job on another thread, while it lasts. It travels with the input, so that a job that is
/// taken back has ended.
pub(super) struct Job {
    _permit: OwnedSemaphorePermit,
    _token: TaskTrackerToken,
}

/// The events of some lines of a watch.
pub(super) struct DecodedLines<K> {
    pub(super) events: Vec<Decoded<Arc<K>>>,
    /// Why the line after these events could not be read, if there was one.
    pub(super) unreadable: Option<Unreadable>,
}

/// Lines that are being decoded.
pub(super) enum Decoding<K> {
    /// On another thread.
    There(Offloaded<(LineBatch, Job), DecodedLines<K>>),
    /// In place, when they are awaited.
    Here(Slices<K>),
}

/// Lines that are decoded in slices.
pub(super) struct Slices<K> {
    lines: LineBatch,
    /// The number of the next line.
    next: usize,
    scratch: Scratch,
    decoded: DecodedLines<K>,
}

impl<K: Decodable> Decoder<K> {
    /// Begins to decode lines, up to the first that cannot be read. `is_fast` says that more of them can be
    /// read meanwhile. Otherwise nothing is gained by another thread, and waking it costs.
    pub(super) fn lines(self: &Arc<Self>, lines: LineBatch, is_fast: bool) -> Decoding<K> {
        if lines.bytes() < if is_fast { FEW_BYTES } else { MANY_BYTES } {
            return Decoding::Here(Slices::new(lines));
        }
        let Some(job) = self.job() else { return Decoding::Here(Slices::new(lines)) };
        let decoder = self.clone();
        Decoding::There(Offloaded::computing((lines, job), move |(lines, _job), awaited| {
            let mut slices = Slices::new(lines);
            while awaited.holds() && slices.decode_some(&decoder) {}
            slices.decoded
        }))
    }

    /// Decodes a page of a list.
    pub(super) async fn list(self: &Arc<Self>, body: Bytes) -> Result<ListPage<Arc<K>>, Unreadable> {
        if body.len() < FEW_BYTES {
            return Ok(self.finish_page(decode_list(&body, self.keep_managed_fields)?, &Awaited::HERE));
        }
        let body = match self.job() {
            None => body,
            Some(job) => {
                let decoder = self.clone();
                let mut decoding =
                    Offloaded::computing((body, job), move |(body, _job): (Bytes, _), awaited| {
                        let page = decode_list(&body, decoder.keep_managed_fields)?;
                        Ok(decoder.finish_page(page, awaited))
                    });
                match decoding.join().await {
                    Ok(page) => return page,
                    Err((body, _job)) => body,
                }
            }
        };
        let mut page = RawPage::parse(&body)?;
        loop {
            // Finding the items has taken its time too.
            tokio::task::yield_now().await;
            if !page.decode_some(FEW_BYTES, self.keep_managed_fields, |object| self.finish(object)) {
                return page.finish();
            }
        }
    }

    /// Begins a job, unless there are enough already.
    fn job(&self) -> Option<Job> {
        let permit = JOBS.clone().try_acquire_owned().ok()?;
        Some(Job { _permit: permit, _token: self.jobs.token() })
    }

    fn finish_page(&self, page: ListPage<K>, awaited: &Awaited) -> ListPage<Arc<K>> {
        let (mut objects, mut invalid) = (Vec::with_capacity(page.objects.len()), page.invalid);
        for object in page.objects.into_iter().take_while(|_| awaited.holds()) {
            match self.finish(object) {
                Ok(object) => objects.push(object),
                Err(broken) => invalid.push(broken),
            }
        }
        ListPage { objects, invalid, resource_version: page.resource_version, next: page.next }
    }

    /// Checks and transforms an object. One that fails is invalid, and the others are unaffected.
    fn finish(&self, object: K) -> Result<Arc<K>, InvalidObject> {
        // It is moved to its final place before anything else is done with it.
        let object = Arc::new(object);
        catch_unwind(AssertUnwindSafe(|| self.check(object))).unwrap_or_else(|panic| {
            let error = format!("reading the object's metadata panicked: {}", panics::message(&*panic));
            Err(InvalidObject::new(ObjectKey::default(), error))
        })
    }

    fn check(&self, mut object: Arc<K>) -> Result<Arc<K>, InvalidObject> {
        let problem = match &self.scope {
            _ if object.name().is_empty() => Some("the object has no name".to_owned()),
            // It would stay in the cache forever: no list of its own namespace is ever read.
            Scope::Namespace(namespace) if object.namespace() != Some(namespace) => {
                Some(format!("the object is not in namespace {namespace}, which was asked for"))
            }
            _ => match (&self.transform, Arc::get_mut(&mut object)) {
                (Some(transform), Some(object)) => transform.apply(object).err(),
                // Nobody else has the object yet.
                _ => None,
            },
        };
        match problem {
            None => Ok(object),
            Some(error) => Err(InvalidObject {
                key: ObjectKey::of(object.as_ref()),
                uid: object.uid().to_owned(),
                resource_version: object.resource_version().to_owned(),
                error,
            }),
        }
    }
}

impl<K: Decodable> Decoding<K> {
    /// Whether the lines are decoded in place.
    pub(super) fn is_here(&self) -> bool {
        matches!(self, Self::Here(_))
    }

    /// Waits for the events. Dropping the future loses nothing.
    pub(super) async fn join(&mut self, decoder: &Decoder<K>) -> DecodedLines<K> {
        loop {
            match self {
                Self::There(job) => match job.join().await {
                    Ok(decoded) => return decoded,
                    Err((lines, _job)) => *self = Self::Here(Slices::new(lines)),
                },
                Self::Here(slices) => {
                    while slices.decode_some(decoder) {
                        tokio::task::yield_now().await;
                    }
                    return std::mem::replace(&mut slices.decoded, DecodedLines::none());
                }
            }
        }
    }
}

impl<K: Decodable> Slices<K> {
    fn new(lines: LineBatch) -> Self {
        let events = Vec::with_capacity(lines.len());
        Self {
            lines,
            next: 0,
            scratch: Scratch::default(),
            decoded: DecodedLines { events, unreadable: None },
        }
    }

    /// Decodes a slice, and returns whether there is more to decode.
    fn decode_some(&mut self, decoder: &Decoder<K>) -> bool {
        let mut bytes = 0;
        while let Some(line) = self.lines.get(self.next) {
            self.next += 1;
            bytes += line.len();
            let skip = (!decoder.keep_managed_fields).then_some(&mut self.scratch);
            match decode_event(line, skip, |object| decoder.finish(object)) {
                Ok(decoded) => self.decoded.events.push(decoded),
                Err(error) => {
                    self.decoded.unreadable = Some(error);
                    self.lines = LineBatch::default();
                    return false;
                }
            }
            if bytes >= FEW_BYTES {
                return true;
            }
        }
        false
    }
}

impl<K> DecodedLines<K> {
    fn none() -> Self {
        Self { events: Vec::new(), unreadable: None }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::json;

    use super::*;
    use crate::wire::Lines;

    fn decoder() -> Arc<Decoder<ConfigMap>> {
        let (transform, scope, jobs) = (None, Scope::All, TaskTracker::new());
        Arc::new(Decoder { keep_managed_fields: false, transform, scope, jobs })
    }

    /// Lines of more bytes than are decoded in place.
    fn many_lines() -> LineBatch {
        let data = "x".repeat(1000);
        let line = |name: usize| {
            let object =
                json!({"metadata": {"name": name.to_string(), "resourceVersion": "7"}, "data": {"x": data}});
            format!("{{\"type\":\"ADDED\",\"object\":{object}}}\n")
        };
        let mut lines = Lines::default();
        for number in 0..2 * FEW_BYTES / 1000 {
            lines.push(line(number).as_bytes()).unwrap();
        }
        lines.take()
    }

    #[tokio::test]
    async fn a_list_that_is_decoded_in_place_is_transformed_in_slices_between_which_other_tasks_run() {
        let slices = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let (turns, seen) = (slices.clone(), Arc::new(parking_lot::Mutex::new(Vec::new())));
        let transform = Transform::new({
            let (turns, seen) = (turns.clone(), seen.clone());
            move |_: &mut ConfigMap| seen.lock().push(turns.load(std::sync::atomic::Ordering::SeqCst))
        });
        let (scope, jobs) = (Scope::All, TaskTracker::new());
        let decoder =
            Arc::new(Decoder { keep_managed_fields: false, transform: Some(transform), scope, jobs });
        let item = |name: usize| json!({"metadata": {"name": name.to_string(), "resourceVersion": "7"}, "data": {"x": "x".repeat(1000)}});
        let items: Vec<_> = (0..4 * FEW_BYTES / 1000).map(item).collect();
        let count = items.len();
        let body = json!({"metadata": {"resourceVersion": "7"}, "items": items}).to_string();
        let _all = JOBS.clone().acquire_many_owned(u32::try_from(*PROCESSORS).unwrap()).await.unwrap();
        let other = tokio::spawn(async move {
            loop {
                turns.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                tokio::task::yield_now().await;
            }
        });
        let page = decoder.list(body.into()).await.unwrap();
        other.abort();
        assert_eq!(page.objects.len(), count);
        let mut seen = seen.lock().clone();
        seen.dedup();
        assert!(seen.len() >= 4, "the transform ran in slices: {seen:?}");
    }

    #[tokio::test]
    async fn there_are_never_more_jobs_than_processors_and_a_further_batch_is_decoded_in_place() {
        let all = JOBS.clone().acquire_many_owned(u32::try_from(*PROCESSORS).unwrap()).await.unwrap();
        assert_eq!(JOBS.available_permits(), 0);
        let decoder = decoder();
        let mut further = decoder.lines(many_lines(), true);
        assert!(further.is_here());
        let other_task = tokio::spawn(async {});
        assert_eq!(further.join(&decoder).await.events.len(), many_lines().len());
        assert!(other_task.is_finished(), "other tasks run between the slices");
        drop(all);
        let mut job = decoder.lines(many_lines(), true);
        assert_eq!(job.join(&decoder).await.events.len(), many_lines().len());
    }
}
