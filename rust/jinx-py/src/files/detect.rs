//! Finds the format of a file, the shards that a path refers to, and the sidecar of a main file.

use crate::errors::IntoPy;
use jinx_format::identity::{self, JinxIdentity};
use jinx_format::read::open;
use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::{PathBuf, absolute};

/// Detects the format of a file from its content.
#[pyfunction]
pub fn sniff(py: Python<'_>, path: PathBuf) -> PyResult<(String, Option<String>)> {
    let kind = py.detach(|| jinx_format::file_kind::sniff(&path)).into_py_result()?;
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

/// The MDS directory that a path names: itself, its subdirectory of a split, or the directory of an `index.json`.
#[pyfunction]
pub fn mds_directory(path: PathBuf, split: Option<&str>) -> Option<OsString> {
    jinx_dataset::mds_directory(&path, split).map(PathBuf::into_os_string)
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
