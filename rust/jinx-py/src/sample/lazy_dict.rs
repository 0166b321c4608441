//! `LazyDict`: one sample whose values are read and decoded on first access.

use crate::errors::{IntoPy, from_py};
use crate::sample::decoded::Decoded;
use crate::sample::decoders::Decoders;
use crate::sample::extract;
use crate::sample::pickle::PickledColumns;
use crate::sample::stored::StoredSample;
use jinx_core::row_events::Sink;
use jinx_core::{Error, Result};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};
use std::sync::OnceLock;

/// Placeholder for a value that is not decoded yet, in an edited sample.
#[pyclass(frozen, module = "jinx._core")]
pub(crate) struct Undecoded;

static UNDECODED: PyOnceLock<Py<Undecoded>> = PyOnceLock::new();

pub(crate) fn undecoded(py: Python<'_>) -> PyResult<&Bound<'_, Undecoded>> {
    Ok(UNDECODED.get_or_try_init(py, || Py::new(py, Undecoded))?.bind(py))
}

/// One sample: a mutable mapping whose values are read and decoded when they are first touched.
///
/// Its repr, `len`, `in` and `keys` decode nothing. Changes stay in this object; the file never changes. It pickles,
/// and `isinstance(sample, collections.abc.Mapping)` holds, but it is not a `dict`: see `to_dict`.
#[pyclass(frozen, mapping, weakref, module = "jinx._core", name = "LazyDict")]
pub struct LazyDict {
    /// `None` for a sample that was built from values.
    pub(crate) stored: Option<StoredSample>,
    pub(crate) decoders: Decoders,
    /// Decoded values by name, unchanged from the stored sample.
    pub(crate) cache: Decoded,
    /// All columns in order, once the sample is edited. Replaces the stored columns.
    pub(crate) edited: OnceLock<Py<PyDict>>,
}

/// The state of a column.
pub enum Slot<'py> {
    Value(Bound<'py, PyAny>),
    Stored,
    Missing,
}

impl LazyDict {
    pub fn new(stored: StoredSample, decoders: Decoders) -> Self {
        let (cache, edited) = (Decoded::default(), OnceLock::new());
        Self { stored: Some(stored), decoders, cache, edited }
    }

    /// Creates a sample from values. `dict` has placeholders for values that are in `stored`.
    pub fn of_dict(dict: Py<PyDict>, stored: Option<StoredSample>) -> Self {
        let (decoders, cache) = (Decoders::default(), Decoded::default());
        Self { stored, decoders, cache, edited: OnceLock::from(dict) }
    }

    pub fn slot<'py>(&self, py: Python<'py>, name: &Bound<'py, PyString>) -> PyResult<Slot<'py>> {
        if let Some(edited) = self.edited.get() {
            return Ok(match edited.bind(py).get_item(name)? {
                None => Slot::Missing,
                Some(value) if value.is(undecoded(py)?) => Slot::Stored,
                Some(value) => Slot::Value(value),
            });
        }
        Ok(self.cache.get(py, name)?.map_or(Slot::Stored, Slot::Value))
    }

    /// The value under `name`, or `None` when there is no such column.
    pub fn lookup<'py>(
        &self,
        py: Python<'py>,
        name: &Bound<'py, PyString>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        // No check for duplicate keys, which would make parsing of dicts one eighth slower.
        self.value(py, name, false)
    }

    fn value<'py>(
        &self,
        py: Python<'py>,
        name: &Bound<'py, PyString>,
        unique: bool,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.slot(py, name)? {
            Slot::Value(value) => Ok(Some(value)),
            Slot::Missing => Ok(None),
            Slot::Stored => {
                // Stored names are always valid UTF-8.
                let (Ok(text), Some(stored)) = (name.to_str(), &self.stored) else { return Ok(None) };
                let value = stored.value(py, text, &self.decoders, unique)?;
                value.map(|value| self.remember(py, name, value)).transpose()
            }
        }
    }

    /// Caches a decoded value and returns it. If two threads decode the same column, both get the first result.
    fn remember<'py>(
        &self,
        py: Python<'py>,
        name: &Bound<'py, PyString>,
        value: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Some(edited) = self.edited.get() {
            let edited = edited.bind(py);
            if let Some(other) = edited.get_item(name)?
                && !other.is(undecoded(py)?)
            {
                return Ok(other);
            }
            edited.set_item(name, &value)?;
            // Keep it, to check later whether the column is unchanged.
            self.cache.keep(py, name, value.clone())?;
            return Ok(value);
        }
        self.cache.keep(py, name, value)
    }

    /// The names in order.
    pub fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        if let Some(edited) = self.edited.get() {
            return Ok(edited.bind(py).keys());
        }
        self.stored.as_ref().map_or_else(|| Ok(PyList::empty(py)), |stored| stored.names(py))
    }

    /// Converts the sample to an ordered dict of values and placeholders that can be edited.
    pub fn edit<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyDict>> {
        if let Some(edited) = self.edited.get() {
            return Ok(edited.bind(py));
        }
        let dict = PyDict::new(py);
        for name in self.names(py)?.iter() {
            let name = name.cast_into::<PyString>()?;
            match self.cache.get(py, &name)? {
                Some(value) => dict.set_item(name, value)?,
                None => dict.set_item(name, undecoded(py)?)?,
            }
        }
        Ok(self.edited.get_or_init(|| dict.unbind()).bind(py))
    }

    /// Decodes all values and returns them as a plain dict.
    pub fn decoded<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for name in self.names(py)?.iter() {
            let name = name.cast_into::<PyString>()?;
            let value = self.value(py, &name, true)?.ok_or_else(|| missing(&name))?;
            dict.set_item(name, value)?;
        }
        Ok(dict)
    }

    /// Whether the column still has its stored value: it was never decoded, its value is immutable, or the value did
    /// not change.
    fn keeps_stored(
        &self,
        py: Python<'_>,
        stored: &StoredSample,
        name: &Bound<'_, PyString>,
    ) -> PyResult<bool> {
        match self.slot(py, name)? {
            Slot::Stored => Ok(true),
            Slot::Missing => Ok(false),
            Slot::Value(value) if is_mutable(&value) => {
                stored.is_unchanged(py, name.to_str()?, &value, &self.decoders)
            }
            Slot::Value(value) => Ok(self.cache.get(py, name)?.is_some_and(|stored| stored.is(&value))),
        }
    }

    /// Emits the sample inside `depth` containers. Unchanged columns keep their stored details, such as the file names
    /// of media.
    pub fn emit(&self, py: Python<'_>, depth: usize, sink: &mut impl Sink) -> Result<()> {
        let fail = |error: PyErr| from_py(py, error);
        let is_new = self.edited.get().is_none() && self.cache.is_empty();
        if depth == 0
            && is_new
            && self.decoders.is_none()
            && let Some(stored) = &self.stored
            && stored.emit_all(py, sink)?
        {
            return Ok(());
        }
        let names = self.names(py).map_err(fail)?;
        sink.begin_dict(names.len())?;
        for name in names.iter() {
            let name = name.cast_into::<PyString>().map_err(|error| fail(error.into()))?;
            let text = name.to_str().map_err(|_| Error::invalid(extract::SURROGATE_KEY))?;
            sink.key(text)?;
            self.emit_column(py, &name, text, depth + 1, sink).map_err(|error| error.in_column(text))?;
        }
        sink.end_dict()
    }

    fn emit_column(
        &self,
        py: Python<'_>,
        name: &Bound<'_, PyString>,
        text: &str,
        depth: usize,
        sink: &mut impl Sink,
    ) -> Result<()> {
        let fail = |error: PyErr| from_py(py, error);
        if let Some(stored) = &self.stored
            && self.keeps_stored(py, stored, name).map_err(fail)?
            && stored.emit(py, text, &self.decoders, depth, sink)?
        {
            return Ok(());
        }
        let value = self.value(py, name, true).and_then(|value| value.ok_or_else(|| missing(name)));
        extract::emit_value(&value.map_err(fail)?, depth, sink)
    }

    /// Returns the columns for pickling: unchanged columns of plain JSON as text, the others as values.
    pub fn pack<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyDict>, PickledColumns)> {
        let (values, mut texts) = (PyDict::new(py), PickledColumns::default());
        let as_stored = self.edited.get().is_none() && self.decoders.is_none();
        for name in self.names(py)?.iter() {
            let name = name.cast_into::<PyString>()?;
            if let Some(stored) = self.stored.as_ref().filter(|_| as_stored)
                && matches!(self.slot(py, &name)?, Slot::Stored)
            {
                let text = name.to_str()?;
                match stored.json(py, text)? {
                    Some(json) => texts.push(text, &json).into_py_result()?,
                    None => {
                        let value = stored.value(py, text, &self.decoders, true)?;
                        values.set_item(&name, value.ok_or_else(|| missing(&name))?)?;
                    }
                }
                continue;
            }
            values.set_item(&name, self.lookup(py, &name)?.ok_or_else(|| missing(&name))?)?;
        }
        Ok((values, texts))
    }

    /// A shallow copy that shares the decoded values and stays lazy.
    pub fn duplicate(&self, py: Python<'_>) -> PyResult<Self> {
        let edited = OnceLock::new();
        if let Some(dict) = self.edited.get() {
            let _ = edited.set(dict.bind(py).copy()?.unbind());
        }
        Ok(Self {
            stored: self.stored.as_ref().map(StoredSample::copy),
            decoders: self.decoders.clone_ref(py),
            cache: self.cache.copy(py)?,
            edited,
        })
    }

    /// Whether the stored columns take as much memory as the decoded values.
    pub fn keeps_copy(&self) -> bool {
        self.stored.as_ref().is_some_and(|stored| stored.keeps_copy())
    }

    /// Returns a sample with only the decoded values. All values must be decoded.
    pub fn without_stored(&self, py: Python<'_>) -> PyResult<Self> {
        Ok(Self::of_dict(self.edit(py)?.clone().unbind(), None))
    }

    /// Decodes the columns that `wanted` selects. With `pending`, only columns that are being prefetched; without, only
    /// the others.
    pub fn decode(&self, py: Python<'_>, wanted: &dyn Fn(&str) -> bool, pending: bool) -> PyResult<()> {
        let Some(stored) = &self.stored else { return Ok(()) };
        let mut keep = |name: Bound<'_, PyString>, value| self.remember(py, &name, value).map(drop);
        stored.values(py, wanted, pending, &self.decoders, &mut keep)
    }
}

