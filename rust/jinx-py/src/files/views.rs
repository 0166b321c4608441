//! Files of saved views: their footers, and the paths of their bases.

use crate::errors::{IntoPy, to_py};
use jinx_core::Error;
use jinx_format::bases::{self, rewrite_bases, stand_in_id};
use jinx_format::footer::Footer;
use jinx_format::read::shard::{OpenOptions, Shard};
use jinx_format::view::Base;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

fn open(path: &Path) -> jinx_core::Result<Shard> {
    Shard::open(path, &OpenOptions { views: true, ..OpenOptions::default() })
}

/// The footer of a saved view as JSON text. `None` for any other JINX file.
#[pyfunction]
pub fn view_footer(py: Python<'_>, path: PathBuf) -> PyResult<Option<String>> {
    let shard = py.detach(|| open(&path)).into_py_result()?;
    let Footer { view, id, num_samples, .. } = shard.footer();
    let Some(view) = view else { return Ok(None) };
    let bases: Vec<Base> = view.bases.iter().map(|base| Base { index: None, ..base.clone() }).collect();
    let footer = json!({
        "id": id,
        "num_samples": num_samples,
        "rows": view.rows,
        "base": bases,
        "drop": view.drop,
        "has_positions": view.positions.is_some(),
    });
    Ok(Some(footer.to_string()))
}

/// The start of each line of a view's base of plain JSON lines, and the end of the last line, as little-endian u64.
#[pyfunction]
pub fn view_line_offsets<'py>(py: Python<'py>, path: PathBuf, base: usize) -> PyResult<Bound<'py, PyBytes>> {
    let offsets = py.detach(|| {
        let shard = open(&path)?;
        let offsets = shard.base_line_offsets(base).map_err(|error| error.in_file(&path))?;
        let missing = || Error::invalid("this base has no line offsets").in_file(&path);
        offsets.map(Cow::into_owned).ok_or_else(missing)
    });
    Ok(PyBytes::new(py, &offsets.into_py_result()?))
}

/// A substitute for the id of a JINX 1.0 pair, which has no id.
#[pyfunction]
pub fn pair_stand_in_id(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    py.detach(|| stand_in_id(&path)).into_py_result()
}

/// Rewrites the paths of a view's bases. `places` is a JSON list of `[path, hint]`.
#[pyfunction]
pub fn view_set_paths(py: Python<'_>, path: PathBuf, places: &str) -> PyResult<()> {
    let places: Vec<(String, String)> =
        serde_json::from_str(places).map_err(|error| to_py(&Error::invalid(error.to_string())))?;
    py.detach(|| rewrite_bases(&path, &places)).into_py_result()
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
