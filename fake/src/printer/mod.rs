//! The columns and cells of tables, as `kubectl get` shows them.
//!
//! The server, not kubectl, decides what `kubectl get` prints: it has columns for its own kinds, and takes those of
//! custom resources from `additionalPrinterColumns`. [`columns`] and [`cells`] do the same, as pure functions.
//!
//! # What is guaranteed
//! - The names, types, formats and priorities of the columns, and the cells, are those of the real server for custom
//!   resources, Pods, Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, CronJobs, Services, Ingresses,
//!   NetworkPolicies, ConfigMaps, Secrets, PersistentVolumeClaims, Namespaces, ServiceAccounts, role bindings,
//!   PodDisruptionBudgets, Leases and Events: `tests/printer_parity.rs` asks both. Nodes and PriorityClasses have their
//!   columns, too, which `tests/served/kubectl` looks at. Other kinds have the name and the time of creation.
//!
//! # What is left out
//! - Columns of Kubernetes' own kinds have no descriptions, except for the name and the age.
//! - Of the JSON paths of columns, `..`, slices and unions are not evaluated: their cells are empty.

mod age;
mod builtin;
mod cluster;
mod jsonpath;
mod workloads;

use jiff::Timestamp;
use serde_json::{Value, json};

use self::age::{age, age_of};

const NAME: &str = "Name must be unique within a namespace. Is required when creating resources, although some resources \
                    may allow a client to request the generation of an appropriate name automatically. Name is primarily \
                    intended for creation idempotence and configuration definition. Cannot be updated. More info: \
                    https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";

const AGE: &str = "CreationTimestamp is a timestamp representing the server time when this object was created. It is not \
                   guaranteed to be set in happens-before order across separate operations. Clients may not set this \
                   value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null \
                   for lists. More info: \
                   https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/// The columns of a kind. `custom` are the `additionalPrinterColumns` of a custom resource, which may be none.
pub fn columns(group: &str, kind: &str, custom: Option<&[Value]>) -> Vec<Value> {
    let column = |name: &str, kind: &str, format: &str, description: &str, priority: i64| json!({ "name": name, "type": kind, "format": format, "description": description, "priority": priority });
    let name = column("Name", "string", "name", NAME, 0);
    let Some(custom) = custom else {
        let Some(table) = builtin::table(group, kind) else {
            return vec![name, column("Created At", "date", "", AGE, 0)];
        };
        let builtin = |entry: &builtin::Column| match entry.name {
            "Name" => column("Name", "string", "name", NAME, entry.priority),
            "Age" => column("Age", entry.kind, "", AGE, entry.priority),
            title => column(title, entry.kind, "", "", entry.priority),
        };
        return table.columns.iter().map(builtin).collect();
    };
    let mut columns = vec![name];
    if custom.is_empty() {
        columns.push(column("Age", "date", "", AGE, 0));
    }
    for entry in custom {
        let text = |key: &str| entry[key].as_str().unwrap_or_default();
        let description = match text("description") {
            "" => format!("Custom resource definition column (in JSONPath format): {}", text("jsonPath")),
            description => description.to_owned(),
        };
        let priority = entry["priority"].as_i64().unwrap_or_default();
        columns.push(column(text("name"), text("type"), text("format"), &description, priority));
    }
    columns
}

/// The cells of an object, one for each column. Ages are those at the time `now`.
///
/// ```
/// use genclient_fake::printer::cells;
/// use serde_json::json;
///
/// let network = json!({
///     "metadata": { "name": "example", "creationTimestamp": "2026-01-01T00:00:00Z" },
///     "spec": { "cidr": "10.0.0.0/8" },
/// });
/// let columns = [
///     json!({ "name": "CIDR", "type": "string", "jsonPath": ".spec.cidr" }),
///     json!({ "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp" }),
/// ];
/// let now = "2026-01-01T00:05:30Z".parse()?;
/// assert_eq!(cells("samplecrd.k8s.io", "Network", Some(&columns), &network, now), ["example", "10.0.0.0/8", "5m30s"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn cells(
    group: &str,
    kind: &str,
    custom: Option<&[Value]>,
    object: &Value,
    now: Timestamp,
) -> Vec<Value> {
    let metadata = &object["metadata"];
    let name = metadata["name"].clone();
    let Some(custom) = custom else {
        return match builtin::table(group, kind) {
            Some(table) => (table.cells)(object, now),
            None => vec![name, metadata["creationTimestamp"].clone()],
        };
    };
    let mut cells = vec![name];
    if custom.is_empty() {
        cells.push(age_of(&metadata["creationTimestamp"], now));
    }
    for column in custom {
        let found = jsonpath::first(column["jsonPath"].as_str().unwrap_or_default(), object);
        cells.push(
            found.map_or(Value::Null, |found| cell(column["type"].as_str().unwrap_or_default(), found, now)),
        );
    }
    cells
}

/// A value as the cell of a column of a type.
fn cell(kind: &str, value: &Value, now: Timestamp) -> Value {
    match (kind, value) {
        (_, Value::Null) => Value::Null,
        ("string", Value::String(_)) => value.clone(),
        ("string", other) => other.to_string().into(),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the server cuts off what is behind the point, too"
        )]
        ("integer", Value::Number(number)) => {
            number.as_i64().or(number.as_f64().map(|float| float as i64)).map_or(Value::Null, Value::from)
        }
        ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => value.clone(),
        ("date", Value::String(text)) => match text.parse::<Timestamp>() {
            Ok(time) => age(time, now).into(),
            Err(_) => "<invalid>".into(),
        },
        _ => Value::Null,
    }
}
