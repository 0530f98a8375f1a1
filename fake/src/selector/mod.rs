//! Which objects a list or a watch shows.

mod field;
mod label;

use crate::{kinds::Kind, request::Query, status::Failure, storage::Object};
use field::FieldSelector;
use genclient_runtime::Selector;

/// Which objects of a resource a list or a watch shows.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    /// The beginning of the keys of the objects.
    pub(crate) prefix: String,
    labels: Selector,
    fields: FieldSelector,
}

impl Filter {
    /// Reads the selectors of a request.
    pub(crate) fn new(namespace: &str, query: &Query) -> Result<Self, Failure> {
        let prefix = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
        let labels = label::parse(query.get("labelSelector").unwrap_or_default())?;
        let fields = FieldSelector::parse(query.get("fieldSelector").unwrap_or_default())?;
        Ok(Self { prefix, labels, fields })
    }

    /// Checks that the kind has the fields that the filter names. The server does so after all other checks.
    pub(crate) fn check_fields(&self, kind: &Kind) -> Result<(), Failure> {
        self.fields.check(kind)
    }

    /// Restricts the filter to the object with this name.
    pub(crate) fn named(mut self, name: &str) -> Self {
        self.fields = self.fields.and_name(name);
        self
    }

    /// Returns whether the filter shows every object of its namespaces.
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything()
    }

    /// Returns whether the filter names the one object that it can show.
    pub(crate) fn is_one(&self) -> bool {
        self.fields.names_object()
    }

    /// Returns whether the filter shows the object.
    pub(crate) fn matches(&self, object: &Object) -> bool {
        (self.prefix.is_empty()
            || self.prefix.strip_suffix('/').is_some_and(|namespace| namespace == object.namespace))
            && self.labels.matches_labels(|key| object.label(key))
            && self.fields.matches(object)
    }
}
