//! Lets the program around the core stop a call that takes long: Ctrl-C must not wait for a gigabyte.

use crate::error::{Error, Result};
use std::sync::OnceLock;

static ASK: OnceLock<fn() -> bool> = OnceLock::new();

/// Sets the question that long calls ask every few MiB, whether they should stop. The first one set stays.
///
/// It is asked on the thread that called the core and on the core's own threads.
pub fn set_question(ask: fn() -> bool) {
    let _ = ASK.set(ask);
}

/// # Errors
/// `Interrupted` when the program wants to stop.
pub fn check() -> Result<()> {
    match ASK.get() {
        Some(ask) if ask() => Err(Error::interrupted()),
        _ => Ok(()),
    }
}