fn is_mutable(value: &Bound<'_, PyAny>) -> bool {
    !(value.is_none()
        || value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<pyo3::types::PyInt>()
        || value.is_exact_instance_of::<pyo3::types::PyFloat>()
        || value.is_exact_instance_of::<pyo3::types::PyBool>()
        || value.is_exact_instance_of::<PyBytes>())
}

/// A `KeyError` whose only argument is the key, even if the key is a tuple.
pub fn no_key(key: &Bound<'_, PyAny>) -> PyErr {
    PyKeyError::new_err((key.clone().unbind(),))
}

pub fn missing(name: &Bound<'_, PyString>) -> PyErr {
    no_key(name.as_any())
}

/// Restores a pickled sample from its names in order, its values, and the JSON text of the other columns.
#[pyfunction]
pub fn _sample_of(
    py: Python<'_>,
    names: Vec<Bound<'_, PyString>>,
    values: &Bound<'_, PyDict>,
    carried: Vec<u8>,
) -> PyResult<LazyDict> {
    let dict = PyDict::new(py);
    for name in names {
        match values.get_item(&name)? {
            Some(value) => dict.set_item(name, value)?,
            None => dict.set_item(name, undecoded(py)?)?,
        }
    }
    Ok(LazyDict::of_dict(dict.unbind(), Some(StoredSample::of(PickledColumns::new(carried)))))
}
