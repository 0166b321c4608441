//! Samples and other values as JSON text.

use crate::dataset::reader::Reader;
use crate::errors::IntoPy;
use crate::sample::extract::emit_value;
use jinx_core::json::write::{Binary, JsonText};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The samples `start..stop` of a view as JSON lines.
#[pyfunction]
pub fn row_json<'py>(
    py: Python<'py>,
    reader: &Bound<'py, Reader>,
    start: usize,
    stop: usize,
    binary: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let view = &reader.get().view;
    let text = py
        .detach(|| {
            let mut text = JsonText::new(if binary { Binary::Tagged } else { Binary::Summary });
            for i in start..stop.min(view.len()) {
                view.rows.emit(view.position(i), &mut text)?;
                text.out.push(b'\n');
            }
            jinx_core::Result::Ok(text.out)
        })
        .into_py_result()?;
    Ok(PyBytes::new(py, &text))
}

/// Any value as JSON text.
#[pyfunction]
pub fn json_text<'py>(
    py: Python<'py>,
    value: &Bound<'py, PyAny>,
    binary: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut text = JsonText::new(if binary { Binary::Tagged } else { Binary::Summary });
    emit_value(value, 0, &mut text).into_py_result()?;
    Ok(PyBytes::new(py, &text.out))
}
