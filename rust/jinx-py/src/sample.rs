//! `LazyDict`: one sample, whose values are read and decoded when they are touched.

use crate::build::{PyBuilder, plain_json};
use crate::errors::{IntoPy, from_py, to_py};
use crate::extract;
use crate::home::Home;
use crate::objects;
use crate::row::{Found, Row};
use crate::summary;
use jinx_core::Result;
use jinx_core::jinx::key::{Kind, Rules};
use jinx_core::jinx::measure::field_length;
use jinx_core::jinx::shard::Shard;
use jinx_core::jinx::stored::Stored;
use jinx_core::sink::Sink;
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use std::sync::{Arc, OnceLock};

/// Stands for a value that is not decoded yet in a sample that was changed.
#[pyclass(frozen, module = "jinx._core")]
struct Undecoded;

static UNDECODED: PyOnceLock<Py<Undecoded>> = PyOnceLock::new();

fn undecoded(py: Python<'_>) -> PyResult<&Bound<'_, Undecoded>> {
    Ok(UNDECODED.get_or_try_init(py, || Py::new(py, Undecoded))?.bind(py))
}

/// One sample: a mutable mapping whose values are read and decoded when they are touched.
#[pyclass(frozen, mapping, weakref, module = "jinx._core", name = "LazyDict")]
pub struct LazyDict {
    /// `None` for a sample that was built from values (a copy, an unpickled one).
    home: Option<Arc<Home>>,
    index: u64,
    row: OnceLock<Row>,
    /// Decoded values by name, while the sample is as stored.
    cache: PyOnceLock<Py<PyDict>>,
    /// All fields in order once the sample was changed; replaces the row.
    edited: PyOnceLock<Py<PyDict>>,
}

/// What a name refers to.
enum Slot<'py> {
    Value(Bound<'py, PyAny>),
    Stored,
    Missing,
}

impl LazyDict {
    pub fn new(home: Arc<Home>, index: u64) -> Self {
        Self {
            home: Some(home),
            index,
            row: OnceLock::new(),
            cache: PyOnceLock::new(),
            edited: PyOnceLock::new(),
        }
    }

    fn of_dict(py: Python<'_>, dict: Py<PyDict>) -> Self {
        let edited = PyOnceLock::new();
        let _ = edited.set(py, dict);
        Self { home: None, index: 0, row: OnceLock::new(), cache: PyOnceLock::new(), edited }
    }

    /// The shard and the row's text. Only for samples that have a home.
    fn stored(&self, py: Python<'_>) -> PyResult<(&Home, &Shard, u64, &Row)> {
        let home = self.home.as_deref().ok_or_else(|| PyTypeError::new_err("this sample has no stored row"))?;
        let (shard, i) = home.locate(self.index)?;
        if let Some(row) = self.row.get() {
            return Ok((home, shard, i, row));
        }
        // A mapped line is a copy of a kilobyte; anything that may wait is read without the GIL.
        let line = if shard.main().is_mapped() { shard.line(i) } else { py.detach(|| shard.line(i)) };
        let row = Row::new(line.into_py_result()?);
        Ok((home, shard, i, self.row.get_or_init(|| row)))
    }

    fn slot<'py>(&self, py: Python<'py>, name: &Bound<'py, PyString>) -> PyResult<Slot<'py>> {
        if let Some(edited) = self.edited.get(py) {
            return Ok(match edited.bind(py).get_item(name)? {
                None => Slot::Missing,
                Some(value) if value.is(undecoded(py)?) => Slot::Stored,
                Some(value) => Slot::Value(value),
            });
        }
        if let Some(cache) = self.cache.get(py)
            && let Some(value) = cache.bind(py).get_item(name)?
        {
            return Ok(Slot::Value(value));
        }
        Ok(Slot::Stored)
    }

    /// The value under `name`, or `None` when there is no such field.
    fn lookup<'py>(&self, py: Python<'py>, name: &Bound<'py, PyString>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.slot(py, name)? {
            Slot::Value(value) => Ok(Some(value)),
            Slot::Missing => Ok(None),
            Slot::Stored => {
                let text = name.to_str()?;
                let (home, shard, i, row) = self.stored(py)?;
                if !home.shows(text) {
                    return Ok(None);
                }
                let place = |error| to_py(&shard.here(error, i));
                let Some(found) = row.find(shard, text).map_err(place)? else { return Ok(None) };
                let value = self.decode(py, text, found)?;
                self.remember(py, name, value).map(Some)
            }
        }
    }

    fn decode<'py>(&self, py: Python<'py>, name: &str, found: Found<'_>) -> PyResult<Bound<'py, PyAny>> {
        let (home, shard, i, _) = self.stored(py)?;
        let value = decode_field(py, shard, name, found).map_err(|error| locate_error(py, error, shard, i, name))?;
        match &home.decoders {
            Some(decoders) => match decoders.bind(py).get_item(name)? {
                Some(decoder) => decoder.call1((value,)),
                None => Ok(value),
            },
            None => Ok(value),
        }
    }

    /// Keeps a decoded value; of two threads that decode the same field the first result wins.
    fn remember<'py>(
        &self,
        py: Python<'py>,
        name: &Bound<'py, PyString>,
        value: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Some(edited) = self.edited.get(py) {
            let edited = edited.bind(py);
            if let Some(other) = edited.get_item(name)?
                && !other.is(undecoded(py)?)
            {
                return Ok(other);
            }
            edited.set_item(name, &value)?;
            return Ok(value);
        }
        let cache = self.cache.get_or_init(py, || PyDict::new(py).unbind()).bind(py);
        if let Some(other) = cache.get_item(name)? {
            return Ok(other);
        }
        cache.set_item(name, &value)?;
        Ok(value)
    }

    /// The names in order.
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        if let Some(edited) = self.edited.get(py) {
            return Ok(edited.bind(py).keys());
        }
        let (home, shard, i, row) = self.stored(py)?;
        let fields = row.fields(shard).map_err(|error| to_py(&shard.here(error, i)))?;
        let names = fields.iter().filter(|field| home.shows(&field.name)).map(|field| &*field.name);
        PyList::new(py, names.map(|name| PyString::new(py, name)).collect::<Vec<_>>())
    }

    /// Turns the sample into an ordered dict of values and placeholders, so that it can be changed.
    fn edit<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyDict>> {
        if let Some(edited) = self.edited.get(py) {
            return Ok(edited.bind(py));
        }
        let dict = PyDict::new(py);
        for name in self.names(py)?.iter() {
            let cached = match self.cache.get(py) {
                Some(cache) => cache.bind(py).get_item(&name)?,
                None => None,
            };
            match cached {
                Some(value) => dict.set_item(name, value)?,
                None => dict.set_item(name, undecoded(py)?)?,
            }
        }
        Ok(self.edited.get_or_init(py, || dict.unbind()).bind(py))
    }

    /// All values decoded, as a plain dict.
    pub fn decoded<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for name in self.names(py)?.iter() {
            let name = name.cast_into::<PyString>()?;
            let value = self.lookup(py, &name)?.ok_or_else(|| missing(&name))?;
            dict.set_item(name, value)?;
        }
        Ok(dict)
    }

    /// Emits the sample; from its row when it is as stored.
    pub fn emit(&self, py: Python<'_>, sink: &mut impl Sink) -> Result<()> {
        let fail = |error: PyErr| from_py(py, error);
        let untouched = self.edited.get(py).is_none();
        if untouched && self.home.as_ref().is_some_and(|home| home.decoders.is_none()) {
            let (home, shard, i, row) = self.stored(py).map_err(fail)?;
            let mutable = match self.cache.get(py) {
                Some(cache) => cache.bind(py).iter().any(|(_, value)| is_mutable(&value)),
                None => false,
            };
            // A list or dict that was handed out may have been changed in place.
            if !mutable {
                return shard
                    .emit_line(&row.line, &|name| home.shows(name), sink)
                    .map_err(|error| shard.here(error, i));
            }
        }
        let dict = self.decoded(py).map_err(fail)?;
        extract::emit_value(dict.as_any(), 0, sink)
    }

    /// Reads the given fields (or all) now.
    pub fn touch(&self, py: Python<'_>, fields: Option<&[String]>) -> PyResult<()> {
        match fields {
            None => self.decoded(py).map(|_| ()),
            Some(fields) => {
                for field in fields {
                    self.lookup(py, &PyString::new(py, field))?;
                }
                Ok(())
            }
        }
    }
}

