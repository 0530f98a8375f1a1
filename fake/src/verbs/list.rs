//! Lists, at any version that is still known, in pages.

use std::{collections::BTreeMap, sync::Arc};

use base64::{
    DecodeError, Engine,
    alphabet::URL_SAFE,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
    prelude::BASE64_URL_SAFE_NO_PAD,
};
use serde::{Deserialize, Serialize};

use super::{Answer, Call, Reply};
use crate::{
    decode,
    selector::Filter,
    status::{Cause, Failure},
    storage::{Object, Table},
    view::Page,
};

/// The place from which a list goes on, in the format of the server.
#[derive(Serialize, Deserialize)]
struct Token {
    v: String,
    rv: i64,
    /// The key after which the next page begins, with a slash before it.
    start: String,
}

/// Says that a version is not a number.
pub(super) fn invalid_version(version: &str) -> Failure {
    Failure::bad_request(format!("invalid resource version: {}", bad_version(version)))
}

/// Says what is wrong with a version.
pub(super) fn bad_version(version: &str) -> String {
    format!(
        "resourceVersion: Invalid value: {version:?}: strconv.ParseUint: parsing {version:?}: invalid syntax"
    )
}

/// Returns an error of the options of a list.
pub(super) fn invalid_options(causes: &[Cause]) -> Failure {
    Failure::invalid_named("meta.k8s.io", "ListOptions", "", causes)
}

/// A page of a list.
pub(super) struct Found {
    pub(super) objects: Vec<Arc<Object>>,
    pub(super) version: u64,
    pub(super) token: Option<String>,
    pub(super) remaining: Option<usize>,
}

pub(super) fn list(call: &mut Call<'_>) -> Answer {
    let look = call.request.look()?;
    let Found { objects, version, token, remaining } = page(call)?;
    objects.iter().try_for_each(|object| call.kind.check_stored(&object.stored_version))?;
    let now = call.server.clock.now();
    look.check_list(true, &decode::go_type(&call.kind))?;
    let page = Page { kind: &call.kind, look, now, version, token, remaining };
    Ok(Reply::List(page.encode(objects.iter().map(|object| &**object))))
}

/// Checks the selectors and the options of a list.
pub(super) fn check(call: &Call<'_>) -> Result<(), Failure> {
    let query = &call.request.query;
    let filter = Filter::new(&call.path.namespace, query)?;
    query.number("timeoutSeconds")?;
    query.number("limit")?;
    let parameter = |name: &str| query.get(name).unwrap_or_default();
    check_options(call, parameter("resourceVersion"), parameter("resourceVersionMatch"))?;
    filter.check_fields(&call.kind)
}

/// Returns the page of a list that a request asks for.
pub(super) fn page(call: &mut Call<'_>) -> Result<Found, Failure> {
    let query = &call.request.query;
    let filter = Filter::new(&call.path.namespace, query)?;
    query.number("timeoutSeconds")?;
    let limit =
        query.number("limit")?.and_then(|limit| usize::try_from(limit).ok()).filter(|limit| *limit > 0);
    let asked = query.get("resourceVersion").unwrap_or_default();
    let matching = query.get("resourceVersionMatch").unwrap_or_default();
    check_options(call, asked, matching)?;
    filter.check_fields(&call.kind)?;
    let token = query.get("continue").map(read_token).transpose()?;

    let current = call.state.version();
    let wanted: Option<u64> = match asked {
        "" => None,
        text => Some(text.parse().map_err(|_| invalid_version(text))?),
    };
    let (version, start) = match token {
        Some(token) => {
            if wanted.is_some_and(|wanted| wanted != 0) {
                return Err(Failure::bad_request(
                    "specifying resource version is not allowed when using continue",
                ));
            }
            let start = token.start.strip_prefix('/').unwrap_or(&token.start).to_owned();
            match u64::try_from(token.rv) {
                // A token of an expired list goes on in the present state.
                Err(_) => (current, start),
                Ok(version) => (version, start),
            }
        }
        None => {
            if let Some(wanted) = wanted.filter(|wanted| *wanted > current) {
                return Err(Failure::version_too_large(wanted, current));
            }
            let exact =
                matching == "Exact" || (matching.is_empty() && limit.is_some() && wanted.unwrap_or(0) > 0);
            match wanted {
                Some(wanted) if exact => (wanted, String::new()),
                _ => (current, String::new()),
            }
        }
    };
    let table = call.state.table(&call.kind.resource);
    if !table.reaches(version) {
        if start.is_empty() {
            return Err(Failure::expired("The resourceVersion for the provided list is too old."));
        }
        return Err(Failure::expired_list(write_token(-1, &start)));
    }
    let prefix = filter.prefix.clone();
    let from = if start.is_empty() { String::new() } else { format!("{prefix}{start}") };
    let mut page: Vec<Arc<Object>> = Vec::new();
    let (mut last, mut remaining) = (String::new(), 0);
    for (key, object) in state_at(table, version, &prefix, &from) {
        if limit.is_some_and(|limit| page.len() >= limit) {
            // With selectors, the server does not say how many objects remain, nor whether it selects any of them.
            remaining += usize::from(!filter.is_one());
            if !filter.is_everything() {
                break;
            }
        } else if filter.matches(&object) {
            last = key;
            page.push(object);
        }
    }
    let more = (remaining > 0).then_some(last);
    let token = more.map(|key| {
        let version = i64::try_from(version).unwrap_or(i64::MAX);
        write_token(version, &format!("{}\0", key.strip_prefix(&prefix).unwrap_or(&key)))
    });
    let remaining = (token.is_some() && filter.is_everything()).then_some(remaining);
    Ok(Found { objects: page, version, token, remaining })
}

