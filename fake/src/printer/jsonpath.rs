//! The JSON paths of printer columns, such as `.status.conditions[?(@.type=="Ready")].status`.

use serde_json::Value;

/// One step of a path.
#[derive(Debug, PartialEq)]
enum Step<'a> {
    Field(String),
    Index(i64),
    All,
    /// The items for which a field compares so with a value.
    Filter {
        path: &'a str,
        operator: &'a str,
        value: Value,
    },
}

/// The first value that a path leads to.
pub(super) fn first<'v>(path: &str, value: &'v Value) -> Option<&'v Value> {
    let mut found = vec![value];
    let mut rest = path;
    while !rest.is_empty() {
        let step;
        (step, rest) = split(rest)?;
        found = found.into_iter().flat_map(|value| follow(&step, value)).collect();
    }
    found.first().copied()
}

fn follow<'v>(step: &Step<'_>, value: &'v Value) -> Vec<&'v Value> {
    match (step, value) {
        (Step::Field(name), value) => value.get(name.as_str()).into_iter().collect(),
        (Step::Index(index), Value::Array(items)) => {
            let index = if *index < 0 {
                usize::try_from(-index).ok().and_then(|back| items.len().checked_sub(back))
            } else {
                usize::try_from(*index).ok()
            };
            index.and_then(|index| items.get(index)).into_iter().collect()
        }
        (Step::All, Value::Array(items)) => items.iter().collect(),
        (Step::All, Value::Object(fields)) => fields.values().collect(),
        (Step::Filter { path, operator, value: wanted }, Value::Array(items)) => items
            .iter()
            .filter(|item| first(path, item).is_some_and(|found| compares(found, operator, wanted)))
            .collect(),
        _ => Vec::new(),
    }
}

fn compares(found: &Value, operator: &str, wanted: &Value) -> bool {
    let order = match (found, wanted) {
        (Value::String(found), Value::String(wanted)) => Some(found.cmp(wanted)),
        (Value::Number(found), Value::Number(wanted)) => found.as_f64().partial_cmp(&wanted.as_f64()),
        _ => None,
    };
    match operator {
        "==" => found == wanted || order.is_some_and(std::cmp::Ordering::is_eq),
        "!=" => found != wanted && !order.is_some_and(std::cmp::Ordering::is_eq),
        "<" => order.is_some_and(std::cmp::Ordering::is_lt),
        "<=" => order.is_some_and(std::cmp::Ordering::is_le),
        ">" => order.is_some_and(std::cmp::Ordering::is_gt),
        _ => order.is_some_and(std::cmp::Ordering::is_ge),
    }
}

/// Splits off the first step.
fn split(path: &str) -> Option<(Step<'_>, &str)> {
    if let Some(rest) = path.strip_prefix('.') {
        // Before a bracket the dot says nothing.
        if rest.starts_with('[') {
            return split(rest);
        }
        let mut name = String::new();
        let mut chars = rest.char_indices();
        while let Some((i, c)) = chars.next() {
            match c {
                '\\' => name.extend(chars.next().map(|(_, c)| c)),
                '.' | '[' => return (!name.is_empty()).then(|| (field(name), &rest[i..])),
                c => name.push(c),
            }
        }
        return (!name.is_empty()).then(|| (field(name), ""));
    }
    let rest = path.strip_prefix('[')?;
    if let Some(rest) = rest.strip_prefix("?(") {
        let (condition, rest) = rest.split_once(")]")?;
        let condition = condition.trim().strip_prefix('@')?;
        let operator =
            ["==", "!=", "<=", ">=", "<", ">"].into_iter().find(|operator| condition.contains(operator))?;
        let (path, value) = condition.split_once(operator)?;
        return Some((Step::Filter { path: path.trim(), operator, value: literal(value.trim())? }, rest));
    }
    if let Some(quoted) = rest.strip_prefix('\'') {
        let (name, rest) = quoted.split_once("']")?;
        return Some((Step::Field(name.to_owned()), rest));
    }
    let (index, rest) = rest.split_once(']')?;
    match index {
        "*" => Some((Step::All, rest)),
        index => Some((Step::Index(index.parse().ok()?), rest)),
    }
}

fn field<'a>(name: String) -> Step<'a> {
    if name == "*" { Step::All } else { Step::Field(name) }
}

fn literal(text: &str) -> Option<Value> {
    for quote in ['"', '\''] {
        if let Some(text) = text.strip_prefix(quote) {
            return Some(text.strip_suffix(quote)?.into());
        }
    }
    serde_json::from_str(text).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::first;

    #[test]
    fn a_path_leads_to_its_first_value() {
        let value = json!({
            "metadata": { "labels": { "app.kubernetes.io/name": "x" } },
            "list": [{ "type": "A", "n": 1 }, { "type": "B", "n": 2 }],
        });
        for (path, found) in [
            (".metadata.labels.app\\.kubernetes\\.io/name", json!("x")),
            (".metadata.labels['app.kubernetes.io/name']", json!("x")),
            (".list[1].n", json!(2)),
            (".list[-1].n", json!(2)),
            (".list[*].type", json!("A")),
            (r#".list[?(@.type=="B")].n"#, json!(2)),
            (".list[?(@.n > 1)].type", json!("B")),
            (".nothing.at.all", Value::Null),
            (".list[7]", Value::Null),
        ] {
            assert_eq!(first(path, &value).cloned().unwrap_or_default(), found, "{path}");
        }
    }
}
