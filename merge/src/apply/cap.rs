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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fields::FieldSet, path::FieldPath};

    fn updater(manager: &str, second: usize, version: &str) -> ManagedFieldsEntry {
        let fields = FieldSet::from_iter([FieldPath::of_fields([format!("{manager}{second}")])]);
        let mut entry = ManagedFieldsEntry::new(manager, Operation::Update, version, fields);
        entry.time = Some(format!("2026-01-01T00:00:{second:02}Z"));
        entry
    }

    /// The manager of each entry with the fields that it has.
    fn owners(entries: &[ManagedFieldsEntry]) -> Vec<(&str, String)> {
        entries.iter().map(|entry| (entry.manager.as_str(), entry.fields.to_string())).collect()
    }

    #[test]
    fn there_is_one_entry_for_what_was_merged() {
        let mut entries = vec![updater("x", 1, "v1"), updater("y", 2, "v1"), updater(ANCIENT, 3, "v1")];
        entries.extend((4..12).map(|second| updater("z", second, "v1")));
        let capped = cap_update_managers(entries);
        let ancient: Vec<_> =
            owners(&capped).into_iter().filter(|(manager, _)| *manager == ANCIENT).collect();
        assert_eq!(ancient, [(ANCIENT, ".ancient-changes3\n.x1\n.y2".to_owned())]);
    }

    #[test]
    fn versions_are_merged_apart() {
        let mut entries = vec![updater("x", 1, "v1"), updater("y", 2, "v2"), updater("z", 3, "v2")];
        entries.extend((4..12).map(|second| updater("z", second, "v1")));
        let capped = cap_update_managers(entries);
        assert_eq!(capped.len(), MAX_UPDATE_MANAGERS);
        let merged = capped.iter().find(|entry| entry.manager == ANCIENT).expect("there is one too many");
        assert_eq!((merged.api_version.as_str(), merged.fields.to_string().as_str()), ("v2", ".y2\n.z3"));
    }
}
