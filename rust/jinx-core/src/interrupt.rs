//! Lets the host program stop a long call: Ctrl-C must not wait for a gigabyte.

use crate::error::{Error, Result};
use std::cell::RefCell;
use std::sync::OnceLock;

/// Asks whether the work of this thread should stop.
type Question = Box<dyn Fn() -> bool>;

thread_local! {
    static ALSO: RefCell<Option<Question>> = const { RefCell::new(None) };
}

static ASK: OnceLock<fn() -> bool> = OnceLock::new();

/// Sets the function that long calls ask every few MiB whether to stop. The first one set stays.
///
/// It runs on the thread that called the core and on the core's own threads.
pub fn set_question(ask: fn() -> bool) {
    let _ = ASK.set(ask);
}

/// Sets a second function for this worker thread, which says whether its caller has given up.
pub fn also_ask(question: impl Fn() -> bool + 'static) {
    ALSO.set(Some(Box::new(question)));
}

/// # Errors
/// `Interrupted` when the program wants to stop.
pub fn check() -> Result<()> {
    let also = ALSO.with_borrow(|also| also.as_ref().is_some_and(|question| question()));
    if also || ASK.get().is_some_and(|ask| ask()) { Err(Error::interrupted()) } else { Ok(()) }
}
