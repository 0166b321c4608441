//! Checks MDS directories.

use crate::errors::IntoPy;
use crate::progress::call_progress;
use pyo3::prelude::*;
use std::path::PathBuf;

/// Returns the problems of an MDS directory as dicts.
#[pyfunction]
#[pyo3(signature = (path, progress = None))]
pub fn mds_verify<'py>(
    py: Python<'py>,
    path: PathBuf,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, pyo3::types::PyList>> {
    let problems = py
        .detach(|| {
            jinx_mds::verify::verify(&path, &mut |done, total| {
                call_progress(progress.as_ref(), (done, total))
            })
        })
        .into_py_result()?;
    crate::files::checks::problem_list(py, problems)
}
