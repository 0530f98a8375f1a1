//! Label selectors with the grammar and meaning of the API server.
//!
//! A selector parses if and only if the API server accepts it, and matches the same objects. A parse error
//! has the position in the text. Requirements are sorted by key, as on the server, so two selectors that
//! differ in the order of their keys are equal and print the same.

mod parse;
mod validate;

use std::{collections::BTreeSet, fmt, str::FromStr};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

pub use parse::ParseSelectorError;
pub(crate) use validate::{is_dns_label, is_dns_subdomain};

use crate::object::CacheObject;

/// Selects objects by their labels.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Selector {
    /// Sorted by key. `None` matches no object.
    requirements: Option<Vec<Requirement>>,
}

/// One condition of a selector. All conditions must hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Requirement {
    key: String,
    condition: Condition,
}

/// The condition that a label must meet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Condition {
    /// `key`
    Exists,
    /// `!key`
    DoesNotExist,
    /// `key=value`
    Equals(String),
    /// `key==value`. It means the same as `key=value` and is printed as written.
    DoubleEquals(String),
    /// `key!=value`; also matches an object without the label.
    NotEquals(String),
    /// `key in (…)`
    In(BTreeSet<String>),
    /// `key notin (…)`; also matches an object without the label.
    NotIn(BTreeSet<String>),
    /// `key>number`; the label must exist and be an integer.
    GreaterThan(Bound),
    /// `key<number`; the label must exist and be an integer.
    LessThan(Bound),
}

/// The bound of a comparison, as a number and as written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Bound {
    number: i64,
    text: String,
}

/// Why a typed `LabelSelector` is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LabelSelectorError {
    /// The key is not a valid label key.
    #[error("`{key}` is not a label key: {reason}")]
    Key {
        /// The invalid key.
        key: String,
        /// Why it is invalid.
        reason: String,
    },
    /// The value is not a valid label value.
    #[error("`{value}` is not a value for label `{key}`: {reason}")]
    Value {
        /// The key of the requirement.
        key: String,
        /// The invalid value.
        value: String,
        /// Why it is invalid.
        reason: String,
    },
    /// The operator does not exist.
    #[error("`{operator}` is not an operator: it must be In, NotIn, Exists or DoesNotExist")]
    Operator {
        /// The unknown operator.
        operator: String,
    },
    /// The operator needs values and has none.
    #[error("operator {operator} of `{key}` needs at least one value")]
    NoValues {
        /// The key of the requirement.
        key: String,
        /// The operator.
        operator: String,
    },
    /// The operator takes no values and has some.
    #[error("operator {operator} of `{key}` takes no values")]
    Values {
        /// The key of the requirement.
        key: String,
        /// The operator.
        operator: String,
    },
}

impl Selector {
    /// Returns a selector that matches every object.
    pub const fn everything() -> Self {
        Self { requirements: Some(Vec::new()) }
    }

    /// Returns a selector that matches no object.
    pub const fn nothing() -> Self {
        Self { requirements: None }
    }

    /// Parses a selector such as `app=web,tier in (front, back),!canary`. An empty text matches every object.
    pub fn parse(text: &str) -> Result<Self, ParseSelectorError> {
        parse::requirements(text).map(Self::from_requirements)
    }

    /// Returns whether the selector has no requirement, so that it matches every object.
    pub fn is_everything(&self) -> bool {
        self.requirements.as_ref().is_some_and(Vec::is_empty)
    }

    /// Returns whether the labels of the object meet every requirement.
    pub fn matches(&self, object: &impl CacheObject) -> bool {
        self.matches_labels(|key| object.label(key))
    }

    /// Returns whether labels meet every requirement. `label` returns the value of a label.
    pub fn matches_labels<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        self.requirements.as_ref().is_some_and(|requirements| {
            requirements.iter().all(|requirement| requirement.condition.holds(label(&requirement.key)))
        })
    }

    fn from_requirements(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_by(|left, right| left.key.cmp(&right.key));
        Self { requirements: Some(requirements) }
    }
}

impl Default for Selector {
    fn default() -> Self {
        Self::everything()
    }
}

