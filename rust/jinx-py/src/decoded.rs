//! The decoded values of a sample, by name.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString};

/// Keeps each value that was decoded. Most samples are asked for one field or two, so the first has a place of its own:
/// making a dict takes as long as reading a small field.
pub struct Decoded {
    first: PyOnceLock<(Py<PyString>, Py<PyAny>)>,
    others: PyOnceLock<Py<PyDict>>,
}

impl Default for Decoded {
    fn default() -> Self {
        Self { first: PyOnceLock::new(), others: PyOnceLock::new() }
    }
}

impl Decoded {
    pub fn is_empty(&self, py: Python<'_>) -> bool {
        self.first.get(py).is_none()
    }

    pub fn get<'py>(
        &self,
        py: Python<'py>,
        name: &Bound<'py, PyString>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some((first, value)) = self.first.get(py) else { return Ok(None) };
        if first.is(name) || is_same(first.bind(py), name) {
            return Ok(Some(value.bind(py).clone()));
        }
        match self.others.get(py) {
            Some(others) => others.bind(py).get_item(name),
            None => Ok(None),
        }
    }

    /// Keeps a value and gives it back; of two threads that decode the same field the first result wins.
    pub fn keep<'py>(
        &self,
        py: Python<'py>,
        name: &Bound<'py, PyString>,
        value: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if self.is_empty(py) && self.first.set(py, (name.clone().unbind(), value.clone().unbind())).is_ok() {
            return Ok(value);
        }
        if let Some(other) = self.get(py, name)? {
            return Ok(other);
        }
        if self.others.get(py).is_none() {
            // `get_or_init` would give up the GIL and take it back, which costs more than a look-up.
            let _ = self.others.set(py, PyDict::new(py).unbind());
        }
        self.others.get_or_init(py, || PyDict::new(py).unbind()).bind(py).set_item(name, &value)?;
        Ok(value)
    }

    /// The same values, which are kept separately from now on.
    pub fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        let copy = Self::default();
        if let Some((name, value)) = self.first.get(py) {
            let _ = copy.first.set(py, (name.clone_ref(py), value.clone_ref(py)));
        }
        if let Some(others) = self.others.get(py) {
            let _ = copy.others.set(py, others.bind(py).copy()?.unbind());
        }
        Ok(copy)
    }
}

/// Whether two texts are the same; quicker than asking Python.
fn is_same(one: &Bound<'_, PyString>, other: &Bound<'_, PyString>) -> bool {
    matches!((one.to_str(), other.to_str()), (Ok(one), Ok(other)) if one == other)
}
