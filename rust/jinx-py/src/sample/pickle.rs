//! A sample on its way to another process: plain fields travel as their JSON text, the others as values.
//!
//! A row of messages is then one bytes object instead of a pickle of its many dicts and strings, and it is
//! parsed on the other side only if somebody looks at it.

use crate::dataset::decoders::Decoders;
use crate::mds::row::MdsRow;
use crate::objects::build::plain_json;
use jinx_core::json::scan::Members;
use jinx_core::json::text::{push_json_str, unescape};
use jinx_core::sink::Sink;
use jinx_core::{Error, Result};
use pyo3::prelude::*;
use std::sync::Arc;

/// Where the values of a sample without a JINX row come from: JSON text of fields, or a row of an MDS folder.
#[derive(Default, Clone)]
pub struct PickledRow {
    line: Vec<u8>,
    mds: Option<Arc<MdsRow>>,
}

impl PickledRow {
    pub fn new(line: Vec<u8>) -> Self {
        Self { line, mds: None }
    }

    pub fn of_mds(row: Arc<MdsRow>) -> Self {
        Self { line: Vec::new(), mds: Some(row) }
    }

    /// Adds a field with its JSON text.
    pub fn push(&mut self, name: &str, text: &[u8]) -> Result<()> {
        self.line.push(if self.line.is_empty() { b'{' } else { b',' });
        push_json_str(&mut self.line, name)?;
        self.line.push(b':');
        self.line.extend_from_slice(text);
        Ok(())
    }

    /// The whole text, an object.
    pub fn finish(mut self) -> Vec<u8> {
        if self.line.is_empty() {
            self.line.push(b'{');
        }
        self.line.push(b'}');
        self.line
    }

    /// The value of a field.
    pub fn value<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        decoders: &Decoders,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Some(mds) = &self.mds {
            return mds.value(py, name, decoders, None);
        }
        let text = self.find(name).map_err(|error| crate::errors::to_py(&error))?;
        plain_json(py, text, false)
    }

    /// Emits a field as it is stored; false where it is known only as a Python object.
    pub fn emit(
        &self,
        py: Python<'_>,
        name: &str,
        decoders: &Decoders,
        sink: &mut impl Sink,
    ) -> Result<bool> {
        self.mds.as_ref().map_or(Ok(false), |mds| mds.emit(py, name, decoders, sink))
    }

    /// Whether a value that was handed out is an image that still is as stored.
    pub fn is_unchanged(
        &self,
        py: Python<'_>,
        name: &str,
        value: &Bound<'_, PyAny>,
        decoders: &Decoders,
    ) -> PyResult<bool> {
        self.mds.as_ref().map_or(Ok(false), |mds| mds.is_unchanged(py, name, value, decoders))
    }

    /// The length of a field, where it can be told without decoding.
    pub fn length(&self, py: Python<'_>, name: &str, decoders: &Decoders) -> PyResult<Option<u64>> {
        self.mds.as_ref().map_or(Ok(None), |mds| mds.length(py, name, decoders))
    }

    /// A short text for a field, where there is one without decoding.
    pub fn summary(&self, py: Python<'_>, name: &str) -> PyResult<Option<String>> {
        self.mds.as_ref().map_or(Ok(None), |mds| mds.summary(py, name))
    }

    fn find(&self, name: &str) -> Result<&[u8]> {
        let mut members = Members::new(&self.line);
        while let Some(span) = members.next_member()? {
            if unescape(&self.line[span.key_range()])? == name {
                return Ok(&self.line[span.value_range()]);
            }
        }
        Err(Error::corrupt(format!("the pickled sample lacks '{name}'")))
    }
}
