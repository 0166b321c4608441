//! The files below a view.

use crate::dataset::handle::RowsHandle;
use crate::errors::IntoPy;
use jinx_dataset::Dataset;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Arc;

/// Files, positions in them, and the columns that they do not have.
pub type Roots<'py> = (Vec<RowsHandle>, Option<Bound<'py, PyBytes>>, Vec<String>);

/// The files that all views are based on, the positions of the samples in them (little-endian u64, or None for all), and
/// the columns that the files do not have.
pub fn all<'py>(py: Python<'py>, view: &Dataset) -> PyResult<Roots<'py>> {
    let positions = view.positions.as_ref().map(|positions| positions.to_vec());
    let roots = py.detach(|| Arc::clone(&view.rows).roots(positions)).into_py_result()?;
    let positions = roots.positions.map(|positions| {
        let bytes: Vec<u8> = positions.iter().flat_map(|position| position.to_le_bytes()).collect();
        PyBytes::new(py, &bytes)
    });
    Ok((roots.rows.into_iter().map(RowsHandle).collect(), positions, own_columns(view)))
}

/// Only the files: computing the positions of a long view takes time.
pub fn files(py: Python<'_>, view: &Dataset) -> PyResult<Vec<RowsHandle>> {
    let roots = py.detach(|| Arc::clone(&view.rows).roots(Some(Vec::new()))).into_py_result()?;
    Ok(roots.rows.into_iter().map(RowsHandle).collect())
}

/// The columns that the files do not have.
pub fn own_columns(view: &Dataset) -> Vec<String> {
    view.rows.own_names().into_iter().filter(|name| view.rows.projection().has(name)).collect()
}
