//! The differences between the real server and the fake that are accepted, and why.
//!
//! Every other difference fails the suite, and so does an entry that no longer differs.

/// Fields that may differ.
#[derive(Clone, Copy, Debug)]
pub struct Accepted {
    /// The topic in the table of differences in the fake's documentation.
    pub topic: &'static str,
    /// The scenario's name; `*` stands for any text.
    pub scenario: &'static str,
    /// The step, counted from 1; any if absent.
    pub step: Option<usize>,
    /// The field, such as `body.metadata.generation`; `*` stands for any text.
    pub field: &'static str,
    /// Why the fake differs, and why it does not matter.
    pub reason: &'static str,
}

/// A topic of differences, with the reason and the scenarios, steps and fields that show them.
struct Topic {
    name: &'static str,
    reason: &'static str,
    places: &'static [(&'static str, Option<usize>, &'static str)],
}

const TOPICS: &[Topic] = &[
    Topic {
        name: "garbage collection",
        reason: "a test that makes an owner reference by hand would lose the object at once",
        places: &[("an object whose owner never existed is collected", Some(2), "*")],
    },
    Topic {
        name: "versions of Kubernetes' own kinds",
        reason: "conversion needs the code of each kind, and clients use one version of a kind",
        places: &[("a built-in object is read through its other versions", Some(2), "*")],
    },
    Topic {
        name: "validation of Kubernetes' own kinds",
        reason: "the rules of each kind are long, and controllers under test send valid objects",
        places: &[
            // The message shows how the whole specification differs, as Go prints it.
            ("a pod's spec hardly changes", Some(3), "*message"),
        ],
    },
    Topic {
        name: "wrong types",
        reason: "the words come from Go's parsers and types; status code and reason are the same",
        places: &[
            ("a built-in field of the wrong type is refused", None, "*message"),
            ("a strategic merge patch with a bad directive is refused", Some(5), "*message"),
            ("an apply that is no YAML is refused", None, "body.message"),
            ("an object is created from YAML", Some(3), "body.message"),
        ],
    },
    Topic {
        name: "tables",
        reason: "the descriptions of columns are for people, and long; kubectl does not show them",
        places: &[
            ("a watch shows table rows when they are asked for", None, "*columnDefinitions*description"),
            ("a list as a table", None, "*columnDefinitions*description"),
            ("an object as a table", None, "*columnDefinitions*description"),
            ("a table with whole objects or none", None, "*columnDefinitions*description"),
            ("an empty table has columns", None, "*columnDefinitions*description"),
            ("a table is one of several accepted answers", None, "*columnDefinitions*description"),
            ("a table of deployments, pods and secrets", None, "*columnDefinitions*description"),
            ("writes can answer with a table", None, "*columnDefinitions*description"),
            ("the old versions of table and metadata", None, "*columnDefinitions*description"),
            ("a table of a namespace and of definitions", None, "*columnDefinitions*description"),
        ],
    },
];

/// All accepted differences.
pub fn accepted() -> Vec<Accepted> {
    let entries = TOPICS.iter().flat_map(|topic| {
        topic.places.iter().map(|&(scenario, step, field)| Accepted {
            topic: topic.name,
            scenario,
            step,
            field,
            reason: topic.reason,
        })
    });
    entries.collect()
}

impl Accepted {
    /// Whether the entry is about this field.
    pub fn covers(&self, scenario: &str, step: usize, field: &str) -> bool {
        matches(self.scenario, scenario)
            && self.step.is_none_or(|only| only == step)
            && matches(self.field, field)
    }
}

/// Whether a text fits a pattern in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            let mut ends = text.char_indices().map(|(place, _)| place).chain([text.len()]);
            ends.any(|place| matches(rest, &text[place..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        assert!(matches("body.*.name", "body.metadata.name"));
        assert!(matches("*", ""));
        assert!(!matches("body.*.name", "body.name"));
        assert!(!matches("body", "body.name"));
    }
}
