//! The limit of the events of one object and reason.

use std::num::NonZeroU32;

use k8s_openapi::api::core::v1::ObjectReference;
use tokio::time::{Duration, Instant};

use super::{
    occurrence::ObjectId,
    recent::{Expires, Recent},
};
use crate::bucket::Bucket;

/// client-go's limit for one object.
pub(super) const BUCKET: Bucket = Bucket {
    interval: Duration::from_secs(300),
    burst: const { NonZeroU32::new(25).expect("25 is not zero") },
};

/// A token bucket for each object and reason.
#[derive(Debug, Default)]
pub(super) struct SpamFilter {
    buckets: Recent<(ObjectId, String), FullAt>,
}

/// The moment at which a bucket is full again. After that it can be removed.
#[derive(Clone, Copy, Debug)]
struct FullAt(Instant);

impl Expires for FullAt {
    fn expires_at(&self) -> Instant {
        self.0
    }
}

impl SpamFilter {
    /// Takes a token, if there is one.
    pub fn allows(&mut self, object: &ObjectReference, reason: &str, now: Instant) -> bool {
        let key = (ObjectId::from(object), reason.to_owned());
        let FullAt(mut full_at) = self.buckets.get(&key, now).copied().unwrap_or(FullAt(now));
        let allowed = BUCKET.try_take(&mut full_at, now);
        if allowed {
            self.buckets.insert(key, FullAt(full_at), now);
        }
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::{super::recent::CAPACITY, *};

    #[test]
    fn the_filter_remembers_a_bounded_number_of_objects() {
        let mut filter = SpamFilter::default();
        let now = Instant::now();
        for n in 0..10 * CAPACITY {
            let object = ObjectReference { name: Some(n.to_string()), ..Default::default() };
            assert!(filter.allows(&object, "Synced", now + Duration::from_secs(n as u64 / 1000)));
            assert!(filter.buckets.len() <= CAPACITY);
        }
    }

    #[test]
    fn a_changed_object_keeps_its_bucket_and_a_recreated_one_has_its_own() {
        let mut filter = SpamFilter::default();
        let now = Instant::now();
        let mut allowed = |uid: &str, versions: u32| {
            let object = |version: u32| ObjectReference {
                uid: Some(uid.into()),
                resource_version: Some(version.to_string()),
                ..Default::default()
            };
            (0..versions).filter(|&version| filter.allows(&object(version), "Synced", now)).count()
        };
        assert_eq!((allowed("a", 100), allowed("b", 20), allowed("a", 1)), (25, 20, 0));
    }
}
