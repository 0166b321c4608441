//! Ctrl-C in a call that takes long.

use pyo3::prelude::*;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{self, ThreadId};

/// What a signal handler raised while the core was at work.
static RAISED: Mutex<Option<PyErr>> = Mutex::new(None);
/// Python runs signal handlers on its main thread only; others must not wait for its lock.
static MAIN: OnceLock<ThreadId> = OnceLock::new();

/// From now on long calls of the core let signal handlers run.
pub fn listen() {
    let _ = MAIN.set(thread::current().id());
    jinx_core::interrupt::set_question(has_raised);
}

fn has_raised() -> bool {
    if MAIN.get() != Some(&thread::current().id()) {
        return false;
    }
    match Python::attach(|py| py.check_signals()) {
        Ok(()) => false,
        Err(error) => {
            *RAISED.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            true
        }
    }
}

/// The exception of the handler that stopped a call.
pub fn take() -> Option<PyErr> {
    RAISED.lock().unwrap_or_else(PoisonError::into_inner).take()
}
