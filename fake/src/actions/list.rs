//! The recorded actions.

use std::{
    collections::VecDeque,
    fmt::{self, Write},
    ops::Deref,
};

use parking_lot::Mutex;
use similar::{ChangeTag, TextDiff};

use super::{Action, LIMIT};

/// The actions of a server, in their order. It is a slice of them.
#[derive(Clone, PartialEq)]
pub struct Actions {
    actions: Vec<Action>,
    dropped: usize,
}

impl Actions {
    /// Returns the actions that change objects: what is left without the reads and watches of informers.
    #[must_use]
    pub fn writes(&self) -> Self {
        self.matching(|action| action.verb.is_write())
    }

    /// Returns the actions on a resource, such as `deployments` or `deployments.apps`.
    #[must_use]
    pub fn of(&self, resource: &str) -> Self {
        self.matching(|action| action.resource == resource || action.qualified() == resource)
    }

    /// Returns the actions for which a condition holds.
    #[must_use]
    pub fn matching(&self, mut holds: impl FnMut(&Action) -> bool) -> Self {
        let actions = self.actions.iter().filter(|action| holds(action)).cloned().collect();
        Self { actions, dropped: self.dropped }
    }

    /// Returns how many older actions were not kept.
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// Checks that the actions are these and no others.
    ///
    /// # Panics
    /// If they are not, with the difference line by line: `-` is expected and missing, `+` is there and not expected.
    #[track_caller]
    pub fn assert_eq(&self, expected: impl IntoIterator<Item = Action>) {
        let expected = Self { actions: expected.into_iter().collect(), dropped: 0 };
        if *self != expected {
            panic!(
                "the actions are not the expected ones (-expected, +found):\n{}",
                self.difference(&expected)
            );
        }
    }

    fn difference(&self, expected: &Self) -> String {
        let (old, new) = (expected.lines(), self.lines());
        let mut text = String::new();
        for change in TextDiff::from_lines(&old, &new).iter_all_changes() {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            // Writing into a text does not fail.
            let _ = write!(text, "{sign}{change}");
        }
        text
    }

    fn lines(&self) -> String {
        let mut text = String::new();
        if self.dropped > 0 {
            let _ = writeln!(text, "    … {} older actions, which were not kept", self.dropped);
        }
        for action in &self.actions {
            let _ = writeln!(text, "{}", format!("{action:?}").trim_start_matches('\n'));
        }
        text
    }
}

impl Deref for Actions {
    type Target = [Action];

    fn deref(&self) -> &[Action] {
        &self.actions
    }
}

impl IntoIterator for Actions {
    type Item = Action;
    type IntoIter = std::vec::IntoIter<Action>;

    fn into_iter(self) -> Self::IntoIter {
        self.actions.into_iter()
    }
}

impl PartialEq<[Action]> for Actions {
    fn eq(&self, other: &[Action]) -> bool {
        self.dropped == 0 && self.actions == other
    }
}

impl<const N: usize> PartialEq<[Action; N]> for Actions {
    fn eq(&self, other: &[Action; N]) -> bool {
        *self == other[..]
    }
}

impl PartialEq<Vec<Action>> for Actions {
    fn eq(&self, other: &Vec<Action>) -> bool {
        *self == other[..]
    }
}

/// One line for each action.
impl fmt::Display for Actions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.actions.iter().try_for_each(|action| writeln!(f, "{action}"))
    }
}

impl fmt::Debug for Actions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.dropped > 0 {
            write!(f, "({} older actions were not kept) ", self.dropped)?;
        }
        // As a plain list, so that both sides of an `assert_eq!` look alike.
        write!(f, "{:?}", self.actions)
    }
}

/// Keeps the actions of a server, if it is told to.
#[derive(Debug, Default)]
pub(crate) struct Recorder(Mutex<Option<Recorded>>);

#[derive(Debug, Default)]
struct Recorded {
    actions: VecDeque<Action>,
    dropped: usize,
}

impl Recorder {
    pub(crate) fn new(on: bool) -> Self {
        Self(Mutex::new(on.then(Recorded::default)))
    }

    /// Begins to record, or stops and forgets.
    pub(crate) fn switch(&self, on: bool) {
        let mut recorded = self.0.lock();
        if recorded.is_some() != on {
            *recorded = on.then(Recorded::default);
        }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.0.lock().is_some()
    }

    pub(crate) fn add(&self, action: &Action) {
        if let Some(recorded) = self.0.lock().as_mut() {
            if recorded.actions.len() == LIMIT {
                recorded.actions.pop_front();
                recorded.dropped += 1;
            }
            recorded.actions.push_back(action.clone());
        }
    }

    pub(crate) fn clear(&self) {
        if let Some(recorded) = self.0.lock().as_mut() {
            *recorded = Recorded::default();
        }
    }

    /// Returns what was recorded, or `None` if nothing is.
    pub(crate) fn actions(&self) -> Option<Actions> {
        let recorded = self.0.lock();
        let Recorded { actions, dropped } = recorded.as_ref()?;
        Some(Actions { actions: actions.iter().cloned().collect(), dropped: *dropped })
    }
}
