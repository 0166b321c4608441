//! Conversion for Python: converts files and Arrow streams, and iterates over the rows of any input.

use crate::dataset;
use crate::dataset::handle::RowsHandle;
use crate::errors::{IntoPy, from_py};
use crate::objects::build::PyBuilder;
use jinx_convert::ConvertSpec;
use jinx_convert::mds_copy::MdsSamples;
use jinx_convert::{Format, Progress, RowChunk, RowSource, Summary};
use jinx_core::{Error, Result};
use jinx_dataset::mds::MdsRows;
use jinx_pyo3::capsule::take_stream;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, TryLockError};

/// Calls `progress(rows, bytes_read, total_bytes)`, which may raise, and runs signal handlers.
fn report(progress: Option<&Py<PyAny>>, now: Progress) -> Result<()> {
    Python::attach(|py| {
        py.check_signals().map_err(|error| from_py(py, error))?;
        match progress {
            Some(progress) => progress
                .call1(py, (now.rows, now.bytes_read, now.total_bytes))
                .map(|_| ())
                .map_err(|error| from_py(py, error)),
            None => Ok(()),
        }
    })
}

fn summary<'py>(py: Python<'py>, written: &Summary) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("rows", written.rows)?;
    dict.set_item("bytes", written.bytes)?;
    dict.set_item("sidecar_bytes", written.sidecar_bytes)?;
    dict.set_item("shards", written.files)?;
    dict.set_item("skipped", written.skipped)?;
    Ok(dict)
}

/// Converts between parquet, jsonl, msgpack and jinx.
#[pyfunction]
#[pyo3(signature = (sources, out, *, input_format, output_format, options, progress = None))]
pub fn convert<'py>(
    py: Python<'py>,
    sources: Vec<PathBuf>,
    out: PathBuf,
    input_format: &str,
    output_format: &str,
    options: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let spec = ConvertSpec::from_json(options).into_py_result()?;
    let (from, to) = (Format::from_name(input_format), Format::from_name(output_format));
    let (from, to) = (from.into_py_result()?, to.into_py_result()?);
    let written = py
        .detach(|| {
            jinx_convert::convert(&sources, from, &out, to, &spec, &mut |now| report(progress.as_ref(), now))
        })
        .into_py_result()?;
    summary(py, &written)
}

/// Converts from an object with `__arrow_c_stream__`.
#[pyfunction]
#[pyo3(signature = (stream, out, *, output_format, options, progress = None))]
pub fn convert_arrow<'py>(
    py: Python<'py>,
    stream: &Bound<'py, PyAny>,
    out: PathBuf,
    output_format: &str,
    options: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let spec = ConvertSpec::from_json(options).into_py_result()?;
    let to = Format::from_name(output_format).into_py_result()?;
    let stream = take_stream(stream)?;
    let written = py
        .detach(|| {
            let batches = jinx_convert::arrow::stream::from_c_stream(stream)?;
            let schema = batches.schema();
            let rows = jinx_convert::inputs::ArrowRows::new(schema.clone(), batches);
            jinx_convert::convert_rows(Box::new(rows), &schema, &out, to, &spec, &mut |now| {
                report(progress.as_ref(), now)
            })
        })
        .into_py_result()?;
    summary(py, &written)
}

/// Copies samples of MDS directories to a new one without decoding their values. `None` if that is not possible.
#[pyfunction]
#[pyo3(signature = (roots, positions, columns, out, options, progress = None))]
pub fn copy_mds<'py>(
    py: Python<'py>,
    roots: Vec<PyRef<'py, RowsHandle>>,
    positions: Option<&Bound<'py, PyAny>>,
    columns: Vec<String>,
    out: PathBuf,
    options: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let spec = ConvertSpec::from_json(options).into_py_result()?;
    let mut directories = Vec::with_capacity(roots.len());
    for root in &roots {
        let Ok(rows) = Arc::clone(&root.0).into_any().downcast::<MdsRows>() else { return Ok(None) };
        directories.push(rows.directory.get().into_py_result()?);
    }
    let total = directories.iter().map(|directory| directory.len()).sum();
    let positions =
        positions.map(|positions| dataset::reader::positions(positions, total)).transpose()?.map(Arc::new);
    let samples = MdsSamples { directories, positions, names: columns };
    let written = py
        .detach(|| {
            jinx_convert::mds_copy::copy_mds(&samples, &out, &spec, &mut |now| report(progress.as_ref(), now))
        })
        .into_py_result()?;
    written.map(|written| summary(py, &written)).transpose()
}

/// Returns the Arrow schema of a Parquet file as the base64 text of its IPC message.
#[pyfunction]
pub fn read_schema(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    py.detach(|| {
        Ok(jinx_convert::arrow::encode_schema(&jinx_convert::inputs::ParquetSource::open(path)?.schema()))
    })
    .into_py_result()
}

/// Iterates over the rows of any input format as plain dicts.
#[pyfunction]
#[pyo3(signature = (sources, *, input_format, columns = None, markers = false, r#where = None))]
pub fn stream(
    py: Python<'_>,
    sources: Vec<PathBuf>,
    input_format: &str,
    columns: Option<Vec<String>>,
    markers: bool,
    r#where: Option<&str>,
) -> PyResult<RowIterator> {
    let format = Format::from_name(input_format).into_py_result()?;
    let source = py
        .detach(|| jinx_convert::stream_rows(&sources, format, columns.as_deref(), markers, r#where))
        .into_py_result()?;
    Ok(RowIterator { state: Mutex::new(StreamState { source, chunk: None, next: 0 }) })
}

struct StreamState {
    source: Box<dyn RowSource>,
    chunk: Option<Box<dyn RowChunk>>,
    next: usize,
}

impl StreamState {
    /// Moves to the next chunk if the current one has no rows left. Returns false at the end of the input.
    fn advance(&mut self) -> Result<bool> {
        while self.chunk.as_ref().is_none_or(|chunk| self.next >= chunk.len()) {
            self.chunk = self.source.next_chunk()?;
            self.next = 0;
            if self.chunk.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Iterates over the rows of an input in order.
#[pyclass(frozen, module = "jinx._core")]
pub struct RowIterator {
    state: Mutex<StreamState>,
}

#[pymethods]
impl RowIterator {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let broken = || crate::errors::to_py(&Error::invalid("an earlier row ended in a panic; start again"));
        let busy = || crate::errors::to_py(&Error::invalid("another thread is reading from this iterator"));
        let mut state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(_)) => return Err(broken()),
            Err(TryLockError::WouldBlock) => return Err(busy()),
        };
        let state = &mut *state;
        if state.chunk.as_ref().is_none_or(|chunk| state.next >= chunk.len())
            && !py.detach(|| state.advance()).into_py_result()?
        {
            return Ok(None);
        }
        let Some(chunk) = &state.chunk else { return Ok(None) };
        let mut builder = PyBuilder::new(py);
        let emitted = chunk.emit(state.next, &mut builder).map_err(|error| chunk.locate(state.next, error));
        state.next += 1;
        emitted.into_py_result()?;
        builder.finish().into_py_result().map(Some)
    }
}
