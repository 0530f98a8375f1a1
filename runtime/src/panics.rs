//! The messages of caught panics.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// Returns the message of a panic, or a placeholder if it has none.
pub(crate) fn message(panic: &(dyn Any + Send)) -> String {
    if let Some(text) = panic.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text.clone()
    } else {
        "a panic without a message".to_owned()
    }
}

/// Drops a value of the user, and logs a panic of its `Drop` instead of propagating it.
pub(crate) fn drop_caught<T>(value: T) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        tracing::error!(panic = message(&*panic), "dropping a value panicked");
    }
}
