//! The limit on the number of managers.

use crate::managed::{ManagedFieldsEntry, Operation};

/// How many entries of [`Operation::Update`] an object keeps.
const MAX_UPDATE_MANAGERS: usize = 10;

/// The manager that gets the fields of those that were merged.
const ANCIENT: &str = "ancient-changes";

/// Merges the oldest entries of one version into one, until there are not too many. Entries of
/// [`Operation::Apply`] are not counted and stay.
pub(super) fn cap_update_managers(entries: Vec<ManagedFieldsEntry>) -> Vec<ManagedFieldsEntry> {
    let (mut updaters, mut capped): (Vec<_>, Vec<_>) =
        entries.into_iter().partition(|entry| entry.operation == Operation::Update);
    let mut surplus = updaters.len().saturating_sub(MAX_UPDATE_MANAGERS);
    updaters.sort_by_cached_key(|entry| (entry.time.clone(), entry.identity()));

    // The oldest entry of each version becomes the bucket for the next ones.
    let mut buckets: Vec<ManagedFieldsEntry> = Vec::new();
    for updater in updaters {
        let bucket = buckets.iter_mut().find(|bucket| bucket.api_version == updater.api_version);
        match bucket {
            Some(bucket) if surplus > 0 || bucket.is_same_manager(&updater) => {
                bucket.manager = ANCIENT.to_owned();
                bucket.subresource = String::new();
                bucket.fields = bucket.fields.union(&updater.fields);
                bucket.time = updater.time;
                surplus = surplus.saturating_sub(1);
            }
            _ if surplus > 0 => buckets.push(updater),
            _ => capped.push(updater),
        }
    }
    capped.extend(buckets);
    capped
}
