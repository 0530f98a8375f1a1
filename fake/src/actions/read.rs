//! From a request to its action.

use bytes::Bytes;
use http::Method;
use serde_json::Value;

use super::{Action, Content, PatchType, Verb};
use crate::{
    decode,
    request::{self, Path, Query, ResourcePath},
};

impl Action {
    /// Reads what a request asks for. `None` is a request for something else than a resource, such as discovery, or
    /// one that no resource takes.
    pub(crate) fn read(request: &http::Request<Bytes>) -> Option<Self> {
        let Path::Resource(path) = Path::parse(request.uri().path()) else { return None };
        let query = Query::parse(request.uri().query().unwrap_or_default());
        let verb = verb(request.method(), &path, &query)?;
        let text = |name: &str| query.get(name).unwrap_or_default().to_owned();
        Some(Self {
            verb,
            labels: text("labelSelector"),
            fields: text("fieldSelector"),
            force: verb == Verb::Patch && query.flag("force"),
            dry_run: verb.is_write() && query.get("dryRun").is_some(),
            content: content(verb, request),
            group: path.group,
            version: path.version,
            resource: path.plural,
            subresource: path.subresource,
            namespace: path.namespace,
            name: path.name,
        })
    }
}

fn verb(method: &Method, path: &ResourcePath, query: &Query) -> Option<Verb> {
    let named = !path.name.is_empty();
    Some(match *method {
        Method::GET if path.watch || (!named && query.flag("watch")) => Verb::Watch,
        Method::GET if named => Verb::Get,
        Method::GET => Verb::List,
        Method::POST => Verb::Create,
        Method::PUT => Verb::Update,
        Method::PATCH => Verb::Patch,
        Method::DELETE if named => Verb::Delete,
        Method::DELETE => Verb::DeleteCollection,
        _ => return None,
    })
}

fn content(verb: Verb, request: &http::Request<Bytes>) -> Option<Content> {
    let body = request.body();
    if body.is_empty() || !verb.is_write() {
        return None;
    }
    let value = decode::yaml(body).unwrap_or_else(|_| String::from_utf8_lossy(body).into());
    match verb {
        Verb::Patch => {
            let patch_type = match request::content_type(request.headers()).as_str() {
                "application/json-patch+json" => PatchType::Json,
                "application/strategic-merge-patch+json" => PatchType::Strategic,
                "application/apply-patch+yaml" => PatchType::Apply,
                _ => PatchType::Merge,
            };
            Some(Content::Patch(patch_type, value))
        }
        Verb::Delete | Verb::DeleteCollection => options(value),
        _ => Some(Content::Object(value)),
    }
}

/// Returns the options of a deletion, if it has any.
fn options(mut value: Value) -> Option<Content> {
    if let Value::Object(fields) = &mut value {
        fields.retain(|name, value| !matches!(name.as_str(), "apiVersion" | "kind") && !value.is_null());
        if fields.is_empty() {
            return None;
        }
    }
    Some(Content::Options(value))
}
