//! Conflicts between managers.

use std::fmt;

use crate::{
    json::write_quoted,
    managed::{ManagedFieldsEntry, Operation},
    path::FieldPath,
};

/// A field that an apply would change and that belongs to another manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The other manager. Its set of fields holds those that are in conflict.
    manager: ManagedFieldsEntry,
    path: FieldPath,
}

impl Conflict {
    /// Returns the name of the other manager.
    pub fn manager(&self) -> &str {
        &self.manager.manager
    }

    /// Returns how the other manager wrote the field.
    pub fn operation(&self) -> Operation {
        self.manager.operation
    }

    /// Returns the version in which the other manager wrote the field.
    pub fn api_version(&self) -> &str {
        &self.manager.api_version
    }

    /// Returns the subresource through which the other manager wrote the field, or an empty string.
    pub fn subresource(&self) -> &str {
        &self.manager.subresource
    }

    /// Returns the path of the field.
    pub fn path(&self) -> &FieldPath {
        &self.path
    }

    /// Returns the other manager in the words of the API server, such as `"kubectl" using apps/v1`.
    pub fn description(&self) -> String {
        let mut text = String::new();
        write_quoted(&self.manager.manager, &mut text);
        if !self.manager.subresource.is_empty() {
            text.push_str(" with subresource ");
            write_quoted(&self.manager.subresource, &mut text);
        }
        if self.manager.operation == Operation::Update {
            text.push_str(" using ");
            text.push_str(&self.manager.api_version);
        }
        text
    }
}

/// The conflicts of an apply, at least one.
///
/// They print as the message of the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflicts(Vec<Conflict>);

impl Conflicts {
    /// Creates the conflicts from the managers with the fields that are in conflict, or `None` if there are
    /// none.
    pub(super) fn new(mut managers: Vec<ManagedFieldsEntry>) -> Option<Self> {
        managers.sort_by_cached_key(ManagedFieldsEntry::identity);
        let conflicts: Vec<_> = managers
            .iter()
            .flat_map(|manager| manager.fields.iter().map(|path| Conflict { manager: manager.clone(), path }))
            .collect();
        (!conflicts.is_empty()).then_some(Self(conflicts))
    }

    /// Returns the conflicts, sorted by manager.
    pub fn as_slice(&self) -> &[Conflict] {
        &self.0
    }
}

impl fmt::Display for Conflicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [conflict] = self.as_slice() {
            let (manager, path) = (conflict.description(), conflict.path());
            return write!(f, "Apply failed with 1 conflict: conflict with {manager}: {path}");
        }
        write!(f, "Apply failed with {} conflicts: ", self.0.len())?;
        let is_same = |left: &Conflict, right: &Conflict| left.manager.is_same_manager(&right.manager);
        for (index, conflicts) in self.0.chunk_by(is_same).enumerate() {
            let separator = if index > 0 { "\n" } else { "" };
            write!(f, "{separator}conflicts with {}:", conflicts[0].description())?;
            for conflict in conflicts {
                write!(f, "\n- {}", conflict.path())?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Conflicts {}
