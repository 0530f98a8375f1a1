//! The order of the items in a list that is merged.

use serde_json::Value;

use super::{StrategicProblem, key_of};
use crate::json::equal;

/// How items are told apart.
#[derive(Clone, Copy)]
pub(super) enum Identity<'k> {
    /// By the value of this field.
    Key(&'k str),
    /// By their own value.
    Value,
}

impl Identity<'_> {
    fn of<'v>(&self, item: &'v Value) -> &'v Value {
        match self {
            Self::Key(key) => item.get(key).unwrap_or(&Value::Null),
            Self::Value => item,
        }
    }

    /// Returns the position of an item in a list.
    pub(super) fn position(&self, list: &[Value], item: &Value) -> Option<usize> {
        let identity = self.of(item);
        list.iter().position(|other| equal(self.of(other), identity))
    }

    /// Checks that every item of a list can be told apart.
    pub(super) fn check(&self, list: &[Value]) -> Result<(), StrategicProblem> {
        match self {
            Self::Key(key) => list.iter().try_for_each(|item| key_of(item, key).map(|_| ())),
            Self::Value => Ok(()),
        }
    }
}

/// Puts the items of a merged list into order.
///
/// The items that occur in `wanted` have the order that they have there, and the others the one that they
/// have in `before`. An item that is not wanted stands before the first wanted one that it stood before.
pub(super) fn arrange(
    merged: Vec<Value>,
    wanted: &[Value],
    before: &[Value],
    identity: Identity<'_>,
) -> Vec<Value> {
    let (mut chosen, mut others): (Vec<_>, Vec<_>) =
        merged.into_iter().partition(|item| identity.position(wanted, item).is_some());
    chosen.sort_by_key(|item| identity.position(wanted, item));
    others.sort_by_key(|item| identity.position(before, item).unwrap_or(usize::MAX));

    let mut arranged = Vec::with_capacity(chosen.len() + others.len());
    let mut chosen = chosen.into_iter().peekable();
    for other in others {
        let place = identity.position(before, &other);
        // Take the chosen items that do not stand behind the other one.
        while let Some(next) = chosen.peek() {
            let is_behind =
                matches!((place, identity.position(before, next)), (Some(place), Some(next)) if place < next);
            if is_behind {
                break;
            }
            arranged.extend(chosen.next());
        }
        arranged.push(other);
    }
    arranged.extend(chosen);
    arranged
}