fn is_mutable(value: &Bound<'_, PyAny>) -> bool {
    !(value.is_none()
        || value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<pyo3::types::PyInt>()
        || value.is_exact_instance_of::<pyo3::types::PyFloat>()
        || value.is_exact_instance_of::<pyo3::types::PyBool>()
        || value.is_exact_instance_of::<pyo3::types::PyBytes>())
}

/// Adds the place to an error of ours that was raised while decoding.
fn locate_error(py: Python<'_>, error: PyErr, shard: &Shard, i: u64, name: &str) -> PyErr {
    let value = error.value(py);
    let ours = value.getattr("sample").is_ok_and(|sample| sample.is_none())
        && value.getattr("field").is_ok_and(|field| field.is_none());
    if !ours {
        return error;
    }
    let text = format!("{}: sample {i}, field '{name}': {value}", shard.path().display());
    let located = value.get_type().call1((text,));
    match located {
        Ok(located) => {
            let _ = located.setattr("path", shard.path().as_os_str());
            let _ = located.setattr("sample", i);
            let _ = located.setattr("field", name);
            PyErr::from_value(located)
        }
        Err(_) => error,
    }
}

/// One field's value as a Python object.
fn decode_field<'py>(py: Python<'py>, shard: &Shard, name: &str, found: Found<'_>) -> PyResult<Bound<'py, PyAny>> {
    let node = shard.tree().member(name);
    if let Some(chain) = found.chain {
        let stored = Stored::parse(chain, found.text).into_py_result()?;
        if let Kind::Blob(payload) = chain.kind {
            return objects::stored_blob(py, shard, &stored, payload);
        }
        let mut builder = PyBuilder::new(py);
        shard.emit_stored(&stored, node, &mut builder).into_py_result()?;
        return builder.finish().into_py_result();
    }
    let plain = match shard.rules() {
        Rules::Plain => true,
        Rules::V1_1 => node.is_none(),
        Rules::V1_0 => !found.text.contains(&b'.') && shard.footer().sep == ".",
    };
    if plain {
        return plain_json(py, found.text);
    }
    let mut builder = PyBuilder::new(py);
    shard.emit_value(None, found.text, node, 1, &mut builder).into_py_result()?;
    builder.finish().into_py_result()
}

