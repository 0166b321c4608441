//! Copies, moves and removes datasets.

use crate::errors::IntoPy;
use jinx_format::{copy_files, move_files};
use pyo3::prelude::*;
use std::path::PathBuf;

/// Copies a pair.
#[pyfunction]
pub fn copy_pair(
    py: Python<'_>,
    main: PathBuf,
    sidecar: Option<PathBuf>,
    target: PathBuf,
    overwrite: bool,
) -> PyResult<()> {
    py.detach(|| copy_files::copy_pair(&main, sidecar.as_deref(), &target, overwrite)).into_py_result()
}

/// Copies a directory of shards.
#[pyfunction]
pub fn copy_directory(py: Python<'_>, source: PathBuf, target: PathBuf, overwrite: bool) -> PyResult<()> {
    py.detach(|| copy_files::copy_directory(&source, &target, overwrite)).into_py_result()
}

/// Moves a pair.
#[pyfunction]
pub fn move_pair(py: Python<'_>, main: PathBuf, target: PathBuf, overwrite: bool) -> PyResult<()> {
    py.detach(|| move_files::move_pair(&main, &target, overwrite)).into_py_result()
}

/// Moves a directory of shards.
#[pyfunction]
pub fn move_directory(py: Python<'_>, source: PathBuf, target: PathBuf, overwrite: bool) -> PyResult<()> {
    py.detach(|| move_files::move_directory(&source, &target, overwrite)).into_py_result()
}

/// Removes a pair.
#[pyfunction]
pub fn remove_pair(py: Python<'_>, main: PathBuf) -> PyResult<()> {
    py.detach(|| move_files::remove_pair(&main)).into_py_result()
}

/// Removes a directory of shards.
#[pyfunction]
pub fn remove_directory(py: Python<'_>, directory: PathBuf) -> PyResult<()> {
    py.detach(|| move_files::remove_directory(&directory)).into_py_result()
}
