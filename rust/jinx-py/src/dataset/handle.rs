//! What a dataset is read from, on its way through Python.

use crate::dataset::projection::Projection;
use crate::dataset::rows::Rows;
use crate::errors::IntoPy;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::ffi::OsString;
use std::sync::Arc;

/// The rows of a dataset, for views to be made of them.
#[pyclass(frozen, module = "jinx._core", name = "Rows")]
pub struct RowsHandle(pub Arc<dyn Rows>);

/// Positions over all files that were found in the rows of a dataset: for a view of them, and for nothing else.
#[pyclass(frozen, module = "jinx._core", name = "Positions")]
pub struct PositionsHandle(pub Arc<Vec<u64>>);

#[pymethods]
impl RowsHandle {
    /// `"jinx"`, `"jsonl"`, `"mds"`, or `"memory"` for columns without files.
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind()
    }

    /// Absolute.
    #[getter]
    fn paths(&self) -> Vec<OsString> {
        let files = self.0.files();
        files.paths.iter().map(|path| files.base.join(path).into()).collect()
    }

    #[getter]
    fn samples(&self) -> u64 {
        self.0.files().samples
    }

    /// The same rows with the columns that a view hides.
    fn whole(&self) -> Self {
        Self(self.0.with_projection(Projection::default()))
    }

    /// (samples, id) of each file.
    fn identities(&self, py: Python<'_>) -> PyResult<Vec<(u64, String)>> {
        py.detach(|| self.0.identities()).into_py_result()
    }

    /// Whether the column names are all there are; otherwise only samples tell.
    fn lists_columns(&self, py: Python<'_>) -> PyResult<bool> {
        py.detach(|| self.0.lists_columns()).into_py_result()
    }

    fn column_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        py.detach(|| self.0.column_names()).into_py_result()
    }

    /// Of JSON lines: where each line of a file begins, and where the last one ends, as little-endian u64.
    fn line_offsets<'py>(&self, py: Python<'py>, file: usize) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.line_offsets(file).into_py_result()?))
    }
}
