//! Functions on whole files: detect their format, show their rows as text, merge, copy and clean up.

use crate::dataset::reader::Reader;
use crate::errors::{IntoPy, from_py};
use crate::sample::extract::emit_value;
use jinx_core::json::write::{Binary, JsonText};
use jinx_format::copy_files;
use jinx_format::identity::{self, JinxIdentity};
use jinx_format::move_files;
use jinx_format::read::open;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::{PathBuf, absolute};

/// Detects the format of a file from its content.
#[pyfunction]
pub fn sniff(py: Python<'_>, path: PathBuf) -> PyResult<(String, Option<String>)> {
    let kind = py.detach(|| jinx_format::sniff::sniff(&path)).into_py_result()?;
    Ok((kind.name().to_owned(), kind.hint(&path)))
}

/// Path, number of samples and id of a shard.
type ShardParts = (PathBuf, Option<u64>, Option<String>);

/// The shards that a path refers to.
#[pyfunction]
pub fn resolve(py: Python<'_>, path: PathBuf) -> PyResult<Vec<ShardParts>> {
    let shards = py.detach(|| open::resolve(&path)).into_py_result()?;
    Ok(shards.into_iter().map(|shard| (shard.path, shard.samples, shard.id)).collect())
}

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
            for i in start..stop.min(view.count()) {
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

/// Calls a Python progress function from a thread that has released the GIL. The function may raise.
pub fn call_progress(progress: Option<&Py<PyAny>>, arguments: (u64, u64)) -> jinx_core::Result<()> {
    Python::attach(|py| {
        py.check_signals().map_err(|error| from_py(py, error))?;
        match progress {
            Some(progress) => progress.call1(py, arguments).map(|_| ()).map_err(|error| from_py(py, error)),
            None => Ok(()),
        }
    })
}

/// Merges the parts in a directory into one dataset. Returns the numbers of samples, bytes, sidecar bytes and shards.
#[pyfunction]
pub fn merge(py: Python<'_>, directory: PathBuf) -> PyResult<(u64, u64, u64, u64)> {
    let merged = py.detach(|| jinx_format::merge::merge(&directory)).into_py_result()?;
    Ok((merged.samples, merged.bytes, merged.sidecar_bytes, merged.shards))
}

/// The sidecar of a main file.
#[pyfunction]
pub fn sidecar_of(py: Python<'_>, main: PathBuf) -> PyResult<Option<PathBuf>> {
    py.detach(|| identity::sidecar_of(&main)).into_py_result()
}

/// Fails if the sidecar next to `main` belongs to another main file.
#[pyfunction]
pub fn require_own_sidecar(py: Python<'_>, main: PathBuf) -> PyResult<()> {
    py.detach(|| jinx_core::io::require_own_sidecar(&absolute(main)?, &JinxIdentity)).into_py_result()
}

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

/// Removes the leftover temporary files in a directory; returns their paths.
#[pyfunction]
pub fn clean(py: Python<'_>, directory: PathBuf) -> PyResult<Vec<PathBuf>> {
    py.detach(|| jinx_core::io::sweep(&directory, &JinxIdentity)).into_py_result()
}
