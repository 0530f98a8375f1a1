//! Status conditions, by which a controller tells what it found out about an object.

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};

/// Creates a condition that is true or false as of now.
///
/// `generation` is that of the object whose spec was looked at; `reason` is one word in CamelCase.
pub fn new(
    type_: &str,
    is_true: bool,
    reason: &str,
    message: impl Into<String>,
    generation: Option<i64>,
) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status: if is_true { "True" } else { "False" }.to_owned(),
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

/// Puts a condition in place of the one of its type, or adds it.
///
/// The time of the last transition is kept if the status stays what it was, so a condition that has not changed
/// is equal to the one before.
pub fn set(conditions: &mut Vec<Condition>, mut new: Condition) {
    match conditions.iter_mut().find(|condition| condition.type_ == new.type_) {
        Some(old) => {
            if old.status == new.status {
                new.last_transition_time = old.last_transition_time.clone();
            }
            *old = new;
        }
        None => conditions.push(new),
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
        set(&mut all, old.clone());
        assert_eq!(find(&all, "Available"), Some(&old), "it was added");

        set(&mut all, new("Available", false, "NotYet", "0 of 1", Some(1)));
        assert_eq!(find(&all, "Available"), Some(&old), "nothing has changed");
        set(&mut all, new("Available", false, "NotYet", "1 of 2", Some(2)));
        let same = find(&all, "Available").unwrap();
        assert_eq!((&*same.message, same.observed_generation), ("1 of 2", Some(2)));
        assert_eq!(same.last_transition_time, old.last_transition_time);
        set(&mut all, new("Available", true, "AllAvailable", "2 of 2", Some(2)));
        assert_ne!(find(&all, "Available").unwrap().last_transition_time, old.last_transition_time);
        assert_eq!(all.len(), 2);
    }
}
