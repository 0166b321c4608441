//! Progress of long calls.

use crate::errors::from_py;
use pyo3::prelude::*;

/// Calls a Python progress function from a thread that has released the GIL. The function may raise.
pub fn call_progress(progress: Option<&Py<PyAny>>, arguments: (u64, u64)) -> jinx_core::Result<()> {
    Python::attach(|py| {
        py.check_signals().map_err(|error| from_py(py, error))?;
        match progress {
            Some(progress) => progress.call1(py, arguments).map(|_| ()).map_err(|error| from_py(py, error)),
            None => Ok(()),
        }
    })
}
