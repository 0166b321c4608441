//! The Python methods of `LazyDict`: the complete interface of a mutable mapping.

use crate::sample::lazy_dict::{LazyDict, Slot, missing, no_key};
use crate::sample::repr;
use crate::sample::stored_columns::no_line;
use pyo3::PyTraverseError;
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

fn text_key<'a, 'py>(key: &'a Bound<'py, PyAny>) -> Option<&'a Bound<'py, PyString>> {
    key.cast::<PyString>().ok()
}

#[pymethods]
impl LazyDict {
    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let Some(name) = text_key(key) else { return Err(no_key(key)) };
        self.lookup(py, name)?.ok_or_else(|| missing(name))
    }

    fn __setitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        if text_key(key).is_none() {
            return Err(PyTypeError::new_err("column names must be str"));
        }
        self.edit(py)?.set_item(key, value)
    }

    fn __delitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let edited = self.edit(py)?;
        if !edited.contains(key)? {
            return Err(no_key(key));
        }
        edited.del_item(key)
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Some(name) = text_key(key) else { return Ok(false) };
        if let Some(edited) = self.edited.get() {
            return edited.bind(py).contains(key);
        }
        // Stored names are always valid UTF-8.
        let (Ok(text), Some(stored)) = (name.to_str(), &self.stored) else { return Ok(false) };
        stored.contains(py, text)
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

    /// A live view of the column names, in their order; decodes nothing.
    fn keys<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        mapping_view(slf, "SampleKeys")
    }

    /// A live view of the values; each is decoded when it is reached.
    fn values<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        mapping_view(slf, "SampleValues")
    }

    /// A live view of (name, value) pairs; each value is decoded when it is reached.
    fn items<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        mapping_view(slf, "SampleItems")
    }

    /// The value of a column, or `default` where the sample has no such column.
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

    /// Remove a column and return its value, or the default where the sample has no such column.
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
            None => default.get_item(0).map_err(|_| no_key(key)),
        }
    }

    /// Remove the last column and return its name and value.
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

    /// The value of a column; where the sample has none, it is set to `default` first.
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

    /// Set columns from a mapping, from pairs or from keywords.
    #[pyo3(signature = (*args, **kwargs))]
    fn update(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let given = PyDict::new(py);
        given.call_method("update", args, kwargs)?;
        for (key, value) in given.iter() {
            self.__setitem__(py, &key, &value)?;
        }
        Ok(())
    }

    /// Remove all columns.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.edit(py)?.clear();
        Ok(())
    }

    /// A shallow copy that shares what is decoded and stays lazy.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        self.duplicate(py)
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        self.duplicate(py)
    }

    fn __deepcopy__<'py>(slf: &Bound<'py, Self>, memo: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        let py = slf.py();
        let values = PyDict::new(py);
        let copy = Bound::new(py, Self::of_dict(values.clone().unbind(), None))?;
        // Register the copy before copying its values, because one of them may refer back to this sample.
        memo.set_item(slf.as_ptr().addr(), &copy)?;
        let deepcopy = py.import("copy")?.getattr("deepcopy")?;
        for (name, value) in slf.get().decoded(py)?.iter() {
            values.set_item(name, deepcopy.call1((value, memo))?)?;
        }
        Ok(copy)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let this = slf.get();
        let restore = py.import("jinx._core")?.getattr("_sample_of")?;
        let (values, texts) = this.pack(py)?;
        let texts = PyBytes::new(py, &texts.finish());
        (restore, (this.names(py)?, values, texts)).into_pyobject(py).map(Bound::into_any)
    }

    /// Read and decode every column now; returns the sample itself.
    fn materialize<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        slf.get().decoded(slf.py())?;
        Ok(slf.clone())
    }

    /// All columns, decoded, as a plain dict: for what takes only that class, such as `json.dumps`.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.decoded(py)
    }

    /// The sample's JSON line as it is stored.
    fn raw(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        self.stored.as_ref().ok_or_else(no_line)?.line(py)
    }

    /// Elements of a list or dict, characters of a string, bytes of a binary value, rows of an array;
    /// counted without decoding (except for torch tensors). `TypeError` for what has no length.
    fn length(&self, py: Python<'_>, key: &Bound<'_, PyString>) -> PyResult<u64> {
        match self.slot(py, key)? {
            Slot::Value(value) => return value.len().map(jinx_core::checked_math::to_u64),
            Slot::Missing => return Err(missing(key)),
            Slot::Stored => {}
        }
        let name = key.to_str().map_err(|_| missing(key))?;
        if let Some(stored) = &self.stored
            && let Some(length) = stored.length(py, name, &self.decoders)?
        {
            return Ok(length);
        }
        self.__getitem__(py, key)?.len().map(jinx_core::checked_math::to_u64)
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
                Slot::Value(value) => repr::of_value(&value)?,
                Slot::Missing => continue,
                Slot::Stored => self.stored_text(py, &name)?,
            };
            parts.push(format!("{}: {text}", name.repr()?));
        }
        Ok(format!("LazyDict({{{}}})", parts.join(", ")))
    }

    /// A table of the columns for notebooks, with images as thumbnails.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("jinx._dataset.display")?.call_method1("sample_html", (slf,))
    }

    #[allow(clippy::needless_pass_by_value)]
    fn _ipython_key_completions_<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.names(py)
    }

    /// No `__clear__` is needed: everything that can change is in dicts, and the collector clears these.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.decoders.traverse(&visit)?;
        self.cache.traverse(&visit)?;
        visit.call(self.edited.get())
    }
}

impl LazyDict {
    /// A short text for a column that is not decoded. Decodes the column only if there is no stored summary.
    fn stored_text(&self, py: Python<'_>, name: &Bound<'_, PyString>) -> PyResult<String> {
        if let Some(stored) = &self.stored
            && let Some(text) = stored.summary(py, name.to_str()?)?
        {
            return Ok(text);
        }
        self.lookup(py, name)?.map_or_else(|| Ok(String::new()), |value| repr::of_value(&value))
    }
}

fn as_dict<'py>(other: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyDict>>> {
    if let Ok(lazy) = other.cast::<LazyDict>() {
        return lazy.get().decoded(other.py()).map(Some);
    }
    Ok(other.cast::<PyDict>().ok().cloned())
}

fn mapping_view<'py>(slf: &Bound<'py, LazyDict>, class: &str) -> PyResult<Bound<'py, PyAny>> {
    static VIEWS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let py = slf.py();
    let views = VIEWS.get_or_try_init(py, || py.import("jinx._sample_views").map(Bound::unbind))?;
    views.bind(py).getattr(class)?.call1((slf,))
}
