//! Decoded values in the `repr` of a sample.

use crate::objects::short_text::{blob, short};
use crate::sample::lazy_dict::LazyDict;
use jinx_core::checked_math::to_u64;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyList, PyString};

/// A short text for a value. Large values are shown as type and size.
pub fn of_value(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(blob("bytes", to_u64(bytes.as_bytes().len()), None));
    }
    if let Ok(bytes) = value.cast::<PyByteArray>() {
        return Ok(blob("bytearray", to_u64(bytes.len()), None));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(short(&text.repr()?.to_string()));
    }
    if let Ok(list) = value.cast::<PyList>() {
        return Ok(format!("<list of {}>", list.len()));
    }
    if let Ok(dict) = value.cast_exact::<PyDict>() {
        return Ok(format!("<dict of {}>", dict.len()));
    }
    if let Ok(sample) = value.cast::<LazyDict>() {
        return Ok(format!("<LazyDict of {}>", sample.get().names(value.py())?.len()));
    }
    if value.hasattr("shape")? && value.hasattr("dtype")? {
        let shape = value.getattr("shape")?.str()?;
        return Ok(format!("<{} {} {shape}>", value.get_type().name()?, value.getattr("dtype")?.str()?));
    }
    Ok(short(&value.repr()?.to_string()))
}
