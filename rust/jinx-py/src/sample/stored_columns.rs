//! Where the values of a sample come from that nobody has decoded yet.

use crate::prefetch::work::Work;
use crate::sample::decoders::Decoders;
use jinx_core::Result;
use jinx_core::sink::Sink;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use std::sync::Arc;

/// The stored columns of one sample: a row of a JINX shard, a sample of an MDS directory, the text in a pickle.
///
/// It reads and decodes at every call; `LazyDict` keeps what was decoded, and what was changed.
pub trait StoredColumns: Send + Sync {
    /// The names in order.
    ///
    /// # Errors
    /// Those of reading.
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>>;

    /// # Errors
    /// Those of reading.
    fn contains(&self, py: Python<'_>, name: &str) -> PyResult<bool>;

    /// A column's value, through its decoder if it has one; `None` where there is no such column. `unique` asks for names
    /// that appear twice in a dict below it.
    ///
    /// # Errors
    /// Those of reading and of the decoder, with the place.
    fn value<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        decoders: &Decoders,
        unique: bool,
    ) -> PyResult<Option<Bound<'py, PyAny>>>;

    /// Decodes all columns that `wanted` names and gives them to `keep`: those that are on their way (`pending`), or the
    /// others.
    ///
    /// # Errors
    /// As [`StoredColumns::value`].
    fn values<'py>(
        &self,
        py: Python<'py>,
        wanted: &dyn Fn(&str) -> bool,
        pending: bool,
        decoders: &Decoders,
        keep: &mut dyn FnMut(Bound<'py, PyString>, Bound<'py, PyAny>) -> PyResult<()>,
    ) -> PyResult<()>;

    /// Emits a column as it is stored, inside `depth` containers; false where it is known only as a Python object.
    ///
    /// # Errors
    /// Those of reading, and of the sink.
    fn emit(
        &self,
        _py: Python<'_>,
        _name: &str,
        _decoders: &Decoders,
        _depth: usize,
        _sink: &mut dyn Sink,
    ) -> Result<bool> {
        Ok(false)
    }

    /// Emits the whole sample as it is stored; false where that is done column by column.
    ///
    /// # Errors
    /// Those of reading, and of the sink.
    fn emit_all(&self, _py: Python<'_>, _sink: &mut dyn Sink) -> Result<bool> {
        Ok(false)
    }

    /// Whether an object that can be changed in place still shows what is stored.
    ///
    /// # Errors
    /// Those of reading.
    fn is_unchanged(
        &self,
        _py: Python<'_>,
        _name: &str,
        _value: &Bound<'_, PyAny>,
        _decoders: &Decoders,
    ) -> PyResult<bool> {
        Ok(false)
    }

    /// A column's length, where it can be told without decoding.
    ///
    /// # Errors
    /// Those of reading; `TypeError` for what has no length.
    fn length(&self, _py: Python<'_>, _name: &str, _decoders: &Decoders) -> PyResult<Option<u64>> {
        Ok(None)
    }

    /// A short text for a column, where there is one without decoding.
    ///
    /// # Errors
    /// Those of reading.
    fn summary(&self, _py: Python<'_>, _name: &str) -> PyResult<Option<String>> {
        Ok(None)
    }

    /// A column's JSON text, where that is all there is to it.
    ///
    /// # Errors
    /// Those of reading.
    fn json(&self, _py: Python<'_>, _name: &str) -> PyResult<Option<Vec<u8>>> {
        Ok(None)
    }

    /// The JSON line that the sample is stored as.
    ///
    /// # Errors
    /// Those of reading; `TypeError` where there is none.
    fn line(&self, _py: Python<'_>) -> PyResult<Vec<u8>> {
        Err(no_line())
    }

    /// Whether it keeps memory of its own for as long as it lives, as large as all values that are decoded from it.
    fn keeps_copy(&self) -> bool {
        false
    }

    /// The same columns, for a copy of the sample.
    fn duplicate(&self) -> Box<dyn StoredColumns>;

    /// Finds out what can be read ahead of the columns that `wanted` names; needs no GIL. What fails is done again, and
    /// reported, when it is touched.
    fn plan(&mut self, _wanted: &dyn Fn(&str) -> bool) {}

    /// Makes the objects of what was planned, and gives the work to `send`.
    ///
    /// # Errors
    /// `MemoryError`.
    fn start(&mut self, _py: Python<'_>, _send: &mut dyn FnMut(Arc<dyn Work>)) -> PyResult<()> {
        Ok(())
    }
}

/// What a sample answers that is not stored as a JSON line.
pub fn no_line() -> PyErr {
    PyTypeError::new_err("this sample has no stored row")
}
