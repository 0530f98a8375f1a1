//! Status conditions: the observations that a controller reports about an object.

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};

/// The status of a condition. A `bool` converts into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// The condition holds.
    True,
    /// The condition does not hold.
    False,
    /// The controller cannot tell whether the condition holds.
    Unknown,
}

impl Status {
    /// Returns the status as the API server stores it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl From<bool> for Status {
    fn from(is_true: bool) -> Self {
        if is_true { Self::True } else { Self::False }
    }
}

/// Creates a condition that has had its status since now.
///
/// `generation` is the generation of the observed object. `reason` is one word in CamelCase.
///
/// ```
/// use genclient_runtime::conditions::{self, Status};
///
/// let ready = conditions::new("Ready", true, "AllAvailable", "2 of 2 replicas are available", Some(1));
/// let synced = conditions::new("Synced", Status::Unknown, "Timeout", "the provider does not answer", Some(1));
/// assert_eq!((ready.status.as_str(), synced.status.as_str()), ("True", "Unknown"));
/// ```
pub fn new(
    type_: &str,
    status: impl Into<Status>,
    reason: &str,
    message: impl Into<String>,
    generation: Option<i64>,
) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status: status.into().as_str().to_owned(),
        reason: reason.to_owned(),
        message: message.into(),
        observed_generation: generation,
        last_transition_time: Time(Timestamp::now()),
    }
}

/// Returns the condition of this type.
pub fn find<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Replaces the condition of the same type, or adds the condition. Returns whether anything changed.
///
/// If the status is the same as before, the time of the last transition is kept.
pub fn set(conditions: &mut Vec<Condition>, mut new: Condition) -> bool {
    match conditions.iter_mut().find(|condition| condition.type_ == new.type_) {
        Some(old) => {
            if old.status == new.status {
                new.last_transition_time = old.last_transition_time.clone();
            }
            let has_changed = *old != new;
            *old = new;
            has_changed
        }
        None => {
            conditions.push(new);
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_the_last_transition_changes_with_the_status_alone() {
        let mut all = vec![new("Ready", true, "Ready", "", Some(1))];
        let mut old = new("Available", false, "NotYet", "0 of 1", Some(1));
        old.last_transition_time = Time(Timestamp::UNIX_EPOCH);
        assert!(set(&mut all, old.clone()), "it was added");
        assert_eq!(find(&all, "Available"), Some(&old));

        assert!(!set(&mut all, new("Available", false, "NotYet", "0 of 1", Some(1))), "nothing has changed");
        assert_eq!(find(&all, "Available"), Some(&old));
        assert!(set(&mut all, new("Available", false, "NotYet", "1 of 2", Some(2))));
        let same = find(&all, "Available").unwrap();
        assert_eq!((&*same.message, same.observed_generation), ("1 of 2", Some(2)));
        assert_eq!(same.last_transition_time, old.last_transition_time);
        assert!(set(&mut all, new("Available", true, "AllAvailable", "2 of 2", Some(2))));
        assert_ne!(find(&all, "Available").unwrap().last_transition_time, old.last_transition_time);
        assert_eq!(all.len(), 2);
    }

    #[test]
    fn a_condition_is_true_false_or_unknown() {
        let status = |status| new("Ready", status, "Reason", "", None).status;
        assert_eq!([Status::True, Status::False, Status::Unknown].map(status), ["True", "False", "Unknown"]);
        assert_eq!([true, false].map(Status::from), [Status::True, Status::False]);
    }
}
