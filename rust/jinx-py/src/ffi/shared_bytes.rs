//! Memory that Python reads without a copy, such as a mapped column.

// The only `unsafe` code in this module: a pointer to the bytes, valid while the buffer is used.
#![allow(unsafe_code)]

use bytes::Bytes;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::os::raw::{c_int, c_void};

/// Read-only bytes with the buffer protocol.
#[pyclass(frozen, module = "jinx._core")]
pub struct SharedBytes(pub Bytes);

#[pymethods]
impl SharedBytes {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    #[allow(clippy::needless_pass_by_value)] // pyo3 requires this signature
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let bytes = &slf.get().0;
        let length = isize::try_from(bytes.len()).map_err(|_| PyBufferError::new_err("too many bytes"))?;
        // SAFETY: `view` comes from the interpreter. The bytes never move or change while `slf` lives, and the view
        // keeps a reference to `slf`. They are marked as read-only.
        let filled = unsafe {
            let start = bytes.as_ptr().cast_mut().cast::<c_void>();
            ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, length, 1, flags)
        };
        if filled == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}
