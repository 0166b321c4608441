//! Ctrl-C during long calls.

use pyo3::prelude::*;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{self, ThreadId};

/// The exception raised by a signal handler during a call of the core.
static RAISED: Mutex<Option<PyErr>> = Mutex::new(None);
/// Identifies the main thread. Python runs signal handlers only there, so other threads must not wait for the GIL.
static MAIN: OnceLock<ThreadId> = OnceLock::new();

/// Lets signal handlers run during long calls of the core. Call this on the main thread.
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

/// Takes the exception raised by the handler that interrupted a call.
pub fn take() -> Option<PyErr> {
    RAISED.lock().unwrap_or_else(PoisonError::into_inner).take()
}