impl Condition {
    fn holds(&self, label: Option<&str>) -> bool {
        let number = || label.and_then(|label| label.parse::<i64>().ok());
        match self {
            Self::Exists => label.is_some(),
            Self::DoesNotExist => label.is_none(),
            Self::Equals(value) | Self::DoubleEquals(value) => label == Some(value),
            Self::NotEquals(value) => label != Some(value),
            Self::In(values) => label.is_some_and(|label| values.contains(label)),
            Self::NotIn(values) => label.is_none_or(|label| !values.contains(label)),
            Self::GreaterThan(bound) => number().is_some_and(|number| number > bound.number),
            Self::LessThan(bound) => number().is_some_and(|number| number < bound.number),
        }
    }
}

impl FromStr for Selector {
    type Err = ParseSelectorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl TryFrom<&LabelSelector> for Selector {
    type Error = LabelSelectorError;

    /// An empty `LabelSelector` matches every object, as it does for the API server.
    fn try_from(typed: &LabelSelector) -> Result<Self, Self::Error> {
        let mut requirements = Vec::new();
        for (key, value) in typed.match_labels.iter().flatten() {
            requirements.push(Requirement {
                key: checked_key(key)?,
                condition: Condition::Equals(checked_value(key, value)?),
            });
        }
        for expression in typed.match_expressions.iter().flatten() {
            let key = checked_key(&expression.key)?;
            let operator = expression.operator.as_str();
            let values = expression
                .values
                .iter()
                .flatten()
                .map(|value| checked_value(&key, value))
                .collect::<Result<BTreeSet<_>, _>>()?;
            let condition = match (operator, values.is_empty()) {
                ("In", false) => Condition::In(values),
                ("NotIn", false) => Condition::NotIn(values),
                ("Exists", true) => Condition::Exists,
                ("DoesNotExist", true) => Condition::DoesNotExist,
                ("In" | "NotIn", true) => {
                    return Err(LabelSelectorError::NoValues { key, operator: operator.to_owned() });
                }
                ("Exists" | "DoesNotExist", false) => {
                    return Err(LabelSelectorError::Values { key, operator: operator.to_owned() });
                }
                _ => return Err(LabelSelectorError::Operator { operator: operator.to_owned() }),
            };
            requirements.push(Requirement { key, condition });
        }
        Ok(Self::from_requirements(requirements))
    }
}

impl TryFrom<LabelSelector> for Selector {
    type Error = LabelSelectorError;

    fn try_from(typed: LabelSelector) -> Result<Self, Self::Error> {
        Self::try_from(&typed)
    }
}

fn checked_key(key: &str) -> Result<String, LabelSelectorError> {
    match validate::label_key(key) {
        Ok(()) => Ok(key.to_owned()),
        Err(reason) => Err(LabelSelectorError::Key { key: key.to_owned(), reason }),
    }
}

fn checked_value(key: &str, value: &str) -> Result<String, LabelSelectorError> {
    match validate::label_value(value) {
        Ok(()) => Ok(value.to_owned()),
        Err(reason) => {
            Err(LabelSelectorError::Value { key: key.to_owned(), value: value.to_owned(), reason })
        }
    }
}

/// Writes the canonical form, which parses into the same selector. A selector that matches nothing has
/// no text form and writes nothing.
impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, requirement) in self.requirements.iter().flatten().enumerate() {
            if number > 0 {
                f.write_str(",")?;
            }
            requirement.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        let set = |values: &BTreeSet<String>| values.iter().map(String::as_str).collect::<Vec<_>>().join(",");
        match &self.condition {
            Condition::Exists => write!(f, "{key}"),
            Condition::DoesNotExist => write!(f, "!{key}"),
            Condition::Equals(value) => write!(f, "{key}={value}"),
            Condition::DoubleEquals(value) => write!(f, "{key}=={value}"),
            Condition::NotEquals(value) => write!(f, "{key}!={value}"),
            Condition::In(values) => write!(f, "{key} in ({})", set(values)),
            Condition::NotIn(values) => write!(f, "{key} notin ({})", set(values)),
            Condition::GreaterThan(bound) => write!(f, "{key}>{}", bound.text),
            Condition::LessThan(bound) => write!(f, "{key}<{}", bound.text),
        }
    }
}

#[cfg(test)]
mod tests;
