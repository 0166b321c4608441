//! `verify` and `repair` for Python.

use crate::dataset::open::store_with;
use crate::errors::IntoPy;
use crate::progress::call_progress;
use jinx_core::Cause;
use jinx_core::io::{Store, url_of};
use jinx_core::limits::Limits;
use jinx_core::problem::Problem;
use jinx_format::read::shard::OpenOptions;
use jinx_format::{repair as core_repair, verify as core_verify};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

fn cause_name(cause: Cause) -> &'static str {
    match cause {
        Cause::Io(_) => "io",
        Cause::Truncated => "truncated",
        Cause::Corrupt => "corrupt",
        Cause::Limit => "limit",
        Cause::Unsupported => "unsupported",
        Cause::Mismatch => "mismatch",
        Cause::Invalid => "invalid",
        Cause::Interrupted => "interrupted",
        Cause::Internal => "internal",
    }
}

/// Returns the problems of a pair or directory. The list is empty if it is intact.
#[pyfunction]
#[pyo3(signature = (path, progress = None, max_value_bytes = None))]
pub fn verify(
    py: Python<'_>,
    path: PathBuf,
    progress: Option<Py<PyAny>>,
    max_value_bytes: Option<u64>,
) -> PyResult<Bound<'_, PyList>> {
    let mut limits = Limits::default();
    if let Some(max) = max_value_bytes {
        limits.max_value_bytes = max;
    }
    if let Some(url) = url_of(&path) {
        // Bypass the cache: the compared bytes must come from the store.
        let without_cache = BTreeMap::from([("cache".to_owned(), "off".to_owned())]);
        let store: Arc<dyn Store> = Arc::new(store_with(&without_cache)?);
        let options = OpenOptions { limits, store: Some(store), ..OpenOptions::default() };
        let problems = py
            .detach(|| {
                jinx_dataset::verify_at(url, &options, &mut |done, total| {
                    call_progress(progress.as_ref(), (done, total))
                })
            })
            .into_py_result()?;
        return problem_list(py, problems);
    }
    let problems = py
        .detach(|| {
            core_verify::verify_within(&path, limits, &mut |done, total| {
                call_progress(progress.as_ref(), (done, total))
            })
        })
        .into_py_result()?;
    problem_list(py, problems)
}

/// Converts problems to dicts.
pub fn problem_list(py: Python<'_>, problems: Vec<Problem>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for problem in problems {
        let dict = PyDict::new(py);
        dict.set_item("file", problem.file.as_os_str())?;
        dict.set_item("sample", problem.sample)?;
        dict.set_item("column", problem.column)?;
        dict.set_item("byte", problem.byte)?;
        dict.set_item("cause", cause_name(problem.cause))?;
        dict.set_item("what", problem.what)?;
        list.append(dict)?;
    }
    Ok(list)
}

/// Copies the intact samples of a damaged pair to a new pair.
#[pyfunction]
pub fn repair(
    py: Python<'_>,
    path: PathBuf,
    out: Option<PathBuf>,
    dry_run: bool,
) -> PyResult<Bound<'_, PyDict>> {
    let report = py.detach(|| core_repair::repair(&path, out.as_deref(), dry_run)).into_py_result()?;
    let lost = PyList::empty(py);
    for loss in report.lost {
        let dict = PyDict::new(py);
        dict.set_item("line", loss.line)?;
        dict.set_item("bytes", loss.bytes)?;
        dict.set_item("reason", loss.reason)?;
        lost.append(dict)?;
    }
    let dict = PyDict::new(py);
    dict.set_item("samples", report.samples)?;
    dict.set_item("kept", report.kept)?;
    dict.set_item("unchecked", report.unchecked)?;
    dict.set_item("lost", lost)?;
    dict.set_item("damage", report.damage)?;
    dict.set_item("out", report.out.map(PathBuf::into_os_string))?;
    Ok(dict)
}
