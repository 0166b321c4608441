//! Composes views of open datasets, for Python.

use crate::dataset::handle::RowsHandle;
use crate::dataset::reader::Reader;
use crate::errors::{IntoPy, to_py};
use crate::view::python_columns::MemoryRows;
use jinx_core::{Error, Result};
use jinx_dataset::shards::ShardRows;
use jinx_dataset::{Dataset, Files, Positions, Rows, ViewRows, over_bases};
use jinx_format::meta::Meta;
use pyo3::prelude::*;
use std::sync::Arc;

fn one_sequence(parts: &[Bound<'_, Reader>]) -> Result<Arc<dyn Rows>> {
    let parts: Vec<Dataset> = parts.iter().map(|part| part.get().view.clone()).collect();
    Dataset::concat(&parts)
}

/// The rows of several datasets as one, which share the open files; `None` unless all are JINX files, or all are JSON
/// lines.
#[pyfunction]
pub fn join(parts: Vec<Bound<'_, Reader>>) -> PyResult<Option<RowsHandle>> {
    let shards =
        |part: &Bound<'_, Reader>| Arc::clone(&part.get().view.rows).into_any().downcast::<ShardRows>();
    let Ok(parts) = parts.iter().map(shards).collect::<std::result::Result<Vec<_>, _>>() else {
        return Ok(None);
    };
    if parts.iter().any(|part| part.plain != parts[0].plain) {
        return Ok(None);
    }
    let joined = ShardRows::joined(&parts).into_py_result()?;
    Ok(Some(RowsHandle(Arc::new(joined))))
}

/// Concatenates datasets, and adds columns from Python. `lengths` says, as JSON text, how those of the columns that are
/// lengths were counted.
#[pyfunction]
pub fn compose(
    py: Python<'_>,
    parts: Vec<Bound<'_, Reader>>,
    own: Vec<(String, Py<PyAny>)>,
    lengths: Option<&str>,
) -> PyResult<RowsHandle> {
    let base = one_sequence(&parts).into_py_result()?;
    if own.is_empty() {
        return Ok(RowsHandle(base));
    }
    let files = base.files();
    let files = Files { paths: files.paths.clone(), base: files.base.clone(), samples: files.samples };
    let meta = lengths.map(Meta::of_lengths).transpose().into_py_result()?.unwrap_or_default();
    let own: Arc<dyn Rows> = Arc::new(MemoryRows::new(py, files.samples, own, meta)?);
    let view = ViewRows::new(files, base, Positions::Same, Some(own), Vec::new()).into_py_result()?;
    Ok(RowsHandle(Arc::new(view)))
}

/// Describes how lengths were counted (JSON text), for samples in which columns were replaced since; `None` if no counted
/// lengths remain.
#[pyfunction]
pub fn lengths_after(lengths: &str, replaced: Vec<String>) -> PyResult<Option<String>> {
    let mut meta = Meta::of_lengths(lengths).into_py_result()?;
    meta.replace_columns(&replaced);
    Ok(meta.lengths().map(str::to_owned))
}

/// Opens a saved view with its bases. `file` is the file of the view.
#[pyfunction]
pub fn compose_saved(file: &Bound<'_, Reader>, bases: Vec<Bound<'_, Reader>>) -> PyResult<RowsHandle> {
    let wrong = |_| to_py(&Error::invalid("this is not a saved view"));
    let file = Arc::clone(&file.get().view.rows).into_any().downcast::<ShardRows>().map_err(wrong)?;
    let view = one_sequence(&bases).and_then(|base| over_bases(file, base)).into_py_result()?;
    Ok(RowsHandle(Arc::new(view)))
}
