//! A sample of the typed columns of a saved view.

use crate::errors::IntoPy;
use crate::objects::build::PyBuilder;
use crate::sample::decoders::Decoders;
use crate::sample::stored_columns::StoredColumns;
use jinx_core::Result;
use jinx_core::row_events::Sink;
use jinx_core::value::Value;
use jinx_dataset::{ColumnRows, Rows};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use std::sync::Arc;

pub struct ColumnSample {
    rows: Arc<ColumnRows>,
    i: u64,
}

impl ColumnSample {
    pub fn new(rows: Arc<ColumnRows>, i: u64) -> Self {
        Self { rows, i }
    }

    /// The stored value of a column; other threads run while it is fetched.
    fn stored(&self, py: Python<'_>, name: &str) -> Result<Option<Value>> {
        let read = || self.rows.value(name, self.i);
        if self.rows.is_mapped() { read() } else { py.detach(read) }
    }
}

impl StoredColumns for ColumnSample {
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let names = self.rows.column_names().into_py_result()?;
        PyList::new(py, names.iter().map(|name| PyString::intern(py, name)))
    }

    fn contains(&self, _py: Python<'_>, name: &str) -> PyResult<bool> {
        Ok(self.rows.column_names().into_py_result()?.iter().any(|known| known == name))
    }

    fn value<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        decoders: &Decoders,
        _unique: bool,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(value) = self.stored(py, name).into_py_result()? else { return Ok(None) };
        let mut builder = PyBuilder::new(py);
        value.emit(&mut builder).and_then(|()| builder.finish()).into_py_result().and_then(|value| {
            match decoders.get(py, name)? {
                None => Ok(Some(value)),
                Some(decoder) => decoder.call1((value,)).map(Some),
            }
        })
    }

    fn values<'py>(
        &self,
        py: Python<'py>,
        wanted: &dyn Fn(&str) -> bool,
        pending: bool,
        decoders: &Decoders,
        keep: &mut dyn FnMut(Bound<'py, PyString>, Bound<'py, PyAny>) -> PyResult<()>,
    ) -> PyResult<()> {
        if pending {
            return Ok(());
        }
        for name in self.rows.column_names().into_py_result()?.iter().filter(|name| wanted(name)) {
            if let Some(value) = self.value(py, name, decoders, false)? {
                keep(PyString::intern(py, name), value)?;
            }
        }
        Ok(())
    }

    fn emit(
        &self,
        py: Python<'_>,
        name: &str,
        decoders: &Decoders,
        _depth: usize,
        mut sink: &mut dyn Sink,
    ) -> Result<bool> {
        let is_stored = matches!(decoders.get(py, name), Ok(None));
        let Some(value) = self.stored(py, name)?.filter(|_| is_stored) else { return Ok(false) };
        value.emit(&mut sink)?;
        Ok(true)
    }

    fn duplicate(&self) -> Box<dyn StoredColumns> {
        Box::new(Self { rows: Arc::clone(&self.rows), i: self.i })
    }
}
