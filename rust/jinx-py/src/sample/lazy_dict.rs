//! `LazyDict`: one sample, whose values are read and decoded when they are touched.

use crate::dataset::decoders::Decoders;
use crate::dataset::state::DatasetState;
use crate::errors::{IntoPy, from_py, to_py};
use crate::objects::image;
use crate::objects::values;
use crate::prefetch::pending::{Pending, Prepared};
use crate::sample::decoded::Decoded;
use crate::sample::field::{decode_field, is_plain, locate_error};
use crate::sample::pickle::PickledRow;
use crate::sample::row::{Found, Row};
use crate::writer::extract;
use jinx_core::sink::Sink;
use jinx_core::{Error, Result};
use jinx_format::read::shard::Shard;
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};
use std::sync::{Arc, OnceLock};

/// Stands for a value that is not decoded yet in a sample that was changed.
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
    /// `None` for a sample that was built from values (a copy, an unpickled one).
    pub(crate) dataset: Option<Arc<DatasetState>>,
    pub(crate) decoders: Decoders,
    pub(crate) index: u64,
    pub(crate) row: OnceLock<Row>,
    /// Decoded values by name, while the sample is as stored.
    pub(crate) cache: Decoded,
    /// All fields in order once the sample was changed; replaces the row.
    pub(crate) edited: OnceLock<Py<PyDict>>,
    /// Fields of a sample from another process that are not parsed yet.
    pub(crate) carried: PickledRow,
    /// Media that were sent for before anybody asked.
    pending: Vec<Arc<Pending>>,
}

/// What a name refers to.
pub enum Slot<'py> {
    Value(Bound<'py, PyAny>),
    Stored,
    Missing,
}

impl LazyDict {
    pub fn new(dataset: Arc<DatasetState>, decoders: Decoders, index: u64) -> Self {
        Self::prepared(dataset, decoders, index, Prepared::default())
    }

    /// A sample of which some is read already.
    pub fn prepared(dataset: Arc<DatasetState>, decoders: Decoders, index: u64, prepared: Prepared) -> Self {
        Self {
            dataset: Some(dataset),
            decoders,
            index,
            row: prepared.row,
            cache: Decoded::default(),
            edited: OnceLock::new(),
            carried: PickledRow::default(),
            pending: prepared.pending,
        }
    }

    pub fn of_dict(dict: Py<PyDict>, carried: PickledRow, decoders: Decoders) -> Self {
        Self {
            dataset: None,
            decoders,
            index: 0,
            row: OnceLock::new(),
            cache: Decoded::default(),
            edited: OnceLock::from(dict),
            carried,
            pending: Vec::new(),
        }
    }