fn missing(name: &Bound<'_, PyString>) -> PyErr {
    PyKeyError::new_err(name.clone().unbind())
}

fn text_key<'a, 'py>(key: &'a Bound<'py, PyAny>) -> Option<&'a Bound<'py, PyString>> {
    key.cast::<PyString>().ok()
}

#[pymethods]
impl LazyDict {
    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let Some(name) = text_key(key) else { return Err(PyKeyError::new_err(key.clone().unbind())) };
        self.lookup(py, name)?.ok_or_else(|| missing(name))
    }

    fn __setitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        if text_key(key).is_none() {
            return Err(PyTypeError::new_err("field names must be str"));
        }
        self.edit(py)?.set_item(key, value)
    }

    fn __delitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let edited = self.edit(py)?;
        if !edited.contains(key)? {
            return Err(PyKeyError::new_err(key.clone().unbind()));
        }
        edited.del_item(key)
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Some(name) = text_key(key) else { return Ok(false) };
        if let Some(edited) = self.edited.get(py) {
            return edited.bind(py).contains(key);
        }
        let text = name.to_str()?;
        let (home, shard, i, row) = self.stored(py)?;
        let found = row.find(shard, text).map_err(|error| to_py(&shard.here(error, i)))?;
        Ok(home.shows(text) && found.is_some())
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.names(py)?.len())
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.names(py)?.try_iter()?.into_any())
    }

    fn __reversed__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.names(py)?.call_method0("__reversed__")
    }

    fn keys<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        mapping_view(slf, "KeysView")
    }

    fn values<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        mapping_view(slf, "ValuesView")
    }

    fn items<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        mapping_view(slf, "ItemsView")
    }

    #[pyo3(signature = (key, default = None, /))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(name) = text_key(key) else { return Ok(default) };
        Ok(self.lookup(py, name)?.or(default))
    }

    #[pyo3(signature = (key, /, *default))]
    fn pop<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if default.len() > 1 {
            return Err(PyTypeError::new_err("pop expects at most two arguments"));
        }
        let value = match text_key(key) {
            Some(name) => self.lookup(py, name)?,
            None => None,
        };
        match value {
            Some(value) => {
                self.edit(py)?.del_item(key)?;
                Ok(value)
            }
            None => default.get_item(0).map_err(|_| PyKeyError::new_err(key.clone().unbind())),
        }
    }

    fn popitem<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let names = self.names(py)?;
        let Some(last) = names.len().checked_sub(1) else {
            return Err(PyKeyError::new_err("popitem(): the sample is empty"));
        };
        let name = names.get_item(last)?;
        let value = self.__getitem__(py, &name)?;
        self.edit(py)?.del_item(&name)?;
        Ok((name, value))
    }

    #[pyo3(signature = (key, default = None, /))]
    fn setdefault<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Some(name) = text_key(key)
            && let Some(value) = self.lookup(py, name)?
        {
            return Ok(value);
        }
        let default = default.unwrap_or_else(|| py.None().into_bound(py));
        self.__setitem__(py, key, &default)?;
        Ok(default)
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn update(&self, py: Python<'_>, args: &Bound<'_, PyTuple>, kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        let given = PyDict::new(py);
        given.call_method("update", args, kwargs)?;
        for (key, value) in given.iter() {
            self.__setitem__(py, &key, &value)?;
        }
        Ok(())
    }

    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.edit(py)?.clear();
        Ok(())
    }

    /// A shallow copy that shares what is decoded and stays lazy.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        let copy = |dict: Option<&Py<PyDict>>| -> PyResult<PyOnceLock<Py<PyDict>>> {
            let lock = PyOnceLock::new();
            if let Some(dict) = dict {
                let _ = lock.set(py, dict.bind(py).copy()?.unbind());
            }
            Ok(lock)
        };
        Ok(Self {
            home: self.home.clone(),
            index: self.index,
            row: OnceLock::new(),
            cache: copy(self.cache.get(py))?,
            edited: copy(self.edited.get(py))?,
        })
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        let copy = py.import("copy")?.call_method1("deepcopy", (self.decoded(py)?, memo))?;
        Ok(Self::of_dict(py, copy.cast_into::<PyDict>()?.unbind()))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let this = slf.get();
        let restore = py.import("jinx._core")?.getattr("_sample_of")?;
        (restore, (this.decoded(py)?,)).into_pyobject(py).map(Bound::into_any)
    }

    /// Reads and decodes every field now; returns the sample itself.
    fn materialize<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        slf.get().decoded(slf.py())?;
        Ok(slf.clone())
    }

    /// All fields, decoded, as a plain dict.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.decoded(py)
    }

    /// The row's JSON line as it is stored.
    fn raw(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        Ok(self.stored(py)?.3.line.clone())
    }

    /// Elements of a list or dict, characters of a string, bytes of a binary value, rows of an array;
    /// counted without decoding.
    fn length(&self, py: Python<'_>, key: &Bound<'_, PyString>) -> PyResult<u64> {
        match self.slot(py, key)? {
            Slot::Value(value) => return value.len().map(jinx_core::num::to_u64),
            Slot::Missing => return Err(missing(key)),
            Slot::Stored => {}
        }
        let name = key.to_str()?;
        let (home, shard, i, row) = self.stored(py)?;
        let place = |error| to_py(&shard.here(error, i));
        let found = row.find(shard, name).map_err(place)?.filter(|_| home.shows(name));
        let found = found.ok_or_else(|| missing(key))?;
        let node = shard.tree().member(name);
        field_length(shard, found.chain, found.text, node).map_err(|error| place(error.in_field(name)))
    }

    fn __eq__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let theirs = match other.cast::<Self>() {
            Ok(other) => other.get().decoded(py)?.into_any(),
            Err(_) if other.is_instance_of::<PyDict>() => other.clone(),
            Err(_) => return Ok(py.NotImplemented().into_bound(py)),
        };
        self.decoded(py)?.rich_compare(theirs, pyo3::basic::CompareOp::Eq)
    }

    fn __or__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let Some(theirs) = as_dict(other)? else { return Ok(py.NotImplemented().into_bound(py)) };
        let merged = self.decoded(py)?;
        merged.update(theirs.as_mapping())?;
        Ok(merged.into_any())
    }

    fn __ror__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let Some(theirs) = as_dict(other)? else { return Ok(py.NotImplemented().into_bound(py)) };
        let merged = theirs.copy()?;
        merged.update(self.decoded(py)?.as_mapping())?;
        Ok(merged.into_any())
    }

    fn __ior__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        self.update(py, &PyTuple::new(py, [other])?, None)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut parts = Vec::new();
        for name in self.names(py)?.iter() {
            let name = name.cast_into::<PyString>()?;
            let text = match self.slot(py, &name)? {
                Slot::Value(value) => summary::of_value(&value)?,
                Slot::Missing => continue,
                Slot::Stored => {
                    let (_, shard, i, row) = self.stored(py)?;
                    let found = row.find(shard, name.to_str()?).map_err(|error| to_py(&shard.here(error, i)))?;
                    found.map_or_else(String::new, |found| summary::of_stored(shard, name.to_str().unwrap_or(""), found))
                }
            };
            parts.push(format!("{}: {text}", name.repr()?));
        }
        Ok(format!("LazyDict({{{}}})", parts.join(", ")))
    }

    #[allow(clippy::needless_pass_by_value)]
    fn _ipython_key_completions_<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.names(py)
    }
}

fn as_dict<'py>(other: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyDict>>> {
    if let Ok(lazy) = other.cast::<LazyDict>() {
        return lazy.get().decoded(other.py()).map(Some);
    }
    Ok(other.cast::<PyDict>().ok().cloned())
}

fn mapping_view<'py>(slf: &Bound<'py, LazyDict>, class: &str) -> PyResult<Bound<'py, PyAny>> {
    slf.py().import("collections.abc")?.getattr(class)?.call1((slf,))
}

/// A sample made of values.
#[pyfunction]
pub fn _sample_of(py: Python<'_>, values: Py<PyDict>) -> LazyDict {
    LazyDict::of_dict(py, values)
}
