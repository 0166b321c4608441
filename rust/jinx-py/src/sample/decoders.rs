//! Functions that a dataset applies to the values of its columns when they are touched.

use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{IntoPyObject, PyTraverseError};

/// A dict of functions by column, or nothing. Each object that calls them holds a reference of its own: Python's garbage
/// collector counts the references it is shown, and memory that several objects share it would count several times.
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

    /// Columns whose function makes an array of pixels of an image.
    ///
    /// # Errors
    /// Those of a function that cannot be asked.
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

    /// Shows the reference to the garbage collector.
    ///
    /// # Errors
    /// The collector's own.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.0)
    }
}

/// The members of a dict as they are now; Python code that runs between two of them may change the dict.
pub fn members<'py>(dict: &Bound<'py, PyDict>) -> Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    dict.iter().collect()
}
