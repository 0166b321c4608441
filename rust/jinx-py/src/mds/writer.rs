//! `MdsWriter`: writes encoded values to an MDS directory.

use crate::errors::{IntoPy, to_py};
use jinx_core::Error;
use jinx_mds::write::writer::{SampleEncoder, Settings, Writer};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

/// Writes samples with values that are already encoded; `jinx.mds.MDSWriter` encodes them.
#[pyclass(frozen, module = "jinx._core", name = "MdsWriter")]
pub struct MdsWriter {
    state: Mutex<Option<(Writer, SampleEncoder)>>,
    names: Vec<(String, String)>,
}

fn closed() -> Error {
    Error::invalid("this writer is closed")
}

impl MdsWriter {
    /// Discards the writer after a panic: its state is unknown, so it must not publish anything.
    fn lock(&self) -> MutexGuard<'_, Option<(Writer, SampleEncoder)>> {
        self.state.lock().unwrap_or_else(|poisoned| {
            let mut state = poisoned.into_inner();
            *state = None;
            state
        })
    }

    fn with<T>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut (Writer, SampleEncoder)) -> jinx_core::Result<T> + Send,
    ) -> PyResult<T>
    where
        T: Send,
    {
        py.detach(|| act(self.lock().as_mut().ok_or_else(closed)?)).into_py_result()
    }
}

#[pymethods]
impl MdsWriter {
    #[new]
    #[pyo3(signature = (path, columns, *, compression = None, hashes = Vec::new(), size_limit = None,
                        overwrite = false, threads = 0))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        columns: BTreeMap<String, String>,
        compression: Option<String>,
        hashes: Vec<String>,
        size_limit: Option<u64>,
        overwrite: bool,
        threads: usize,
    ) -> PyResult<Self> {
        let names = columns.iter().map(|(name, encoding)| (name.clone(), encoding.clone())).collect();
        let settings = Settings { columns, compression, hashes, size_limit, overwrite, threads };
        let state = py
            .detach(|| {
                let writer = Writer::create(&path, settings)?;
                let encoder = writer.encoder()?;
                jinx_core::Result::Ok((writer, encoder))
            })
            .into_py_result()?;
        Ok(Self { state: Mutex::new(Some(state)), names })
    }

    /// Names and encodings of the columns, in the order of the values for `write`.
    #[getter]
    fn columns(&self) -> Vec<(String, String)> {
        self.names.clone()
    }

    #[getter]
    fn samples(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |(writer, _)| Ok(writer.written()))
    }

    /// Adds a sample, given the bytes of its values.
    fn write(&self, py: Python<'_>, values: Vec<PyBackedBytes>) -> PyResult<()> {
        self.with(py, |(writer, encoder)| {
            let sample = encoder.encode(&values).map_err(|error| error.in_sample(writer.written()))?;
            writer.push(&sample)
        })
    }

    /// Publishes the directory.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let taken = self.lock().take();
        let (writer, _) = taken.ok_or_else(|| to_py(&closed()))?;
        let written = py.detach(|| writer.finish()).into_py_result()?;
        let dict = PyDict::new(py);
        dict.set_item("rows", written.samples)?;
        dict.set_item("bytes", written.bytes)?;
        dict.set_item("shards", written.shards)?;
        Ok(dict)
    }

    /// Discards the written samples. A previous directory at the target is unchanged.
    fn abort(&self, py: Python<'_>) {
        let taken = self.lock().take();
        py.detach(|| drop(taken));
    }
}
