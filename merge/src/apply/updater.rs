//! What a write does to an object and to the owners of its fields.

use serde_json::Value;

use super::conflict::Conflicts;
use crate::{
    fields::FieldSet,
    managed::ManagedFieldsEntry,
    schema::Schema,
    typed::{self, Comparison},
};

/// The rules of one write.
///
/// All entries are taken to refer to the version that is written. To support other versions, convert the
/// objects to the version of each entry here.
#[derive(Clone, Copy)]
pub(super) struct Updater<'a> {
    pub(super) schema: &'a Schema,
    /// Fields that the write does not change, whatever it contains.
    pub(super) reset: &'a FieldSet,
}

impl Updater<'_> {
    /// Merges a configuration into the live object, and removes what `last`, the previous configuration of
    /// the same manager, owned and nobody owns now. Returns the object and the fields that the manager owns.
    ///
    /// The entries of the others lose the fields that change. Without `force`, that is a conflict.
    pub(super) fn apply(
        self,
        live: &Value,
        config: &Value,
        last: Option<&FieldSet>,
        others: &mut Vec<ManagedFieldsEntry>,
        force: bool,
    ) -> Result<(Value, FieldSet), Conflicts> {
        let fields = typed::field_set(config, self.schema).difference_below(self.reset);
        let mut object = typed::merge(live, config, self.schema);
        if let Some(last) = last.filter(|last| !last.is_empty()) {
            let owned = others.iter().fold(fields.clone(), |owned, other| owned.union(&other.fields));
            object = self.prune(&object, last, &owned);
        }
        self.reassign(self.compare(live, &object), others, force)?;
        Ok((object, fields))
    }

    /// Returns the fields that a write other than apply changes. All managers lose them.
    pub(super) fn update(
        self,
        live: &Value,
        new: &Value,
        managers: &mut Vec<ManagedFieldsEntry>,
    ) -> FieldSet {
        // With force there are no conflicts.
        self.reassign(self.compare(live, new), managers, true).unwrap_or_default()
    }

    fn compare(self, live: &Value, new: &Value) -> Comparison {
        typed::compare(live, new, self.schema).without(self.reset)
    }

    /// Takes what was written from its managers, and returns it. Without `force`, that is a conflict.
    fn reassign(
        self,
        comparison: Comparison,
        managers: &mut Vec<ManagedFieldsEntry>,
        force: bool,
    ) -> Result<FieldSet, Conflicts> {
        let Comparison { removed, modified: mut written, added } = comparison;
        written.extend_from(added);
        if !force {
            let in_conflict = managers.iter().map(|manager| ManagedFieldsEntry {
                fields: manager.fields.intersection(&written),
                ..manager.clone()
            });
            if let Some(conflicts) = Conflicts::new(in_conflict.collect()) {
                return Err(conflicts);
            }
        }
        for manager in managers.iter_mut() {
            manager.fields.subtract(&written);
            manager.fields.subtract(&removed);
        }
        managers.retain(|manager| !manager.fields.is_empty());
        Ok(written)
    }

    /// Removes what was in `last` and is not in `owned`.
    fn prune(self, merged: &Value, last: &FieldSet, owned: &FieldSet) -> Value {
        let named = |fields: &FieldSet| typed::with_named_fields(fields, self.schema);
        let fields_of = |value: &Value| named(&typed::field_set(value, self.schema));
        let remove = |fields: &FieldSet| typed::remove(merged, fields, self.schema);

        let (last, all) = (named(last), fields_of(merged));
        // Without the last configuration, with all that goes because it was below something of it.
        let pruned = remove(&last);
        // With what somebody owns.
        let kept = fields_of(&pruned).union(&named(owned));
        let pruned = remove(&all.difference(&kept));
        // With what nobody owns but was not in the last configuration either.
        let gone = all.difference(&fields_of(&pruned)).intersection(&last);
        remove(&gone)
    }
}
