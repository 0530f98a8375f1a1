//! The parameters of a request.

use crate::{
    schema::quote,
    status::{Cause, Failure},
};

/// The parameters of a request, in the order in which they came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

/// What a write does with fields that the kind does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    /// It drops them.
    Ignore,
    /// It drops them and warns.
    Warn,
    /// It fails.
    Strict,
}

/// The options that all writes have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteOptions {
    /// Whether nothing is written.
    pub(crate) dry_run: bool,
    pub(crate) validation: FieldValidation,
}

impl Query {
    /// Reads the parameters.
    pub(crate) fn parse(query: &str) -> Self {
        Self(form_urlencoded::parse(query.as_bytes()).into_owned().collect())
    }

    /// Returns the first value of a parameter, if it is not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    /// Returns the values of a parameter.
    pub(crate) fn all<'q>(&'q self, name: &'q str) -> impl Iterator<Item = &'q str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns whether the parameter is true. As on the API server, whatever is not false is true, and a
    /// parameter without a value as well.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.tri(name).unwrap_or(false)
    }

    /// Returns the value of a flag that may be absent.
    pub(crate) fn tri(&self, name: &str) -> Option<bool> {
        let value = self.all(name).next()?;
        Some(!matches!(value.to_ascii_lowercase().as_str(), "false" | "0"))
    }

    /// Returns a whole number.
    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>, Failure> {
        let Some(value) = self.all(name).next() else { return Ok(None) };
        value
            .parse()
            .map(Some)
            .map_err(|_| Failure::bad_request(format!("strconv.ParseInt: parsing {value:?}: invalid syntax")))
    }

    /// Reads the options of a write, which the server calls by the name `options`.
    pub(crate) fn write_options(&self, options: &str) -> Result<WriteOptions, Failure> {
        let mut causes = Vec::new();
        let dry_run: Vec<_> = self.all("dryRun").collect();
        if dry_run.iter().any(|value| *value != "All") {
            let given: Vec<_> = dry_run.iter().map(|value| quote(value)).collect();
            causes.push(Cause {
                reason: "FieldValueNotSupported",
                message: format!("Unsupported value: [{}]: supported values: \"All\"", given.join(",")),
                field: "dryRun".to_owned(),
            });
        }
        if let Some(manager) = self.get("fieldManager") {
            if manager.chars().count() > 128 {
                causes.push(Cause {
                    reason: "FieldValueTooLong",
                    message: "Too long: may not be more than 128 bytes".to_owned(),
                    field: "fieldManager".to_owned(),
                });
            } else if let Some(at) = manager.chars().position(|character| character.is_control()) {
                let code = manager.chars().nth(at).map_or(0, u32::from);
                let why = format!("invalid character U+{code:04X} (at position {at})");
                causes.push(Cause::invalid_printed("fieldManager", quote(manager), why));
            }
        }
        let validation = match self.get("fieldValidation") {
            None | Some("Warn") => FieldValidation::Warn,
            Some("Strict") => FieldValidation::Strict,
            Some("Ignore") => FieldValidation::Ignore,
            Some(other) => {
                let supported = ["", "Ignore", "Strict", "Warn"];
                causes.push(Cause::not_supported("fieldValidation", other, supported));
                FieldValidation::Warn
            }
        };
        if causes.is_empty() {
            Ok(WriteOptions { dry_run: !dry_run.is_empty(), validation })
        } else {
            Err(Failure::invalid_named("meta.k8s.io", options, "", &causes))
        }
    }
}
