//! A str object from ASCII, without looking at the bytes once more.
#![allow(unsafe_code)]

use pyo3::prelude::*;
use pyo3::types::PyString;

/// The str of `bytes`; `None` when there is no memory for it.
///
/// # Safety
/// All bytes must be below 128: Python would take others for characters that its own code rules out.
#[cfg(not(feature = "abi3"))]
#[inline]
pub unsafe fn ascii_text<'py>(py: Python<'py>, bytes: &[u8]) -> Option<Bound<'py, PyString>> {
    use pyo3::ffi;

    debug_assert!(bytes.is_ascii());
    let length = ffi::Py_ssize_t::try_from(bytes.len()).ok()?;
    // SAFETY: the new object is a compact one of one byte a character, its memory holds `length` of them, nobody else
    // knows it yet, and the caller says that the bytes are ASCII.
    unsafe {
        let object = Bound::from_owned_ptr_or_err(py, ffi::PyUnicode_New(length, 127)).ok()?;
        let memory = ffi::PyUnicode_DATA(object.as_ptr()).cast::<u8>();
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), memory, bytes.len());
        Some(object.cast_into_unchecked())
    }
}

/// As above, through what the limited API has.
///
/// # Safety
/// None is needed here; the other one needs it.
#[cfg(feature = "abi3")]
#[inline]
pub unsafe fn ascii_text<'py>(py: Python<'py>, bytes: &[u8]) -> Option<Bound<'py, PyString>> {
    std::str::from_utf8(bytes).ok().map(|text| PyString::new(py, text))
}
