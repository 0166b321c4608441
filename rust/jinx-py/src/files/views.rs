//! Files of saved views: their footers, and the paths of their bases.

use crate::dataset::reader::Reader;
use crate::errors::{IntoPy, to_py};
use crate::jinx_shards::dataset::JinxDataset;
use jinx_core::{Error, Result};
use jinx_format::bases::{self, rewrite_bases};
use jinx_format::footer::Footer;
use jinx_format::read::shard::{OpenOptions, Shard};
use jinx_format::view::Base;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

/// The footer of a saved view as JSON text. `None` for any other JINX file.
#[pyfunction]
pub fn view_footer(py: Python<'_>, path: PathBuf) -> PyResult<Option<String>> {
    let options = OpenOptions { views: true, ..OpenOptions::default() };
    let shard = py.detach(|| Shard::open(&path, &options)).into_py_result()?;
    Ok(footer_text(&shard))
}

/// As `view_footer`, for the file of a view that is open.
#[pyfunction]
pub fn open_view_footer(file: &Bound<'_, Reader>) -> PyResult<Option<String>> {
    with_view(file, |shard| Ok(footer_text(shard))).into_py_result()
}

/// The start of each line of a view's base of plain JSON lines, and the end of the last line, as little-endian u64.
#[pyfunction]
pub fn view_line_offsets<'py>(
    py: Python<'py>,
    file: &Bound<'py, Reader>,
    base: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let offsets = with_view(file, |shard| {
        let offsets = shard.base_line_offsets(base).map_err(|error| error.in_file(shard.path()))?;
        let missing = || Error::invalid("this base has no line offsets").in_file(shard.path());
        offsets.ok_or_else(missing)
    });
    Ok(PyBytes::new(py, &offsets.into_py_result()?))
}

fn with_view<T>(file: &Bound<'_, Reader>, read: impl FnOnce(&Shard) -> Result<T>) -> Result<T> {
    let rows = Arc::clone(&file.get().view.rows).into_any();
    let dataset =
        rows.downcast::<JinxDataset>().map_err(|_| Error::invalid("this is not the file of a view"))?;
    read(dataset.shards.get()?.shard(0)?)
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
        "has_positions": view.positions.is_some(),
    });
    Some(footer.to_string())
}

/// Rewrites the paths of the bases of the view with this id. `places` is a JSON list of `[path, hint]`.
#[pyfunction]
pub fn view_set_paths(py: Python<'_>, path: PathBuf, id: &str, places: &str) -> PyResult<()> {
    let places: Vec<(String, String)> =
        serde_json::from_str(places).map_err(|error| to_py(&Error::invalid(error.to_string())))?;
    py.detach(|| rewrite_bases(&path, id, &places)).into_py_result()
}

/// xxh3-128 of bytes, as 32 hex digits.
#[pyfunction]
pub fn hash_bytes(data: &[u8]) -> String {
    bases::hash_bytes(data)
}

/// xxh3-128 of a file, as 32 hex digits.
#[pyfunction]
pub fn hash_file(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    py.detach(|| bases::hash_file(&path)).into_py_result()
}
