//! Opening a watch.

use std::{sync::Arc, time::Duration};

use rand::RngExt;

use super::{Answer, Call, Reply, list};
use crate::{
    selector::Filter,
    status::{Cause, Failure},
    storage::Object,
    view,
    watch::{Opening, Watch},
};

/// The shortest time after which the server ends a watch that has no timeout of its own. The longest is twice
/// as long.
const MIN_TIMEOUT: u64 = 1800;

pub(super) fn watch(call: &mut Call<'_>) -> Answer {
    let query = &call.request.query;
    let look = call.request.look()?;
    let mut filter = Filter::new(&call.path.namespace, query)?;
    if !call.path.name.is_empty() {
        filter = filter.named(&call.path.name);
    }
    let initial_events = query.tri("sendInitialEvents");
    check_options(call, initial_events)?;
    filter.check_fields(&call.kind)?;
    let asked = query.get("resourceVersion").unwrap_or_default();
    let wanted: u64 = match asked {
        "" => 0,
        text => text.parse().map_err(|_| Failure::unknown(list::bad_version(text)))?,
    };
    let timeout = query.number("timeoutSeconds")?.and_then(|seconds| u64::try_from(seconds).ok());
    let timeout = timeout
        .filter(|seconds| *seconds > 0)
        .unwrap_or_else(|| rand::rng().random_range(MIN_TIMEOUT..=2 * MIN_TIMEOUT));
    let bookmarks = query.flag("allowWatchBookmarks");
    let current = call.state.version();
    let table = call.state.table(&call.kind.resource);
    // From version 0, or from none, a watch begins with what is there.
    let with_initial = initial_events.unwrap_or(wanted == 0);
    if initial_events == Some(true) && wanted > current {
        return Err(Failure::version_too_large(wanted, current));
    }
    let (version, initial) = if with_initial {
        let objects = table.range(&filter.prefix, "").map(|(_, object)| object);
        let initial: Vec<Arc<Object>> = objects.filter(|object| filter.matches(object)).cloned().collect();
        (current, initial)
    } else if wanted == 0 {
        (current, Vec::new())
    } else {
        if !table.reaches(wanted) {
            let oldest = table.oldest();
            let failure = Failure::expired(format!("too old resource version: {wanted} ({oldest})"));
            let frame = view::line("ERROR", &failure.to_value());
            let watch = Watch::failed(call.server.clone(), call.kind.clone(), filter, frame);
            return Ok(Reply::Watch(Box::new(watch)));
        }
        (wanted, Vec::new())
    };
    let opening = Opening {
        kind: call.kind.clone(),
        filter,
        look,
        number: call.server.next_watch(),
        version,
        initial,
        initial_end: initial_events == Some(true) && bookmarks,
        bookmarks,
        timeout: Duration::from_secs(timeout),
    };
    Ok(Reply::Watch(Box::new(Watch::open(call.server.clone(), opening))))
}

fn check_options(call: &Call<'_>, initial_events: Option<bool>) -> Result<(), Failure> {
    let query = &call.request.query;
    let matching = query.get("resourceVersionMatch").unwrap_or_default();
    let mut causes = Vec::new();
    let field = "resourceVersionMatch";
    match initial_events {
        Some(_) => {
            if matching != "NotOlderThan" {
                let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
                causes.push(Cause::forbidden(field, why));
                if !matching.is_empty() {
                    causes.push(Cause::not_supported(field, matching, ["NotOlderThan"]));
                }
            }
            if query.get("continue").is_some() {
                causes.push(Cause::forbidden("continue", "continue is forbidden for watch"));
            }
        }
        None if !matching.is_empty() => {
            let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            causes.push(Cause::forbidden(field, why));
            if matching != "NotOlderThan" {
                causes.push(Cause::not_supported(field, matching, ["NotOlderThan"]));
            }
        }
        None => {}
    }
    if causes.is_empty() { Ok(()) } else { Err(list::invalid_options(&causes)) }
}
