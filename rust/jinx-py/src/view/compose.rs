//! Views made of datasets that are open, for Python.

use crate::dataset::files::Files;
use crate::dataset::projection::Projection;
use crate::dataset::reader::Reader;
use crate::dataset::rows::Rows;
use crate::dataset::view::View;
use crate::errors::{IntoPy, to_py};
use crate::jinx::dataset::JinxDataset;
use crate::view::concat::ConcatRows;
use crate::view::memory::MemoryRows;
use crate::view::rows::{Positions, ViewRows};
use jinx_core::num::to_u64;
use jinx_core::{Error, Result};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::ffi::OsString;
use std::sync::Arc;

/// What a dataset is read from, on its way through Python.
#[pyclass(frozen, module = "jinx._core", name = "Rows")]
pub struct RowsHandle(pub Arc<dyn Rows>);

#[pymethods]
impl RowsHandle {
    /// `"jinx"`, `"jsonl"`, `"mds"`, or `"memory"` for columns without files.
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind()
    }

    /// Absolute.
    #[getter]
    fn paths(&self) -> Vec<OsString> {
        let files = self.0.files();
        files.paths.iter().map(|path| files.base.join(path).into()).collect()
    }

    #[getter]
    fn samples(&self) -> u64 {
        self.0.files().samples
    }

    /// The same rows with the columns that a view hides.
    fn whole(&self) -> Self {
        Self(self.0.with_projection(Projection::default()))
    }

    /// (samples, id) of each file.
    fn identities(&self, py: Python<'_>) -> PyResult<Vec<(u64, String)>> {
        py.detach(|| self.0.identities()).into_py_result()
    }

    fn column_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        py.detach(|| self.0.column_names()).into_py_result()
    }

    /// Of JSON lines: where each line of a file begins, and where the last one ends, as little-endian u64.
    fn line_offsets<'py>(&self, py: Python<'py>, file: usize) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.line_offsets(file).into_py_result()?))
    }
}

/// The rows of a view, in its order.
fn in_order(view: &View) -> Result<Arc<dyn Rows>> {
    let chosen = view.rows.projection();
    if view.positions.is_none() && chosen.columns.is_none() && chosen.hidden.is_empty() {
        return Ok(Arc::clone(&view.rows));
    }
    let files = view.rows.files();
    let (paths, base) = (files.paths.clone(), files.base.clone());
    let files = Files { paths, base, samples: to_u64(view.count()) };
    let positions = view.positions.as_ref().map_or(Positions::Same, |all| Positions::Memory(Arc::clone(all)));
    // The columns that were chosen are those of every view over this one.
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

/// Datasets as one sequence, with columns of Python's and without those that are `dropped`.
#[pyfunction]
pub fn compose(
    parts: Vec<Bound<'_, Reader>>,
    own: Vec<(String, Py<PyAny>)>,
    dropped: Vec<String>,
) -> PyResult<RowsHandle> {
    let base = one_sequence(&parts).into_py_result()?;
    if own.is_empty() && dropped.is_empty() {
        return Ok(RowsHandle(base));
    }
    let files = base.files();
    let files = Files { paths: files.paths.clone(), base: files.base.clone(), samples: files.samples };
    let own: Option<Arc<dyn Rows>> = match own.is_empty() {
        true => None,
        false => Some(Arc::new(MemoryRows::new(files.samples, own))),
    };
    let view = ViewRows::new(files, base, Positions::Same, own, dropped).into_py_result()?;
    Ok(RowsHandle(Arc::new(view)))
}

/// A saved view over its bases, of which `file` was opened with the others.
#[pyfunction]
pub fn compose_saved(file: &Bound<'_, Reader>, bases: Vec<Bound<'_, Reader>>) -> PyResult<RowsHandle> {
    let wrong = || to_py(&Error::invalid("this is not a saved view"));
    let rows = Arc::clone(&file.get().view.rows);
    let saved = rows.saved_view().ok_or_else(wrong)?;
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
    let own: Option<Arc<dyn Rows>> = if info.rows > 0 { Some(saved) } else { None };
    let view = ViewRows::new(files, base, positions, own, info.drop).into_py_result()?;
    Ok(RowsHandle(Arc::new(view)))
}

impl JinxDataset {
    /// What the only file says of itself as a view.
    fn view_info(&self) -> Result<Option<jinx_format::view::ViewInfo>> {
        let shards = self.shards.get()?;
        if shards.count() != 1 {
            return Ok(None);
        }
        Ok(shards.shard(0)?.footer().view.clone())
    }

    /// Whether it is a view of which only the file is open.
    pub fn is_view(&self) -> bool {
        self.view_info().is_ok_and(|info| info.is_some())
    }

    fn view_samples(&self) -> Result<u64> {
        Ok(self.shards.get()?.shard(0)?.footer().num_samples)
    }
}
