//! The paths to fields that a CRD names, in the form that the API server asks for.

use super::rule::Rule;

/// Where the value of a column is.
pub(super) const COLUMN_PATH: Rule = Rule {
    what: "JSON path",
    check: from_the_object,
    help: "a path starts at the object, as in `.spec.cidr`",
};

/// A field that a field selector may name.
pub(super) const SELECTABLE_PATH: Rule = Rule {
    what: "selectable field",
    check: selectable,
    help: "a selectable field is a string, a boolean or an integer of the spec or the status, such as `.spec.cidr`",
};

/// Where the wanted number of replicas is.
pub(super) const SPEC_REPLICAS_PATH: Rule = Rule {
    what: "path of the wanted replicas",
    check: |text| under(text, &[".spec."]),
    help: "it is a field of the spec, such as `.spec.replicas`",
};

/// Where the present number of replicas is.
pub(super) const STATUS_REPLICAS_PATH: Rule = Rule {
    what: "path of the present replicas",
    check: |text| under(text, &[".status."]),
    help: "it is a field of the status, such as `.status.replicas`",
};

/// Where the selector of the replicas is.
pub(super) const LABEL_SELECTOR_PATH: Rule = Rule {
    what: "path of the label selector",
    check: |text| under(text, &[".spec.", ".status."]),
    help: "it is a field of the spec or the status, such as `.status.selector`",
};

fn from_the_object(text: &str) -> Result<(), String> {
    if !text.starts_with('.') {
        return Err("it does not start with a dot".into());
    }
    Ok(())
}

fn under(text: &str, starts: &[&str]) -> Result<(), String> {
    if !starts.iter().any(|start| text.starts_with(start)) {
        return Err(format!("it does not start with `{}`", starts.join("` or `")));
    }
    Ok(())
}

fn selectable(text: &str) -> Result<(), String> {
    from_the_object(text)?;
    let mut names = text.split('.').skip(1);
    if text.contains(['[', ']']) {
        return Err("it is within a list or a map".into());
    }
    if names.clone().any(str::is_empty) {
        return Err("it has an empty name between its dots".into());
    }
    if names.next() == Some("metadata") {
        return Err("the metadata has selectable fields of its own".into());
    }
    Ok(())
}
