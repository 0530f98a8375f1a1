//! The schemas of CRDs, as kube-apiserver 1.36 treats them. Pure functions on [`serde_json::Value`]s.
//!
//! A custom resource takes this way through the server, and [`StructuralSchema`] has a function for every step:
//!
//! 1. [`prune`](StructuralSchema::prune) removes what the schema does not know, and names it;
//! 2. [`apply_defaults`](StructuralSchema::apply_defaults) adds what the schema has a default for;
//! 3. [`validate`](StructuralSchema::validate) says what is wrong with it, in the server's words, by the schema and by
//!    the rules in CEL.
//!
//! # What is guaranteed
//! - Accepted objects and the causes of refused ones are those of the real server: `tests/schema_parity.rs` asks both.
//! - Causes come in one order: that of the checks in the server, and the fields of an object by name. The server visits
//!   the fields of an object in random order.
//! - No schema, rule or value makes a function run forever or exhaust the stack. Schemas nest at most 100 deep, and a
//!   rule has a budget of steps.
//! - A rule that cannot be evaluated here is refused when the schema is read, never accepted unseen.
//!
//! # What is not checked
//! - Rules that call `semver` and its like, or macros with two variables such as `self.all(i, x, …)`, are refused.
//! - With a status subresource, the server allows fewer keywords at the root of a schema.
//! - While rules run, the server counts what they cost and stops them at a limit. Here the limits are the same, but
//!   what is counted differs in detail. The estimate when a CRD is created is the server's.
//! - Two lists of the type `set` or `map` are equal in a rule of the server if they have the same items in any order.
//!   Here the order counts.
//! - The text that follows `compilation failed:` is the server's for references, fields, calls and types. Syntax
//!   errors, and errors of regular expressions, are in the words of the crates that find them.
//! - A schema of the wrong shape, such as `type: 5`, which the server refuses when it decodes the CRD, is reported as
//!   a cause with the path of the mistake.
//! - Of the metadata of an embedded object, only the name is validated.

mod cause;
mod check;
mod defaults;
mod embedded;
mod formats;
mod lists;
mod model;
mod path;
mod prune;
mod ratchet;
mod re2;
mod rules;
mod url;
mod validate;

use std::{error, fmt};

use serde_json::Value;

pub use self::cause::Cause;
pub(crate) use self::rules::quantity::Quantity;
use self::{cause::Shown, model::Schema, ratchet::Correlation};
pub(crate) use self::{cause::quote, embedded::LABEL_RULE};

/// The schema of one version of a CRD.
#[derive(Clone, Debug)]
pub struct StructuralSchema {
    schema: Schema,
}

/// Why a schema is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaErrors {
    /// The reasons; never empty.
    pub causes: Vec<Cause>,
}

impl fmt::Display for SchemaErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, cause) in self.causes.iter().enumerate() {
            let separator = if i == 0 { "" } else { ", " };
            write!(f, "{separator}{cause}")?;
        }
        Ok(())
    }
}

impl error::Error for SchemaErrors {}

impl StructuralSchema {
    /// Reads and checks the `openAPIV3Schema` of a CRD whose versions all have this one.
    ///
    /// # Errors
    /// When the server would refuse the CRD because of this schema. The paths of the causes begin with
    /// `spec.validation.openAPIV3Schema`: the server calls it so where the versions of a CRD do not differ in it, even
    /// if there is one version only.
    pub fn new(schema: &Value) -> Result<Self, SchemaErrors> {
        Self::at(schema, "spec.validation.openAPIV3Schema")
    }

    /// Reads and checks the schema of one version of several that differ, whose path is such as
    /// `spec.versions[0].schema.openAPIV3Schema`.
    ///
    /// # Errors
    /// When the server would refuse the CRD because of this schema.
    pub fn at(schema: &Value, at: &str) -> Result<Self, SchemaErrors> {
        let mut schema = Schema::parse(schema, at).map_err(|causes| SchemaErrors { causes })?;
        let causes = check::check(&mut schema, at);
        if causes.is_empty() { Ok(Self { schema }) } else { Err(SchemaErrors { causes }) }
    }

    /// Removes the fields that the schema does not know, and the nulls that it does not allow, and returns the paths of
    /// the unknown fields, as the warnings `unknown field "spec.x"` name them. `apiVersion`, `kind` and `metadata` of
    /// the object itself are left as they are.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        let paths = prune::prune(object, &self.schema, true);
        prune::prune_nulls(object, Some(&self.schema));
        paths
    }

    /// Removes the fields that the schema does not know, and leaves the nulls.
    pub(crate) fn prune_unknown(&self, object: &mut Value) -> Vec<String> {
        prune::prune(object, &self.schema, true)
    }

    /// Sets the defaults of fields that are absent, or null where null is not allowed.
    pub fn apply_defaults(&self, object: &mut Value) {
        defaults::apply(object, &self.schema);
    }

    /// Says what is wrong with a new object, or with the new state of an old one. What an update does not change is not
    /// refused again, as far as the server can tell.
    pub fn validate(&self, new: &Value, old: Option<&Value>) -> Vec<Cause> {
        self.validate_part(new, old, false, Vec::new())
    }

    /// Like [`StructuralSchema::validate`], after what was found wrong already. Of the status alone, the values of all
    /// else are not looked at.
    pub(crate) fn validate_part(
        &self,
        new: &Value,
        old: Option<&Value>,
        status: bool,
        found: Vec<Cause>,
    ) -> Vec<Cause> {
        let schema = &self.schema;
        let update = old.map(|old| Correlation { new, old, schema });
        let mut causes = found;
        if !status {
            causes.extend(validate::validate(new, schema, update, ""));
            causes.extend(embedded::validate(new, schema, schema.embedded, ""));
        } else if let (Some(value), Some(schema)) = (new.get("status"), schema.field("status")) {
            let update = update.and_then(|update| update.key("status"));
            causes.extend(validate::validate(value, schema, update, "status"));
        }
        if old.is_none_or(|old| lists::validate(old, schema, "").is_empty()) {
            causes.extend(lists::validate(new, schema, ""));
        }
        if schema.has_rules() {
            if causes.iter().any(Cause::blocks_rules) {
                let detail = "some validation rules were not checked because the object was invalid; correct the \
                              existing errors to complete validation";
                causes.push(Cause::invalid("<nil>", Shown::Value(&Value::Null), detail));
            } else {
                causes.extend(rules::validate(new, schema, old, update, true, ""));
            }
        }
        causes
    }
}

#[cfg(test)]
mod tests;
