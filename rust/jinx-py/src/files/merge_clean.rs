//! Merges the parts of a dataset, and removes leftover temporary files.

use crate::errors::IntoPy;
use jinx_format::identity::JinxIdentity;
use pyo3::prelude::*;
use std::path::PathBuf;

/// Merges the parts in a directory into one dataset. Returns the numbers of samples, bytes, sidecar bytes and shards.
#[pyfunction]
pub fn merge(py: Python<'_>, directory: PathBuf) -> PyResult<(u64, u64, u64, u64)> {
    let merged = py.detach(|| jinx_format::merge::merge(&directory)).into_py_result()?;
    Ok((merged.samples, merged.bytes, merged.sidecar_bytes, merged.shards))
}

/// Removes the leftover temporary files in a directory; returns their paths.
#[pyfunction]
pub fn clean(py: Python<'_>, directory: PathBuf) -> PyResult<Vec<PathBuf>> {
    py.detach(|| jinx_core::io::remove_leftovers(&directory, &JinxIdentity)).into_py_result()
}
