//! Composes views of open datasets, for Python.

use crate::dataset::files::Files;
use crate::dataset::handle::RowsHandle;
use crate::dataset::reader::Reader;
use crate::dataset::rows::Rows;
use crate::dataset::view::View;
use crate::errors::{IntoPy, to_py};
use crate::jinx_shards::dataset::JinxDataset;
use crate::view::concat::ConcatRows;
use crate::view::python_columns::MemoryRows;
use crate::view::rows::{Positions, ViewRows};
use jinx_core::checked_math::to_u64;
use jinx_core::{Error, Result};
use jinx_format::meta::Meta;
use pyo3::prelude::*;
use std::sync::Arc;

/// Returns the rows of a view, in the order of the view.
fn in_order(view: &View) -> Result<Arc<dyn Rows>> {
    let chosen = view.rows.projection();
    if view.positions.is_none() && chosen.columns.is_none() && chosen.hidden.is_empty() {
        return Ok(Arc::clone(&view.rows));
    }
    let files = view.rows.files();
    let (paths, base) = (files.paths.clone(), files.base.clone());
    let files = Files { paths, base, samples: to_u64(view.count()) };
    let positions = view.positions.as_ref().map_or(Positions::Same, |all| Positions::Memory(Arc::clone(all)));
    // Views of this view can have only the columns selected here.
    Ok(Arc::new(ViewRows::new(files, Arc::clone(&view.rows), positions, None, Vec::new())?))
}

fn one_sequence(parts: &[Bound<'_, Reader>]) -> Result<Arc<dyn Rows>> {
    let mut rows = parts.iter().map(|part| in_order(&part.get().view)).collect::<Result<Vec<_>>>()?;
    match (rows.pop(), rows.is_empty()) {
        (Some(only), true) => Ok(only),
        (Some(last), false) => {
            rows.push(last);
            Ok(Arc::new(ConcatRows::new(rows)?))
        }
        (None, _) => Err(Error::invalid("there is no dataset")),
    }
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

/// How lengths were counted (as JSON text) after columns of the samples were replaced; `None` if none is left.
#[pyfunction]
pub fn lengths_after(lengths: &str, replaced: Vec<String>) -> PyResult<Option<String>> {
    let mut meta = Meta::of_lengths(lengths).into_py_result()?;
    meta.replace_columns(&replaced);
    Ok(meta.lengths().map(str::to_owned))
}

/// Opens a saved view on its bases. `file` is the file of the view.
#[pyfunction]
pub fn compose_saved(file: &Bound<'_, Reader>, bases: Vec<Bound<'_, Reader>>) -> PyResult<RowsHandle> {
    let wrong = || to_py(&Error::invalid("this is not a saved view"));
    let rows = Arc::clone(&file.get().view.rows).into_any();
    let saved = rows.downcast::<JinxDataset>().map_err(|_| wrong())?;
    let info = saved.view_info().into_py_result()?.ok_or_else(wrong)?;
    let base = one_sequence(&bases).into_py_result()?;
    let expected = info.base_samples;
    if base.files().samples != expected {
        let what =
            format!("the bases have {} samples, the view was saved over {expected}", base.files().samples);
        return Err(to_py(&Error::mismatch(what)));
    }
    let files = Files {
        paths: saved.files.paths.clone(),
        base: saved.files.base.clone(),
        samples: saved.view_samples().into_py_result()?,
    };
    let positions = match info.positions {
        None => Positions::Same,
        Some(_) => Positions::Saved(Arc::clone(&saved)),
    };
    // Without samples, the file may still have the types of the columns.
    let has_types = files.samples == 0
        && saved.shards.get().into_py_result()?.shard(0).into_py_result()?.footer().arrow_schema.is_some();
    let own: Option<Arc<dyn Rows>> = if info.rows > 0 || has_types { Some(saved) } else { None };
    let view = ViewRows::new(files, base, positions, own, info.drop).into_py_result()?;
    Ok(RowsHandle(Arc::new(view)))
}
