//! Decodes lists and watches into objects that are ready for the cache.
//!
//! Small batches are decoded in place, in slices between which other tasks run. Large ones are decoded on
//! blocking threads, of which no more than processors do that at once.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, LazyLock},
    thread::available_parallelism,
};

use bytes::Bytes;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::task::TaskTracker;

use super::Transform;
use crate::{
    decode::{Decoded, ListPage, Unreadable, decode_event, decode_list},
    delta::{InvalidObject, Scope},
    object::{Decodable, ObjectKey},
    offload::offload,
    panics,
    wire::LineBatch,
};

/// The number of bytes that are decoded in place before other tasks run.
const FEW_BYTES: usize = 16 << 10;

/// From this number of bytes on, a batch is decoded on a blocking thread.
const MANY_BYTES: usize = 128 << 10;

/// Limits the blocking threads that decode for any reflector.
static JOBS: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(available_parallelism().map_or(1, usize::from)));

/// Decodes objects as a reflector is configured to.
pub(super) struct Decoder<K> {
    pub(super) keep_managed_fields: bool,
    pub(super) transform: Option<Transform<K>>,
    pub(super) scope: Scope,
    /// Counts the jobs on blocking threads, so that a shutdown can wait for them.
    pub(super) jobs: TaskTracker,
}

/// The events of some lines of a watch.
pub(super) struct DecodedLines<K> {
    pub(super) events: Vec<Decoded<Arc<K>>>,
    /// Why the line after these events could not be read, if there was one.
    pub(super) unreadable: Option<Unreadable>,
}

/// Lines that are decoded in slices.
struct Slices<K> {
    lines: LineBatch,
    /// The number of the next line.
    next: usize,
    decoded: DecodedLines<K>,
}

impl<K: Decodable> Decoder<K> {
    /// Decodes lines, up to the first that cannot be read.
    pub(super) async fn lines(self: &Arc<Self>, lines: LineBatch) -> DecodedLines<K> {
        let is_large = lines.bytes() >= MANY_BYTES;
        let mut slices = Slices::new(lines);
        if is_large {
            return self.job(|decoder| slices.decode_all(decoder)).await;
        }
        while slices.decode_some(self) {
            tokio::task::yield_now().await;
        }
        slices.decoded
    }

    /// Decodes a page of a list.
    pub(super) async fn list(self: &Arc<Self>, body: Bytes) -> Result<ListPage<Arc<K>>, Unreadable> {
        if body.len() < FEW_BYTES {
            return self.page(&body);
        }
        self.job(move |decoder| decoder.page(&body)).await
    }

    /// Runs work on a blocking thread when one of the permits is free.
    async fn job<T: Send + 'static>(self: &Arc<Self>, work: impl FnOnce(&Self) -> T + Send + 'static) -> T {
        // The semaphore is never closed; without a permit the work is done all the same.
        let permit: Option<SemaphorePermit<'static>> = JOBS.acquire().await.ok();
        let (decoder, token) = (self.clone(), self.jobs.token());
        offload(move || {
            let done = work(&decoder);
            drop((permit, token));
            done
        })
        .await
    }

    fn page(&self, body: &[u8]) -> Result<ListPage<Arc<K>>, Unreadable> {
        let page = decode_list(body, self.keep_managed_fields)?;
        let (mut objects, mut invalid) = (Vec::with_capacity(page.objects.len()), page.invalid);
        for object in page.objects {
            match self.finish(object) {
                Ok(object) => objects.push(object),
                Err(broken) => invalid.push(broken),
            }
        }
        Ok(ListPage { objects, invalid, resource_version: page.resource_version, next: page.next })
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

impl<K: Decodable> Slices<K> {
    fn new(lines: LineBatch) -> Self {
        let events = Vec::with_capacity(lines.len());
        Self { lines, next: 0, decoded: DecodedLines { events, unreadable: None } }
    }

    fn decode_all(mut self, decoder: &Decoder<K>) -> DecodedLines<K> {
        while self.decode_some(decoder) {}
        self.decoded
    }

    /// Decodes a slice, and returns whether there is more to decode.
    fn decode_some(&mut self, decoder: &Decoder<K>) -> bool {
        let mut bytes = 0;
        while let Some(line) = self.lines.get(self.next) {
            self.next += 1;
            bytes += line.len();
            match decode_event(line, decoder.keep_managed_fields, |object| decoder.finish(object)) {
                Ok(decoded) => self.decoded.events.push(decoded),
                Err(error) => {
                    self.decoded.unreadable = Some(error);
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

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::json;

    use super::*;
    use crate::wire::Lines;

    /// Lines of this many bytes in all.
    fn lines_of(bytes: usize) -> LineBatch {
        let data = "x".repeat(1000);
        let mut lines = Lines::default();
        for name in 0..bytes / 1000 {
            let object =
                json!({"metadata": {"name": name.to_string(), "resourceVersion": "7"}, "data": {"x": data}});
            lines.push(format!("{{\"type\":\"ADDED\",\"object\":{object}}}\n").as_bytes()).unwrap();
        }
        lines.take()
    }

    #[tokio::test]
    async fn a_batch_is_decoded_in_slices_between_which_other_tasks_run_or_on_another_thread() {
        for (bytes, in_place) in [(4 * FEW_BYTES, true), (2 * MANY_BYTES, false)] {
            let here = std::thread::current().id();
            let threads = Arc::new(parking_lot::Mutex::new(Vec::new()));
            let transform = Transform::new({
                let threads = threads.clone();
                move |_: &mut ConfigMap| threads.lock().push(std::thread::current().id() == here)
            });
            let (scope, jobs) = (Scope::All, TaskTracker::new());
            let decoder =
                Arc::new(Decoder { keep_managed_fields: false, transform: Some(transform), scope, jobs });
            let other = tokio::spawn(async {});
            let decoded = decoder.lines(lines_of(bytes)).await;
            assert_eq!(decoded.events.len(), bytes / 1000);
            assert!(other.is_finished(), "another task ran meanwhile");
            assert!(threads.lock().iter().all(|was_here| *was_here == in_place));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn no_more_threads_than_processors_decode_at_once() {
        use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let transform = Transform::new({
            let (running, most) = (running.clone(), most.clone());
            move |_: &mut ConfigMap| {
                most.fetch_max(running.fetch_add(1, SeqCst) + 1, SeqCst);
                std::thread::sleep(std::time::Duration::from_micros(100));
                running.fetch_sub(1, SeqCst);
            }
        });
        let (scope, jobs) = (Scope::All, TaskTracker::new());
        let decoder =
            Arc::new(Decoder { keep_managed_fields: false, transform: Some(transform), scope, jobs });
        let batches = (0..8).map(|_| {
            let decoder = decoder.clone();
            tokio::spawn(async move { decoder.lines(lines_of(MANY_BYTES + 1000)).await.events.len() })
        });
        for decoded in futures::future::join_all(batches).await {
            assert_eq!(decoded.unwrap(), MANY_BYTES / 1000 + 1);
        }
        assert!(most.load(SeqCst) <= available_parallelism().map_or(1, usize::from));
    }
}
