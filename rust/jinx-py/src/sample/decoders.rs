//! Functions that a dataset applies to the values of its columns on first access.

use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{IntoPyObject, PyTraverseError};

/// An optional dict of functions by column. Each object that calls them holds its own Python reference: the garbage
/// collector counts every reported reference, so it would count a shared one several times.
#[derive(Default)]
pub struct Decoders(Option<Py<PyDict>>);

impl Decoders {
    pub fn new(functions: Option<Py<PyDict>>) -> Self {
        Self(functions)
    }

    pub fn clone_ref(&self, py: Python<'_>) -> Self {
        Self(self.dict(py))
    }

    pub fn dict(&self, py: Python<'_>) -> Option<Py<PyDict>> {
        self.0.as_ref().map(|functions| functions.clone_ref(py))
    }

    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// The function for a column.
    pub fn get<'py>(
        &self,
        py: Python<'py>,
        name: impl IntoPyObject<'py>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.as_ref().map_or(Ok(None), |functions| functions.bind(py).get_item(name))
    }

    pub fn has<'py>(&self, py: Python<'py>, name: impl IntoPyObject<'py>) -> PyResult<bool> {
        self.0.as_ref().map_or(Ok(false), |functions| functions.bind(py).contains(name))
    }

    /// Columns whose function decodes an image into an array of pixels.
    ///
    /// # Errors
    /// Errors from reading the `gives_pixels` attribute of a function.
    pub fn pixels(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let Some(functions) = &self.0 else { return Ok(Vec::new()) };
        let mut names = Vec::new();
        for (name, function) in members(functions.bind(py)) {
            if let Some(flag) = function.getattr_opt(pyo3::intern!(py, "gives_pixels"))?
                && flag.is_truthy()?
            {
                names.push(name.extract()?);
            }
        }
        Ok(names)
    }

    /// Reports the reference to the garbage collector.
    ///
    /// # Errors
    /// Errors of the collector.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.0)
    }
}

/// A snapshot of the members of a dict. Python code that runs during a loop may change the dict.
pub fn members<'py>(dict: &Bound<'py, PyDict>) -> Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    dict.iter().collect()
}
