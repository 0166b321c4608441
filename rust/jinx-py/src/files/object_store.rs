//! Single objects in stores, for Python.

use crate::dataset::open::store_with;
use crate::errors::IntoPy;
use bytes::Bytes;
use jinx_core::io::Store;
use jinx_remote::{Condition, ObjectState, RemoteStore};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// URL, size, tag and modification time of an object.
type State = (String, u64, String, f64);

/// Reads and writes objects by their URLs. Calls wait without the GIL.
#[pyclass(frozen, module = "jinx._core")]
pub struct ObjectStore(Arc<RemoteStore>);

fn state(found: ObjectState) -> State {
    (found.url, found.size, found.tag, found.modified)
}

#[pymethods]
impl ObjectStore {
    /// Takes the options of stores.
    #[new]
    fn new(storage: BTreeMap<String, String>) -> PyResult<Self> {
        store_with(&storage).map(|store| Self(Arc::new(store)))
    }

    fn head(&self, py: Python<'_>, url: &str) -> PyResult<State> {
        py.detach(|| self.0.state(url)).into_py_result().map(state)
    }

    /// All bytes or a range of bytes, and the tag.
    #[pyo3(signature = (url, range = None, tag = None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        url: &str,
        range: Option<(u64, u64)>,
        tag: Option<&str>,
    ) -> PyResult<(Bound<'py, PyBytes>, String)> {
        let range = range.map(|(start, end)| start..end);
        let (bytes, tag) = py.detach(|| self.0.get(url, range, tag)).into_py_result()?;
        Ok((PyBytes::new(py, &bytes), tag))
    }

    /// Writes bytes unconditionally, only if there is no object, or only if the object has the tag `expected`; returns
    /// the new tag.
    #[pyo3(signature = (url, data, absent = false, expected = None))]
    fn put(
        &self,
        py: Python<'_>,
        url: &str,
        data: &[u8],
        absent: bool,
        expected: Option<String>,
    ) -> PyResult<String> {
        let condition = match (absent, expected) {
            (true, _) => Condition::Absent,
            (false, Some(tag)) => Condition::Matches(tag),
            (false, None) => Condition::Always,
        };
        let data = Bytes::copy_from_slice(data);
        py.detach(|| self.0.put(url, data, &condition)).into_py_result()
    }

    fn put_file(&self, py: Python<'_>, url: &str, path: PathBuf, replace: bool) -> PyResult<()> {
        let condition = if replace { Condition::Always } else { Condition::Absent };
        py.detach(|| self.0.put_file(url, &path, &condition)).into_py_result()
    }

    /// Copies an object to a new file.
    fn get_file(&self, py: Python<'_>, url: &str, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.0.get_file(url, &path)).into_py_result()
    }

    fn list(&self, py: Python<'_>, url: &str, recursive: bool) -> PyResult<Vec<State>> {
        let found = py.detach(|| self.0.list_objects(url, recursive)).into_py_result()?;
        Ok(found.into_iter().map(state).collect())
    }

    fn delete(&self, py: Python<'_>, urls: Vec<String>) -> PyResult<()> {
        py.detach(|| self.0.delete(&urls)).into_py_result()
    }
}
