//! Builds Python objects from events and from JSON text.

use crate::errors::{IntoPy, from_py};
use crate::objects::parse::parse;
use crate::objects::values;
use jinx_core::json;
use jinx_core::row_events::{Blob, Dtype, Number, Payload, Sink};
use jinx_core::{Error, Result};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};

/// Parses JSON text without chains. With `unique`, a duplicate key in an object is an error.
pub fn plain_json<'py>(py: Python<'py>, text: &[u8], unique: bool) -> PyResult<Bound<'py, PyAny>> {
    if let Some(value) = parse(py, text, unique) {
        return Ok(value);
    }
    let mut builder = PyBuilder::new(py);
    let emitted =
        if unique { json::emit_unique(text, 1, &mut builder) } else { json::emit(text, 1, &mut builder) };
    emitted.into_py_result()?;
    builder.finish().into_py_result()
}

/// A sink that builds plain Python objects.
pub struct PyBuilder<'py> {
    py: Python<'py>,
    open: Vec<OpenContainer<'py>>,
    done: Option<Bound<'py, PyAny>>,
}

enum OpenContainer<'py> {
    List(Vec<Bound<'py, PyAny>>),
    Dict(Bound<'py, PyDict>, Option<Bound<'py, PyString>>),
}

impl<'py> PyBuilder<'py> {
    pub fn new(py: Python<'py>) -> Self {
        Self { py, open: Vec::new(), done: None }
    }

    /// The finished object.
    pub fn finish(self) -> Result<Bound<'py, PyAny>> {
        self.done.ok_or_else(|| Error::corrupt("a value without an end"))
    }

    fn put(&mut self, value: Bound<'py, PyAny>) -> Result<()> {
        match self.open.last_mut() {
            None => self.done = Some(value),
            Some(OpenContainer::List(items)) => items.push(value),
            Some(OpenContainer::Dict(dict, key)) => {
                let key = key.take().ok_or_else(|| Error::invalid("a value came without its key"))?;
                dict.set_item(key, value).map_err(|error| from_py(self.py, error))?;
            }
        }
        Ok(())
    }

    fn put_result(&mut self, value: PyResult<Bound<'py, PyAny>>) -> Result<()> {
        let value = value.map_err(|error| from_py(self.py, error))?;
        self.put(value)
    }
}

impl Sink for PyBuilder<'_> {
    fn null(&mut self) -> Result<()> {
        self.put(self.py.None().into_bound(self.py))
    }
    fn bool(&mut self, value: bool) -> Result<()> {
        self.put(PyBool::new(self.py, value).to_owned().into_any())
    }
    fn int(&mut self, value: i64) -> Result<()> {
        self.put(PyInt::new(self.py, value).into_any())
    }
    fn big_int(&mut self, digits: &str) -> Result<()> {
        let value = values::big_int(self.py, digits)?;
        self.put(value)
    }
    fn float(&mut self, value: f64) -> Result<()> {
        self.put(PyFloat::new(self.py, value).into_any())
    }
    fn str(&mut self, value: &str) -> Result<()> {
        self.put(PyString::new(self.py, value).into_any())
    }
    fn blob(&mut self, payload: Payload, blob: Blob<'_>) -> Result<()> {
        self.put_result(values::blob(self.py, payload, blob.as_slice()))
    }
    fn scalar(&mut self, dtype: Dtype, value: Number) -> Result<()> {
        self.put_result(values::scalar(self.py, dtype, value))
    }
    fn begin_list(&mut self, _len: usize) -> Result<()> {
        self.open.push(OpenContainer::List(Vec::new()));
        Ok(())
    }
    fn end_list(&mut self) -> Result<()> {
        match self.open.pop() {
            Some(OpenContainer::List(items)) => {
                let list = PyList::new(self.py, items).map(Bound::into_any);
                self.put_result(list)
            }
            _ => Err(Error::invalid("an end without its begin")),
        }
    }
    fn begin_dict(&mut self, _len: usize) -> Result<()> {
        self.open.push(OpenContainer::Dict(PyDict::new(self.py), None));
        Ok(())
    }
    fn key(&mut self, name: &str) -> Result<()> {
        match self.open.last_mut() {
            Some(OpenContainer::Dict(_, key)) => {
                *key = Some(PyString::intern(self.py, name));
                Ok(())
            }
            _ => Err(Error::invalid("a key outside a dict")),
        }
    }
    fn end_dict(&mut self) -> Result<()> {
        match self.open.pop() {
            Some(OpenContainer::Dict(dict, _)) => self.put(dict.into_any()),
            _ => Err(Error::invalid("an end without its begin")),
        }
    }
}
