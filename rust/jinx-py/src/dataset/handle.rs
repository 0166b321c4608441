//! Handles that pass the rows and positions of a dataset through Python.

use crate::errors::{IntoPy, to_py};
use crate::ffi::uninit_bytes::{Container, UninitBytes};
use jinx_core::Error;
use jinx_core::checked_math::{range_within, to_usize};
use jinx_dataset::{Projection, Rows};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::ffi::OsString;
use std::sync::Arc;

/// The rows of a dataset, used to create views of them.
#[pyclass(frozen, module = "jinx._core", name = "Rows")]
pub struct RowsHandle(pub Arc<dyn Rows>);

/// Positions over all files, found in the rows of a dataset. Python uses them only to create a view.
#[pyclass(frozen, module = "jinx._core", name = "Positions")]
pub struct PositionsHandle(pub Arc<Vec<u64>>);

#[pymethods]
impl RowsHandle {
    /// `"jinx"`, `"jsonl"`, `"mds"`, or `"memory"` for columns without files.
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind()
    }

    /// The absolute paths of the files.
    #[getter]
    fn paths(&self) -> Vec<OsString> {
        self.0.files().places().map(OsString::from).collect()
    }

    #[getter]
    fn samples(&self) -> u64 {
        self.0.files().samples
    }

    /// The same rows, including the columns that a view hides.
    fn whole(&self) -> Self {
        Self(self.0.with_projection(Projection::default()))
    }

    /// (number of samples, identity) of each file.
    fn identities(&self, py: Python<'_>) -> PyResult<Vec<(u64, String)>> {
        py.detach(|| self.0.identities()).into_py_result()
    }

    /// (number of samples, id) of each file, as a saved view stores them.
    fn base_ids(&self, py: Python<'_>) -> PyResult<Vec<(u64, String)>> {
        py.detach(|| self.0.base_ids()).into_py_result()
    }

    /// xxh3-128 of a file of JINX or JSON lines, as it was when opened, as 32 hex digits.
    fn content_hash(&self, py: Python<'_>, file: usize) -> PyResult<String> {
        py.detach(|| self.0.content_hash(file)).into_py_result()
    }

    /// Bytes of the sidecar of a file, starting at `offset`; they are not compared with a checksum, because a checksum
    /// covers whole values.
    fn read_sidecar<'py>(
        &self,
        py: Python<'py>,
        file: usize,
        offset: u64,
        length: u64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let side = py.detach(|| self.0.sidecar(file)).into_py_result()?;
        // Check the range before allocating memory for it.
        range_within(offset, length, side.len(), "a range").into_py_result()?;
        let size = to_usize(length, "a length").into_py_result()?;
        let object = UninitBytes::new(py, Container::Bytes, size)?;
        py.detach(|| object.fill(|out| side.read_at(offset, out))).into_py_result()?;
        object.object(py).ok_or_else(|| to_py(&Error::corrupt("a range that was not read to its end")))
    }

    /// Whether the list of column names is complete. Otherwise samples may have more columns.
    fn lists_columns(&self, py: Python<'_>) -> PyResult<bool> {
        py.detach(|| self.0.lists_columns()).into_py_result()
    }

    fn column_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        py.detach(|| self.0.column_names()).into_py_result()
    }

    /// Reads all files at URLs once, so that they are in the cache on this machine; returns the number of bytes.
    fn fetch_all(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| self.0.fetch_all()).into_py_result()
    }

    /// For JSON lines: the start of each line of a file, and the end of the last line, as little-endian u64.
    fn line_offsets<'py>(&self, py: Python<'py>, file: usize) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.line_offsets(file).into_py_result()?))
    }
}
