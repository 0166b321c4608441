//! Turns panics, which are bugs in this library, into errors. On one of its threads, it becomes an error of the call
//! that waits for the thread.

use crate::error::{Cause, Error, Result};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `work`; a panic becomes an error with the cause `Internal`.
///
/// # Errors
/// The errors of `work`.
pub fn caught<T>(work: impl FnOnce() -> Result<T>, what: &str) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(error_of(&*panic, what)))
}

/// The error for the payload of a panic, as `join` returns it; `what` names the thread.
pub fn error_of(panic: &(dyn Any + Send), what: &str) -> Error {
    Error::new(Cause::Internal, format!("{what} panicked: {}", message_of(panic)))
}

/// The message of a panic.
pub fn message_of(panic: &(dyn Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no details")
}
