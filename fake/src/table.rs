//! Tables, as `kubectl get` asks for them.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    kinds::Kind,
    printer,
    request::{Look, Rows},
    view,
};

/// Returns a table without rows.
pub(crate) fn header(kind: &Kind, look: Look) -> Value {
    let columns = look.columns.then(|| printer::columns(&kind.group, &kind.kind, columns(kind)));
    json!({ "kind": "Table", "apiVersion": look.meta, "metadata": {}, "columnDefinitions": columns })
}

/// Returns the row of an object, with the ages at the time `now`.
pub(crate) fn row(kind: &Kind, value: Value, look: Look, now: Timestamp) -> Value {
    let cells = printer::cells(&kind.group, &kind.kind, columns(kind), &value, now);
    let object = match look.rows {
        Rows::Metadata => view::partial(&value, look),
        Rows::Object => value,
        Rows::Nothing => Value::Null,
    };
    json!({ "cells": cells, "object": object })
}

/// Returns the columns of a custom resource.
fn columns(kind: &Kind) -> Option<&[Value]> {
    kind.custom.as_ref().map(|custom| custom.columns.as_slice())
}
