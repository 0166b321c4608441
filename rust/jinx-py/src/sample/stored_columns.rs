//! The source of values of a sample that are not decoded yet.

use crate::prefetch::work::Work;
use crate::sample::decoders::Decoders;
use jinx_core::Result;
use jinx_core::row_events::Sink;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use std::sync::Arc;

/// The stored columns of one sample: a row of a JINX shard, a sample of an MDS directory, the text in a pickle.
///
/// Every call reads and decodes. `LazyDict` caches the decoded values and holds the edited ones.
pub trait StoredColumns: Send + Sync {
    /// The names in order.
    ///
    /// # Errors
    /// Read errors.
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>>;

    /// # Errors
    /// Read errors.
    fn contains(&self, py: Python<'_>, name: &str) -> PyResult<bool>;

    /// The value of a column, after its decoder (if any) was applied. `None` if there is no such column. With `unique`,
    /// a duplicate key in a nested dict is an error.
    ///
    /// # Errors
    /// Read errors and errors of the decoder, with the location.
    fn value<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        decoders: &Decoders,
        unique: bool,
    ) -> PyResult<Option<Bound<'py, PyAny>>>;

    /// Decodes the columns that `wanted` selects and passes them to `keep`. With `pending`, only columns that are being
    /// prefetched; without, only the others.
    ///
    /// # Errors
    /// The same as [`StoredColumns::value`].
    fn values<'py>(
        &self,
        py: Python<'py>,
        wanted: &dyn Fn(&str) -> bool,
        pending: bool,
        decoders: &Decoders,
        keep: &mut dyn FnMut(Bound<'py, PyString>, Bound<'py, PyAny>) -> PyResult<()>,
    ) -> PyResult<()>;

    /// Emits a column as it is stored, inside `depth` containers. Returns false if the column exists only as a Python
    /// object.
    ///
    /// # Errors
    /// Read errors, and errors of the sink.
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

    /// Emits the whole sample as it is stored. Returns false if the caller must emit it column by column.
    ///
    /// # Errors
    /// Read errors, and errors of the sink.
    fn emit_all(&self, _py: Python<'_>, _sink: &mut dyn Sink) -> Result<bool> {
        Ok(false)
    }

    /// Whether a mutable object still equals the stored value.
    ///
    /// # Errors
    /// Read errors.
    fn is_unchanged(
        &self,
        _py: Python<'_>,
        _name: &str,
        _value: &Bound<'_, PyAny>,
        _decoders: &Decoders,
    ) -> PyResult<bool> {
        Ok(false)
    }

    /// The length of a column, if it is known without decoding.
    ///
    /// # Errors
    /// Read errors; `TypeError` for a value without a length.
    fn length(&self, _py: Python<'_>, _name: &str, _decoders: &Decoders) -> PyResult<Option<u64>> {
        Ok(None)
    }

    /// A short text for a column, if it needs no decoding.
    ///
    /// # Errors
    /// Read errors.
    fn summary(&self, _py: Python<'_>, _name: &str) -> PyResult<Option<String>> {
        Ok(None)
    }

    /// The JSON text of a column, if that text is the complete value.
    ///
    /// # Errors
    /// Read errors.
    fn json(&self, _py: Python<'_>, _name: &str) -> PyResult<Option<Vec<u8>>> {
        Ok(None)
    }

    /// The stored JSON line of the sample.
    ///
    /// # Errors
    /// Read errors; `TypeError` if there is no such line.
    fn line(&self, _py: Python<'_>) -> PyResult<Vec<u8>> {
        Err(no_line())
    }

    /// Whether this object takes as much memory as the decoded values for as long as it exists.
    fn keeps_copy(&self) -> bool {
        false
    }

    /// The same columns, for a copy of the sample.
    fn duplicate(&self) -> Box<dyn StoredColumns>;

    /// Plans which of the columns that `wanted` selects can be prefetched; needs no GIL. Errors are reported later,
    /// when the column is accessed.
    fn plan(&mut self, _wanted: &dyn Fn(&str) -> bool) {}

    /// Creates the objects for the planned columns, and passes the work to `send`.
    ///
    /// # Errors
    /// `MemoryError`.
    fn start(&mut self, _py: Python<'_>, _send: &mut dyn FnMut(Arc<dyn Work>)) -> PyResult<()> {
        Ok(())
    }
}

/// The error for a sample that is not stored as a JSON line.
pub fn no_line() -> PyErr {
    PyTypeError::new_err("this sample has no stored row")
}
