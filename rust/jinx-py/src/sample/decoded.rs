//! The decoded values of a sample, by name.

use pyo3::PyTraverseError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::sync::OnceLock;

/// Caches decoded values. Most callers use only one or two columns of a sample, so the first value is stored without a
/// dict: creating a dict takes as long as reading a small column.
#[derive(Default)]
pub struct Decoded {
    first: OnceLock<(Py<PyString>, Py<PyAny>)>,
    others: OnceLock<Py<PyDict>>,
}

impl Decoded {
    pub fn is_empty(&self) -> bool {
        self.first.get().is_none()
    }

    pub fn get<'py>(
        &self,
        py: Python<'py>,
        name: &Bound<'py, PyString>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some((first, value)) = self.first.get() else { return Ok(None) };
        if first.is(name) || is_same(first.bind(py), name) {
            return Ok(Some(value.bind(py).clone()));
        }
        match self.others.get() {
            Some(others) => others.bind(py).get_item(name),
            None => Ok(None),
        }
    }

    /// Caches a value and returns it. If two threads decode the same column, both get the first result.
    pub fn keep<'py>(
        &self,
        py: Python<'py>,
        name: &Bound<'py, PyString>,
        value: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if self.is_empty() && self.first.set((name.clone().unbind(), value.clone().unbind())).is_ok() {
            return Ok(value);
        }
        if let Some(other) = self.get(py, name)? {
            return Ok(other);
        }
        let others = match self.others.get() {
            Some(others) => others,
            None => {
                // Create the dict before `get_or_init` locks, because creating an object may let another thread run.
                let empty = PyDict::new(py).unbind();
                self.others.get_or_init(|| empty)
            }
        };
        others.bind(py).set_item(name, &value)?;
        Ok(value)
    }

    /// Returns an independent cache with the same values.
    pub fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        let copy = Self::default();
        if let Some((name, value)) = self.first.get() {
            let _ = copy.first.set((name.clone_ref(py), value.clone_ref(py)));
        }
        if let Some(others) = self.others.get() {
            let _ = copy.others.set(others.bind(py).copy()?.unbind());
        }
        Ok(copy)
    }

    /// Reports the references to the garbage collector.
    ///
    /// # Errors
    /// Errors of the collector.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(self.first.get().map(|(_, value)| value))?;
        visit.call(self.others.get())
    }
}

/// Whether two strings are equal; faster than a comparison in Python.
fn is_same(one: &Bound<'_, PyString>, other: &Bound<'_, PyString>) -> bool {
    matches!((one.to_str(), other.to_str()), (Ok(one), Ok(other)) if one == other)
}