fn check_options(call: &Call<'_>, asked: &str, matching: &str) -> Result<(), Failure> {
    let mut causes = Vec::new();
    if call.request.query.tri("sendInitialEvents").is_some() {
        causes.push(Cause::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
    }
    if !matching.is_empty() {
        let field = "resourceVersionMatch";
        if asked.is_empty() {
            let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
            causes.push(Cause::forbidden(field, why));
        }
        if call.request.query.get("continue").is_some() {
            causes
                .push(Cause::forbidden(field, "resourceVersionMatch is forbidden when continue is provided"));
        }
        if !matches!(matching, "Exact" | "NotOlderThan") {
            causes.push(Cause::not_supported(field, matching, ["Exact", "NotOlderThan", ""]));
        }
        if matching == "Exact" && asked == "0" {
            let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            causes.push(Cause::forbidden(field, why));
        }
    }
    if causes.is_empty() { Ok(()) } else { Err(invalid_options(&causes)) }
}

/// Returns the objects at a version, in the order of their keys.
fn state_at<'t>(
    table: &'t Table,
    version: u64,
    prefix: &'t str,
    from: &'t str,
) -> Box<dyn Iterator<Item = (String, Arc<Object>)> + 't> {
    let changed = table.changed_since(version);
    let now = table.range(prefix, from).map(|(key, object)| (key.to_owned(), object.clone()));
    if changed.is_empty() {
        return Box::new(now);
    }
    let mut objects: BTreeMap<String, Arc<Object>> = now.collect();
    for (key, before) in changed {
        if !key.starts_with(prefix) || key.as_str() < from {
            continue;
        }
        match before {
            Some(object) => objects.insert(key, object),
            None => objects.remove(&key),
        };
    }
    Box::new(objects.into_iter())
}

fn read_token(text: &str) -> Result<Token, Failure> {
    let invalid = |why: String| {
        Failure::bad_request(format!("invalid continue token: continue key is not valid: {why}"))
    };
    let lenient = GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone);
    let bytes = GeneralPurpose::new(&URL_SAFE, lenient).decode(text).map_err(|error| {
        let at = match error {
            DecodeError::InvalidByte(at, _) => at,
            DecodeError::InvalidLength(length) => length.saturating_sub(1),
            _ => text.len(),
        };
        invalid(format!("illegal base64 data at input byte {at}"))
    })?;
    let token: Token = serde_json::from_slice(&bytes).map_err(|error| {
        let shown = match bytes.first() {
            Some(byte) if *byte >= 0x80 || byte.is_ascii_control() => format!("\\u{byte:04x}"),
            Some(byte) if *byte != b'{' => char::from(*byte).to_string(),
            _ => return invalid(error.to_string()),
        };
        invalid(format!("invalid character '{shown}' looking for beginning of value"))
    })?;
    if token.v != "meta.k8s.io/v1" {
        return Err(invalid(format!("server does not recognize this encoded version {:?}", token.v)));
    }
    Ok(token)
}

fn write_token(version: i64, start: &str) -> String {
    let token = Token { v: "meta.k8s.io/v1".to_owned(), rv: version, start: format!("/{start}") };
    BASE64_URL_SAFE_NO_PAD.encode(serde_json::to_vec(&token).unwrap_or_default())
}
