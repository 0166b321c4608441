//! The cache of objects on disk, and statistics about reads from stores.

use crate::dataset::open::OpenArguments;
use crate::errors::IntoPy;
use jinx_remote::{Cache, CachePlace};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// Statistics about what this process has read from stores, by name.
#[pyfunction]
pub fn io_statistics(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let now = jinx_remote::statistics();
    let numbers = PyDict::new(py);
    for (name, number) in [
        ("requests", now.requests),
        ("failures", now.failures),
        ("fetched_bytes", now.fetched_bytes),
        ("cached_bytes", now.cached_bytes),
        ("read_bytes", now.read_bytes),
    ] {
        numbers.set_item(name, number)?;
    }
    Ok(numbers)
}

/// The directory of the cache: the given or the default directory; None if the cache is turned off.
#[pyfunction]
#[pyo3(signature = (directory = None))]
pub fn cache_directory(directory: Option<PathBuf>) -> Option<PathBuf> {
    directory.or_else(|| CachePlace::Default.directory())
}

/// The objects, chunks and bytes in a cache, and the maximum number of bytes.
#[pyfunction]
pub fn cache_contents(py: Python<'_>, directory: PathBuf) -> PyResult<(u64, u64, u64, u64)> {
    let found = py.detach(|| Cache::open(&directory, None)?.contents()).into_py_result()?;
    Ok((found.objects, found.chunks, found.bytes, found.limit))
}

/// Removes everything from a cache that no process uses; returns the number of freed bytes.
#[pyfunction]
pub fn cache_clear(py: Python<'_>, directory: PathBuf) -> PyResult<u64> {
    py.detach(|| Cache::open(&directory, None)?.clear()).into_py_result()
}

/// Copies a local dataset to a URL, main files last. `options` are those of a reader.
#[pyfunction]
pub fn upload(
    py: Python<'_>,
    path: PathBuf,
    url: &str,
    overwrite: bool,
    options: &Bound<'_, PyDict>,
) -> PyResult<()> {
    let options = OpenArguments::options_in(options)?;
    py.detach(|| jinx_dataset::upload(&path, url, overwrite, &options)).into_py_result()
}
