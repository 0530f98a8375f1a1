//! What happened to one object.

use std::sync::{Arc, OnceLock};

use bytes::{BufMut, Bytes, BytesMut};

use super::Object;
use crate::kinds::Kind;

/// The type of a watch event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventType {
    Added,
    Modified,
    Deleted,
}

impl EventType {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// A change of one object.
#[derive(Debug)]
pub(crate) struct Event {
    /// The resource version of the change.
    pub(crate) version: u64,
    /// The object before the change.
    pub(crate) old: Option<Arc<Object>>,
    /// The object after the change. A deletion has none.
    pub(crate) new: Option<Arc<Object>>,
    /// The object before the change at the version of the change, for those who see it go.
    gone: OnceLock<(Form, Arc<Object>)>,
    /// The frames that were encoded: one for each type of event, shared by all watches of one form.
    frames: [OnceLock<(Form, Bytes)>; 3],
}

/// What an object looks like: two forms of it have different fields or another `apiVersion`.
#[derive(Debug)]
struct Form {
    prefix: String,
    schema: u64,
}

impl Form {
    fn of(kind: &Kind) -> Self {
        Self { prefix: kind.prefix.clone(), schema: kind.fingerprint }
    }

    fn is_of(&self, kind: &Kind) -> bool {
        self.prefix == kind.prefix && self.schema == kind.fingerprint
    }
}

/// Returns the value of a form, which is kept for the form that asks first.
fn shared<T: Clone>(slot: &OnceLock<(Form, T)>, kind: &Kind, make: impl Fn() -> T) -> T {
    let (form, value) = slot.get_or_init(|| (Form::of(kind), make()));
    if form.is_of(kind) { value.clone() } else { make() }
}

impl Event {
    pub(crate) fn new(version: u64, old: Option<Arc<Object>>, new: Option<Arc<Object>>) -> Self {
        Self { version, old, new, gone: OnceLock::new(), frames: Default::default() }
    }

    /// Returns the object after the change, or the deleted one.
    pub(crate) fn object(&self) -> Option<&Arc<Object>> {
        self.new.as_ref().or(self.old.as_ref())
    }

    /// Returns what somebody sees who sees the objects for which `visible` holds.
    pub(crate) fn seen(&self, visible: impl Fn(&Object) -> bool) -> Option<EventType> {
        let was = self.old.as_deref().is_some_and(&visible);
        let is = self.new.as_deref().is_some_and(&visible);
        match (was, is) {
            (false, true) => Some(EventType::Added),
            (true, true) => Some(EventType::Modified),
            (true, false) => Some(EventType::Deleted),
            (false, false) => None,
        }
    }

    /// Returns the object that an event of this type carries.
    pub(crate) fn carried(&self, event: EventType, kind: &Kind) -> Option<Arc<Object>> {
        match event {
            EventType::Added | EventType::Modified => self.new.clone(),
            EventType::Deleted => {
                let old = self.old.as_ref()?;
                let gone = || Arc::new(Object::new(old.value(kind), kind, self.version));
                Some(shared(&self.gone, kind, gone))
            }
        }
    }

    /// Returns the line of a watch, encoded once for all watches of one form.
    pub(crate) fn frame(&self, event: EventType, kind: &Kind) -> Bytes {
        shared(&self.frames[event as usize], kind, || match self.carried(event, kind) {
            Some(object) => frame(event.as_str(), &object, kind),
            None => Bytes::new(),
        })
    }
}

/// Encodes the line of a watch.
pub(crate) fn frame(event: &str, object: &Object, kind: &Kind) -> Bytes {
    let mut buffer = BytesMut::new();
    buffer.put_slice(b"{\"type\":\"");
    buffer.put_slice(event.as_bytes());
    buffer.put_slice(b"\",\"object\":");
    object.write(kind, &mut buffer);
    buffer.put_slice(b"}\n");
    buffer.freeze()
}
