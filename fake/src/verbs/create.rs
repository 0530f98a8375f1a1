//! Creating objects.

use serde_json::Value;

use super::{Answer, Call, Reply, questions, write};
use crate::{metadata, request::Input, status::Failure};

pub(super) fn create(call: &mut Call<'_>) -> Answer {
    // The server looks at the type of the body before the options, unlike in an update.
    Input::of(&call.request.headers)?;
    let options = call.request.query.write_options("CreateOptions")?;
    let mut value = write::read(call, options)?;
    check_namespace(call, &mut value)?;
    if let Some(status) = questions::status(&call.kind) {
        value["status"] = status;
        return Ok(Reply::Object(201, value));
    }
    write::apply_defaults(&call.kind, &mut value);
    Ok(write::insert(call, value, options, false)?.reply(201))
}

/// Checks that the object is in the namespace of the path, and puts it there.
pub(super) fn check_namespace(call: &Call<'_>, value: &mut Value) -> Result<(), Failure> {
    let namespace = metadata::text(value, "namespace");
    if !namespace.is_empty() && !call.path.namespace.is_empty() && namespace != call.path.namespace {
        return Err(Failure::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    metadata::set_text(value, "namespace", &call.path.namespace);
    Ok(())
}
