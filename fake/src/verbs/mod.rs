//! What can be done with a resource.

mod create;
mod delete;
mod list;
mod patch;
mod questions;
mod scale;
mod update;
mod watch;
mod write;

use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use serde_json::Value;

pub(crate) use delete::{Propagation, delete_now};
pub(crate) use write::{Part, after_removal, after_write, is_done, status_and_spec, validate};

use crate::{
    kinds::Kind,
    names,
    request::{Look, ONLY_ACCEPTED, PatchType, Request, ResourcePath},
    schema::quote,
    server::Shared,
    status::Failure,
    storage::{Object, State},
    watch::Watch,
};

/// A request for a resource, and what it works on.
pub(crate) struct Call<'c> {
    pub(crate) server: &'c Arc<Shared>,
    pub(crate) state: &'c mut State,
    pub(crate) request: &'c Request,
    pub(crate) kind: Arc<Kind>,
    pub(crate) path: &'c ResourcePath,
    pub(crate) warnings: &'c mut Vec<String>,
}

/// The answer to a request that succeeded.
pub(crate) enum Reply {
    /// An object of the kind, with the code of the answer.
    Object(u16, Value),
    /// An object of the kind as it is stored.
    Stored(u16, Arc<Object>),
    /// An object of another kind.
    Plain(u16, Value),
    /// A list that is encoded already.
    List(Bytes),
    Watch(Box<Watch>),
}

pub(crate) type Answer = Result<Reply, Failure>;

impl Call<'_> {
    /// Returns the object that the path names.
    pub(crate) fn found(&self) -> Result<Arc<Object>, Failure> {
        self.check_name()?;
        let found = self.state.get(&self.kind, &self.path.namespace, &self.path.name);
        let found = found.ok_or_else(|| Failure::not_found(&self.kind, &self.path.name))?;
        self.kind.check_stored(&found.stored_version)?;
        Ok(found)
    }

    /// Checks that the name of the path can be a part of a key.
    pub(crate) fn check_name(&self) -> Result<(), Failure> {
        if self.path.name.is_empty() {
            return Err(Failure::bad_request("name must be provided"));
        }
        let problems = names::path_segment(&self.path.name, false);
        if problems.is_empty() {
            return Ok(());
        }
        let name = quote(&self.path.name);
        Err(Failure::bad_request(format!("Name parameter invalid: {name}: {}", problems.join(";"))))
    }

    /// Returns the object that the path names, at the version that the query asks for, or a later one.
    fn asked(&self) -> Result<Arc<Object>, Failure> {
        self.check_name()?;
        let version = self.request.query.get("resourceVersion").unwrap_or("0");
        let version: u64 = version.parse().map_err(|_| Failure::unknown(list::bad_version(version)))?;
        if version > self.state.version() {
            return Err(Failure::version_too_large(version, self.state.version()));
        }
        self.found()
    }
}

/// Returns the verb of a request: what it does with an object or with a collection.
///
/// The order of the checks is that of the server, which first looks for the path, then for the method, and then at
/// the media types.
fn verb(call: &Call<'_>) -> Result<&'static str, Failure> {
    let (path, custom) = (call.path, call.kind.is_custom());
    let sub = path.subresource.as_str();
    let subresource = call.kind.subresource(sub);
    if !custom && (!path.rest.is_empty() || !sub.is_empty() && subresource.is_none()) {
        return Err(Failure::no_such_path());
    }
    if custom && !sub.is_empty() && subresource.is_none() {
        return Err(Failure::not_found(&call.kind, &path.name));
    }
    // Only custom resources can be asked for their headers alone.
    let method = match &call.request.method {
        &Method::HEAD if custom => &Method::GET,
        method => method,
    };
    let watch = path.watch || call.request.query.flag("watch");
    // Of custom resources, whatever has no name is listed, and no subresource offers that.
    let listed = sub.is_empty() || custom && method == Method::GET;
    let named = !path.name.is_empty() || !listed;
    let verb = match (method, named) {
        (&Method::GET, true) if path.watch && sub.is_empty() => "watch",
        (&Method::GET, true) => "get",
        (&Method::GET, false) if watch => "watch",
        (&Method::GET, false) => "list",
        (&Method::POST, false) => "create",
        (&Method::POST, true) if !sub.is_empty() || custom => "create",
        (&Method::PUT, true) => "update",
        (&Method::PATCH, true) => "patch",
        (&Method::DELETE, true) => "delete",
        (&Method::DELETE, false) => "deletecollection",
        (&Method::PATCH, false) if custom => {
            PatchType::of(&call.request.headers, false)?;
            return Err(Failure::bad_request("name must be provided"));
        }
        (&Method::PUT, false) if custom => return Err(Failure::bad_request("name must be provided")),
        _ if custom => return Err(Failure::verb_not_supported(&call.kind, "")),
        _ => return Err(Failure::method_not_supported()),
    };
    let verbs = subresource.map_or(&call.kind.verbs, |subresource| &subresource.verbs);
    if !verbs.iter().any(|offered| offered == verb) {
        return Err(match custom {
            true => Failure::verb_not_supported(&call.kind, verb),
            false => Failure::method_not_supported(),
        });
    }
    if verb == "patch" {
        PatchType::of(&call.request.headers, !custom)?;
    }
    Ok(verb)
}

/// Answers a request for a resource, and says how the answer shall look.
pub(crate) fn dispatch(call: &mut Call<'_>) -> Result<(Look, Reply), Failure> {
    let verb = verb(call)?;
    if call.path.name.is_empty() && !call.path.subresource.is_empty() {
        return Err(Failure::bad_request("name must be provided"));
    }
    let look = call.request.look().map_err(|failure| {
        let custom = call.kind.is_custom() && failure.code == 406;
        if custom { Failure::not_acceptable(ONLY_ACCEPTED) } else { failure }
    })?;
    Ok((look, answer(call, verb)?))
}

fn answer(call: &mut Call<'_>, verb: &str) -> Answer {
    let sub = call.path.subresource.as_str();
    match (verb, sub) {
        ("get", "scale") => scale::get(call),
        ("update", "scale") => scale::update(call),
        ("patch", "scale") => scale::patch(call),
        ("get", "" | "status" | "resize" | "ephemeralcontainers" | "approval") => {
            Ok(Reply::Stored(200, call.asked()?))
        }
        ("update", "" | "status" | "resize" | "ephemeralcontainers" | "approval" | "finalize") => {
            update::update(call)
        }
        ("patch", "" | "status" | "resize" | "ephemeralcontainers" | "approval") => patch::patch(call),
        ("create", "eviction") => delete::evict(call),
        ("create", "binding") => update::bind(call),
        ("create", "") => create::create(call),
        ("list", "") => list::list(call),
        ("watch", "") => watch::watch(call),
        ("delete", "") => delete::delete(call),
        ("deletecollection", "") => delete::delete_collection(call),
        (_, "attach" | "exec" | "log" | "portforward" | "proxy") => Err(Failure::nothing_runs(sub)),
        _ => Err(Failure::method_not_supported()),
    }
}
