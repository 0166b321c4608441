//! A sample of a view: a sample of its base, and a row of the view's own columns.

use crate::prefetch::work::Work;
use crate::sample::decoders::Decoders;
use crate::sample::stored::StoredSample;
use crate::sample::stored_columns::{StoredColumns, no_line};
use jinx_core::Result;
use jinx_core::row_events::Sink;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyListMethods, PyString};
use std::sync::Arc;

pub struct ViewSample {
    base: StoredSample,
    own: StoredSample,
    own_names: Arc<Vec<String>>,
}

impl ViewSample {
    /// `base` must not contain a column of `own_names`.
    pub fn new(base: StoredSample, own: StoredSample, own_names: Arc<Vec<String>>) -> Self {
        Self { base, own, own_names }
    }

    fn is_own(&self, name: &str) -> bool {
        self.own_names.iter().any(|own| own == name)
    }

    fn holder(&self, name: &str) -> &StoredSample {
        if self.is_own(name) { &self.own } else { &self.base }
    }
}

impl StoredColumns for ViewSample {
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let names = self.base.names(py)?;
        for name in self.own.names(py)?.iter() {
            // A name that the file does not list is not a column of the view.
            if self.is_own(name.cast::<PyString>()?.to_str()?) {
                names.append(name)?;
            }
        }
        Ok(names)
    }

    fn contains(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        self.holder(name).contains(py, name)
    }

    fn value<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        decoders: &Decoders,
        unique: bool,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.holder(name).value(py, name, decoders, unique)
    }

    fn values<'py>(
        &self,
        py: Python<'py>,
        wanted: &dyn Fn(&str) -> bool,
        pending: bool,
        decoders: &Decoders,
        keep: &mut dyn FnMut(Bound<'py, PyString>, Bound<'py, PyAny>) -> PyResult<()>,
    ) -> PyResult<()> {
        self.base.values(py, wanted, pending, decoders, keep)?;
        self.own.values(py, &|name| self.is_own(name) && wanted(name), pending, decoders, keep)
    }

    fn emit(
        &self,
        py: Python<'_>,
        name: &str,
        decoders: &Decoders,
        depth: usize,
        sink: &mut dyn Sink,
    ) -> Result<bool> {
        self.holder(name).emit(py, name, decoders, depth, sink)
    }

    fn is_unchanged(
        &self,
        py: Python<'_>,
        name: &str,
        value: &Bound<'_, PyAny>,
        decoders: &Decoders,
    ) -> PyResult<bool> {
        self.holder(name).is_unchanged(py, name, value, decoders)
    }

    fn length(&self, py: Python<'_>, name: &str, decoders: &Decoders) -> PyResult<Option<u64>> {
        self.holder(name).length(py, name, decoders)
    }

    fn summary(&self, py: Python<'_>, name: &str) -> PyResult<Option<String>> {
        self.holder(name).summary(py, name)
    }

    fn json(&self, py: Python<'_>, name: &str) -> PyResult<Option<Vec<u8>>> {
        self.holder(name).json(py, name)
    }

    fn line(&self, _py: Python<'_>) -> PyResult<Vec<u8>> {
        Err(no_line())
    }

    fn keeps_copy(&self) -> bool {
        self.base.keeps_copy()
    }

    fn duplicate(&self) -> Box<dyn StoredColumns> {
        Box::new(Self::new(self.base.copy(), self.own.copy(), Arc::clone(&self.own_names)))
    }

    fn plan(&mut self, wanted: &dyn Fn(&str) -> bool) {
        self.base.plan(wanted);
        self.own.plan(wanted);
    }

    fn start(&mut self, py: Python<'_>, send: &mut dyn FnMut(Arc<dyn Work>)) -> PyResult<()> {
        self.base.start(py, send)?;
        self.own.start(py, send)
    }
}
