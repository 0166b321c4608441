//! Pickling of samples: plain columns are sent as their JSON text, the others as values.
//!
//! A row of messages then is one bytes object instead of a pickle of many dicts and strings. The receiver parses it
//! only on first access.

use crate::errors::{IntoPy, to_py};
use crate::objects::build::plain_json;
use crate::sample::decoders::Decoders;
use crate::sample::stored_columns::StoredColumns;
use jinx_core::json::scan::Members;
use jinx_core::json::text::{push_json_str, unescape};
use jinx_core::{Error, Result};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use std::borrow::Cow;

/// The JSON text of several columns as one JSON object.
#[derive(Default, Clone)]
pub struct PickledColumns {
    line: Vec<u8>,
}

impl PickledColumns {
    pub fn new(line: Vec<u8>) -> Self {
        Self { line }
    }

    /// Adds a column with its JSON text.
    pub fn push(&mut self, name: &str, text: &[u8]) -> Result<()> {
        self.line.push(if self.line.is_empty() { b'{' } else { b',' });
        push_json_str(&mut self.line, name)?;
        self.line.push(b':');
        self.line.extend_from_slice(text);
        Ok(())
    }

    /// The whole text.
    pub fn finish(mut self) -> Vec<u8> {
        if self.line.is_empty() {
            self.line.push(b'{');
        }
        self.line.push(b'}');
        self.line
    }

    /// The names, and the text of each.
    fn columns(&self) -> Result<Vec<(Cow<'_, str>, &[u8])>> {
        let (mut members, mut columns) = (Members::new(&self.line), Vec::new());
        while let Some(span) = members.next_member()? {
            columns.push((unescape(&self.line[span.key_range()])?, &self.line[span.value_range()]));
        }
        Ok(columns)
    }

    fn find(&self, name: &str) -> PyResult<Option<&[u8]>> {
        let columns = self.columns().into_py_result()?;
        Ok(columns.into_iter().find(|(other, _)| other == name).map(|(_, text)| text))
    }
}

impl StoredColumns for PickledColumns {
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let columns = self.columns().into_py_result()?;
        PyList::new(py, columns.iter().map(|(name, _)| PyString::intern(py, name)))
    }

    fn contains(&self, _py: Python<'_>, name: &str) -> PyResult<bool> {
        Ok(self.find(name)?.is_some())
    }

    fn value<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        _decoders: &Decoders,
        unique: bool,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let text = self.find(name)?;
        let text =
            text.ok_or_else(|| to_py(&Error::corrupt(format!("the pickled sample lacks '{name}'"))))?;
        plain_json(py, text, unique).map(Some)
    }

    fn values<'py>(
        &self,
        py: Python<'py>,
        wanted: &dyn Fn(&str) -> bool,
        pending: bool,
        _decoders: &Decoders,
        keep: &mut dyn FnMut(Bound<'py, PyString>, Bound<'py, PyAny>) -> PyResult<()>,
    ) -> PyResult<()> {
        let columns = self.columns().into_py_result()?;
        for (name, text) in columns.iter().filter(|(name, _)| !pending && wanted(name)) {
            keep(PyString::intern(py, name), plain_json(py, text, false)?)?;
        }
        Ok(())
    }

    fn json(&self, _py: Python<'_>, name: &str) -> PyResult<Option<Vec<u8>>> {
        Ok(self.find(name)?.map(<[u8]>::to_vec))
    }

    fn duplicate(&self) -> Box<dyn StoredColumns> {
        Box::new(self.clone())
    }
}
