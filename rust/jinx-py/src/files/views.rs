//! Files of saved views: their footers, and the paths of their bases.

use crate::dataset::handle::RowsHandle;
use crate::dataset::reader::Reader;
use crate::errors::{IntoPy, to_py};
use jinx_core::{Error, Result};
use jinx_dataset::base_opener::{self, BaseOpener};
use jinx_dataset::shards::ShardRows;
use jinx_format::content_hash::{hash_bytes as hash_of_bytes, hash_file as hash_of_file};
use jinx_format::footer::Footer;
use jinx_format::manifest::Manifest;
use jinx_format::own_columns::name_of;
use jinx_format::read::shard::{OpenOptions, Shard};
use jinx_format::rewrite_bases::{NewPlaces, ShardPlaces, rewrite_bases, rewrite_bases_of_shards};
use jinx_format::view_footer::Base;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// The footer of a saved view as JSON text. `None` for any other JINX file.
#[pyfunction]
pub fn view_footer(py: Python<'_>, path: PathBuf) -> PyResult<Option<String>> {
    let options = OpenOptions { views: true, ..OpenOptions::default() };
    let shard = py.detach(|| Shard::open(&path, &options)).into_py_result()?;
    Ok(footer_text(&shard))
}

/// Whether a directory contains saved views, according to its manifest.
#[pyfunction]
pub fn is_view_directory(py: Python<'_>, path: PathBuf) -> PyResult<bool> {
    let manifest = py.detach(|| Manifest::read(&path)).into_py_result()?;
    Ok(manifest.is_some_and(|manifest| manifest.is_of_views()))
}

/// Like `view_footer`, for the file of an open view.
#[pyfunction]
pub fn open_view_footer(file: &Bound<'_, Reader>) -> PyResult<Option<String>> {
    with_view(file, |shard| Ok(footer_text(shard))).into_py_result()
}

/// The files of a view as separate views: a single file, or the shards of a directory.
#[pyfunction]
pub fn view_files(py: Python<'_>, file: &Bound<'_, Reader>) -> PyResult<Vec<RowsHandle>> {
    let file = view_file(file).into_py_result()?;
    let files = py.detach(|| file.one_by_one()).into_py_result()?;
    Ok(files.into_iter().map(|file| RowsHandle(Arc::new(file))).collect())
}

/// The start of each line of a view's base of plain JSON lines, and the end of the last line, as little-endian u64.
#[pyfunction]
pub fn view_line_offsets<'py>(
    py: Python<'py>,
    file: &Bound<'py, Reader>,
    base: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let offsets = with_view(file, |shard| base_opener::line_offsets(shard, base)).into_py_result()?;
    Ok(PyBytes::new(py, &offsets))
}

/// Opens a base of a saved view from the first of `places` that has it, or from the place stored in the view. `view` is
/// the path of the view, and `file` its open file.
#[pyfunction]
pub fn open_base(
    py: Python<'_>,
    file: &Bound<'_, Reader>,
    view: PathBuf,
    base: usize,
    places: Option<Vec<PathBuf>>,
) -> PyResult<RowsHandle> {
    let opener = BaseOpener::new(view_file(file).into_py_result()?, view);
    py.detach(|| opener.open(base, places.as_deref())).map(RowsHandle).into_py_result()
}

/// The place where a base of a saved view was found, even if the base is damaged.
#[pyfunction]
pub fn find_base(py: Python<'_>, file: &Bound<'_, Reader>, view: PathBuf, base: usize) -> PyResult<OsString> {
    let opener = BaseOpener::new(view_file(file).into_py_result()?, view);
    py.detach(|| opener.find(base)).map(PathBuf::into_os_string).into_py_result()
}

/// The places where the base of a view may be on this machine, in search order; `base` is its entry in the footer as
/// JSON.
#[pyfunction]
pub fn base_candidates(base: &str, view: PathBuf) -> PyResult<Vec<OsString>> {
    let base: Base = serde_json::from_str(base).map_err(|error| to_py(&Error::invalid(error.to_string())))?;
    Ok(base_opener::candidates(&base, &view).into_iter().map(PathBuf::into_os_string).collect())
}

/// The id of the first shards of a directory, from their names, numbers of samples and ids.
#[pyfunction]
pub fn directory_id(names: Vec<String>, identities: Vec<(u64, String)>) -> PyResult<String> {
    base_opener::directory_id(&names, &identities).into_py_result()
}

fn view_file(file: &Bound<'_, Reader>) -> Result<Arc<ShardRows>> {
    let rows = Arc::clone(&file.get().view.rows).into_any();
    rows.downcast().map_err(|_| Error::invalid("this is not the file of a view"))
}

fn with_view<T>(file: &Bound<'_, Reader>, read: impl FnOnce(&Shard) -> Result<T>) -> Result<T> {
    read(view_file(file)?.shards.get()?.shard(0)?)
}

fn footer_text(shard: &Shard) -> Option<String> {
    let Footer { view, id, num_samples, .. } = shard.footer();
    let view = view.as_ref()?;
    let bases: Vec<Base> = view.bases.iter().map(|base| Base { index: None, ..base.clone() }).collect();
    let footer = json!({
        "id": id,
        "num_samples": num_samples,
        "rows": view.rows,
        "base": bases,
        "drop": view.drop,
        "own": view.own.iter().map(name_of).collect::<Vec<_>>(),
        "has_positions": view.positions.is_some(),
    });
    Some(footer.to_string())
}

/// Rewrites the paths of the bases of the view with this id. `places` is a JSON list of `[path, hint]`, of a URL, or of
/// null for a base that stays where it is.
#[pyfunction]
pub fn view_set_paths(py: Python<'_>, path: PathBuf, id: &str, places: &str) -> PyResult<()> {
    let places: Vec<NewPlaces> =
        serde_json::from_str(places).map_err(|error| to_py(&Error::invalid(error.to_string())))?;
    py.detach(|| rewrite_bases(&path, id, &places)).into_py_result()
}

/// Like `view_set_paths`, for a directory of views: `shards` is a JSON list of `[name, id, places]`.
#[pyfunction]
pub fn view_directory_set_paths(py: Python<'_>, path: PathBuf, shards: &str) -> PyResult<()> {
    let shards: Vec<ShardPlaces> =
        serde_json::from_str(shards).map_err(|error| to_py(&Error::invalid(error.to_string())))?;
    py.detach(|| rewrite_bases_of_shards(&path, &shards)).into_py_result()
}

/// xxh3-128 of bytes, as 32 hex digits.
#[pyfunction]
pub fn hash_bytes(data: &[u8]) -> String {
    hash_of_bytes(data)
}

/// xxh3-128 of a file, as 32 hex digits.
#[pyfunction]
pub fn hash_file(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    py.detach(|| hash_of_file(&path)).into_py_result()
}
