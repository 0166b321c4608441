//! Imports an Arrow stream from another library.
#![allow(unsafe_code)]

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};

const NAME: &std::ffi::CStr = c"arrow_array_stream";

/// Takes the stream that `object.__arrow_c_stream__()` exports.
///
/// # Errors
/// `TypeError` for an object without this method.
pub fn take_stream(object: &Bound<'_, PyAny>) -> PyResult<FFI_ArrowArrayStream> {
    let export = object
        .getattr_opt("__arrow_c_stream__")?
        .ok_or_else(|| PyTypeError::new_err("an object with __arrow_c_stream__ is needed"))?;
    let capsule = export.call0()?.cast_into::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(NAME))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: by the Arrow PyCapsule interface, a capsule with this name contains a valid, aligned `ArrowArrayStream`,
    // which the consumer may move out. `from_raw` marks the original as released, so the capsule's destructor does not
    // free it again. The name was checked above, and the GIL keeps the capsule alive.
    Ok(unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) })
}