    /// The shard and the row's text. Only for samples that have a dataset.
    pub fn stored(&self, py: Python<'_>) -> PyResult<(&DatasetState, &Shard, u64, &Row)> {
        let dataset =
            self.dataset.as_deref().ok_or_else(|| PyTypeError::new_err("this sample has no stored row"))?;
        let (shard, i) = dataset.locate(self.index)?;
        if let Some(row) = self.row.get() {
            return Ok((dataset, shard, i, row));
        }
        // A mapped line is a copy of a kilobyte; anything that may wait is read without the GIL.
        let line = if shard.main().is_mapped() { shard.line(i) } else { py.detach(|| shard.line(i)) };
        let row = Row::new(line.into_py_result()?);
        Ok((dataset, shard, i, self.row.get_or_init(|| row)))
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

    /// The value under `name`, or `None` when there is no such field.
    pub fn lookup<'py>(
        &self,
        py: Python<'py>,
        name: &Bound<'py, PyString>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        // Looking for names that stand twice would make the parsing of dicts an eighth slower.
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
                // No row holds a name that has no UTF-8 form.
                let Ok(text) = name.to_str() else { return Ok(None) };
                if self.dataset.is_none() {
                    let value = self.carried.value(py, text, &self.decoders)?;
                    return self.remember(py, name, value).map(Some);
                }
                let (dataset, shard, i, row) = self.stored(py)?;
                if !dataset.is_projected(text) {
                    return Ok(None);
                }
                let found = row.find(shard, text).map_err(|error| to_py(&shard.here(error, i)))?;
                let Some(found) = found else { return Ok(None) };
                let value = self.decode(py, (dataset, shard, i), text, found, unique)?;
                self.remember(py, name, value).map(Some)
            }
        }
    }

    fn decode<'py>(
        &self,
        py: Python<'py>,
        (dataset, shard, i): (&DatasetState, &Shard, u64),
        name: &str,
        found: Found<'_>,
        unique: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let (Some(touched), Some(chain)) = (&dataset.touched, found.chain)
            && chain.bin
        {
            touched.note(name);
        }
        let locate = |error| locate_error(py, error, shard, i, name);
        let pending = self.pending.iter().find(|pending| pending.is_of(&found));
        let value = match pending.and_then(|pending| pending.value(py)) {
            Some((payload, object)) => values::filled(py, payload, object),
            None => decode_field(py, (shard, i), name, found, unique),
        };
        let value = value.map_err(locate)?;
        let Some(decoder) = self.decoders.get(py, name)? else { return Ok(value) };
        if dataset.gives_pixels(name)
            && let Ok(bytes) = value.cast::<PyBytes>()
        {
            let (bytes, limit) = (bytes.as_bytes(), shard.limits().max_value_bytes);
            let pixels = match pending {
                Some(pending) => pending.take_pixels(),
                None => py.detach(|| image::decode(bytes, limit)),
            };
            if let Some(pixels) = pixels {
                return values::pixels(py, &pixels);
            }
        }
        decoder.call1((value,)).map_err(locate)
    }

    /// Keeps a decoded value; of two threads that decode the same field the first result wins.
    pub fn remember<'py>(
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
            if self.dataset.is_some() {
                // Tells later whether the field still is as stored.
                self.cache.keep(py, name, value.clone())?;
            }
            return Ok(value);
        }
        self.cache.keep(py, name, value)
    }

    /// The names in order.
    pub fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        if let Some(edited) = self.edited.get() {
            return Ok(edited.bind(py).keys());
        }
        let (dataset, shard, i, row) = self.stored(py)?;
        let fields = row.fields(shard).map_err(|error| to_py(&shard.here(error, i)))?;
        let names = fields.iter().map(|field| row.name(field)).filter(|name| dataset.is_projected(name));
        PyList::new(py, names.map(|name| PyString::intern(py, name)).collect::<Vec<_>>())
    }

    /// Turns the sample into an ordered dict of values and placeholders, so that it can be changed.
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

    /// All values decoded, as a plain dict.
    pub fn decoded<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for name in self.names(py)?.iter() {
            let name = name.cast_into::<PyString>()?;
            let value = self.value(py, &name, true)?.ok_or_else(|| missing(&name))?;
            dict.set_item(name, value)?;
        }
        Ok(dict)
    }

    /// Whether the field is as stored: not touched, or handed out as something that cannot be changed in place.
    fn keeps_stored(&self, py: Python<'_>, name: &Bound<'_, PyString>) -> PyResult<bool> {
        if self.dataset.is_none() || self.decoders.has(py, name)? {
            return Ok(false);
        }
        Ok(match self.slot(py, name)? {
            Slot::Stored => true,
            Slot::Missing => false,
            Slot::Value(value) if is_mutable(&value) => false,
            Slot::Value(value) => self.cache.get(py, name)?.is_some_and(|stored| stored.is(&value)),
        })
    }

    /// Emits the sample inside `depth` containers; what is as stored goes on with all that is known of it, such as
    /// the file names of media.
    pub fn emit(&self, py: Python<'_>, depth: usize, sink: &mut impl Sink) -> Result<()> {
        let fail = |error: PyErr| from_py(py, error);
        let is_new = self.edited.get().is_none() && self.cache.is_empty();
        if depth == 0 && is_new && self.dataset.is_some() && self.decoders.is_none() {
            let (dataset, shard, i, row) = self.stored(py).map_err(fail)?;
            return shard
                .emit_line(&row.line, &|name| dataset.is_projected(name), sink)
                .map_err(|error| shard.here(error, i));
        }
        let names = self.names(py).map_err(fail)?;
        sink.begin_dict(names.len())?;
        for name in names.iter() {
            let name = name.cast_into::<PyString>().map_err(|error| fail(error.into()))?;
            let text = name.to_str().map_err(|_| Error::invalid(extract::SURROGATE_KEY))?;
            sink.key(text)?;
            self.emit_field(py, &name, text, depth + 1, sink).map_err(|error| error.in_field(text))?;
        }
        sink.end_dict()
    }

    fn emit_field(
        &self,
        py: Python<'_>,
        name: &Bound<'_, PyString>,
        text: &str,
        depth: usize,
        sink: &mut impl Sink,
    ) -> Result<()> {
        let fail = |error: PyErr| from_py(py, error);
        if self.keeps_stored(py, name).map_err(fail)? {
            let (_, shard, i, row) = self.stored(py).map_err(fail)?;
            let place = |error| shard.here(error, i);
            if let Some(found) = row.find(shard, text).map_err(place)? {
                let node = shard.tree().member(text);
                return shard.emit_value(found.chain, found.text, node, depth, sink).map_err(place);
            }
        }
        if self.dataset.is_none() {
            let is_stored = match self.slot(py, name).map_err(fail)? {
                Slot::Stored => true,
                Slot::Value(value) => {
                    self.carried.is_unchanged(py, text, &value, &self.decoders).map_err(fail)?
                }
                Slot::Missing => false,
            };
            if is_stored && self.carried.emit(py, text, &self.decoders, sink)? {
                return Ok(());
            }
        }
        let value = self.value(py, name, true).and_then(|value| value.ok_or_else(|| missing(name)));
        extract::emit_value(&value.map_err(fail)?, depth, sink)
    }

    /// The fields as values, and those that are plain JSON as their text.
    pub fn pack<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyDict>, PickledRow)> {
        let (values, mut carried) = (PyDict::new(py), PickledRow::default());
        let as_stored = self.edited.get().is_none() && self.dataset.is_some() && self.decoders.is_none();
        for name in self.names(py)?.iter() {
            let name = name.cast_into::<PyString>()?;
            if as_stored && matches!(self.slot(py, &name)?, Slot::Stored) {
                let text = name.to_str()?;
                let (dataset, shard, i, row) = self.stored(py)?;
                let found = row.find(shard, text).map_err(|error| to_py(&shard.here(error, i)))?;
                let found = found.ok_or_else(|| missing(&name))?;
                if found.chain.is_none() && is_plain(shard, text, found.text) {
                    carried.push(text, found.text).into_py_result()?;
                } else {
                    values.set_item(&name, self.decode(py, (dataset, shard, i), text, found, true)?)?;
                }
                continue;
            }
            values.set_item(&name, self.lookup(py, &name)?.ok_or_else(|| missing(&name))?)?;
        }
        Ok((values, carried))
    }

    /// A shallow copy that shares what is decoded and stays lazy.
    pub fn duplicate(&self, py: Python<'_>) -> PyResult<Self> {
        let edited = OnceLock::new();
        if let Some(dict) = self.edited.get() {
            let _ = edited.set(dict.bind(py).copy()?.unbind());
        }
        Ok(Self {
            dataset: self.dataset.clone(),
            decoders: self.decoders.clone_ref(py),
            index: self.index,
            row: OnceLock::new(),
            cache: self.cache.copy(py)?,
            edited,
            carried: self.carried.clone(),
            pending: self.pending.clone(),
        })
    }

    /// Reads the given fields (or all) of a sample as stored: those that are pending, or the others.
    pub fn touch(&self, py: Python<'_>, fields: Option<&[String]>, pending: bool) -> PyResult<()> {
        if self.dataset.is_none() {
            return if pending { Ok(()) } else { self.touch_values(py, fields) };
        }
        let (dataset, shard, i, row) = self.stored(py)?;
        let stored = row.fields(shard).map_err(|error| to_py(&shard.here(error, i)))?;
        for field in stored {
            let (name, found) = (row.name(field), row.found(field));
            let wanted = fields.is_none_or(|fields| fields.iter().any(|field| field == name));
            if !wanted
                || !dataset.is_projected(name)
                || pending != self.pending.iter().any(|other| other.is_of(&found))
            {
                continue;
            }
            let value = self.decode(py, (dataset, shard, i), name, found, false)?;
            self.remember(py, &PyString::intern(py, name), value)?;
        }
        Ok(())
    }
}

impl LazyDict {
    /// Decodes the given fields (or all) of a sample without a JINX row.
    fn touch_values(&self, py: Python<'_>, fields: Option<&[String]>) -> PyResult<()> {
        for name in self.names(py)?.iter() {
            let name = name.cast_into::<PyString>()?;
            let text = name.to_str()?;
            if fields.is_none_or(|fields| fields.iter().any(|field| field == text)) {
                self.lookup(py, &name)?;
            }
        }
        Ok(())
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

/// A `KeyError` whose only argument is the key, also when that is a tuple.
pub fn no_key(key: &Bound<'_, PyAny>) -> PyErr {
    PyKeyError::new_err((key.clone().unbind(),))
}

pub fn missing(name: &Bound<'_, PyString>) -> PyErr {
    no_key(name.as_any())
}

/// A sample from another process: its names in order, its values, and the JSON text of the others.
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
    Ok(LazyDict::of_dict(dict.unbind(), PickledRow::new(carried), Decoders::default()))
}
