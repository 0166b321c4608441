//! `Writer`: collects samples in batches, encodes them on all cores, and writes them in order.

mod copy;
pub mod reorder;
mod save;

use crate::dataset::reader::Reader;
use crate::errors::{IntoPy, to_py};
use crate::sample::extract;
use jinx_core::checked_math::to_u64;
use jinx_core::codec::Codec;
use jinx_core::limits::{MAX_ROW_BYTES, MAX_VALUE_BYTES};
use jinx_core::value::{TreeBuilder, Value};
use jinx_core::{Error, Result};
use jinx_format::fields::{MediaField, Path, parse_path};
use jinx_format::meta::Meta;
use jinx_format::write::dataset::{DatasetWriter, Summary};
use jinx_format::write::options::{ColumnChoice, EncodeOptions, WriteOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyDict;
use serde_json::Value as Json;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

/// Encode a batch when it holds this many rows or bytes.
const BATCH_ROWS: usize = 512;
const BATCH_BYTES: usize = 16 << 20;

#[pyclass(frozen, module = "jinx._core", name = "Writer")]
pub struct Writer {
    state: Mutex<WriterState>,
    path: PathBuf,
    /// The process that opened the writer: a forked child shares its open files, and must not write to them.
    process: u32,
}

struct WriterState {
    /// `None` once closed or aborted.
    writer: Option<DatasetWriter>,
    batch: Vec<Value>,
    batch_bytes: usize,
}

/// Estimates the size of a value in bytes: at least one eighth of its size in the line.
fn size_of(value: &Value) -> usize {
    let inner = match value {
        Value::Blob { data, path, .. } => data.len() + path.as_ref().map_or(0, String::len),
        Value::Str(text) | Value::BigInt(text) => text.len(),
        Value::List(items) => items.iter().map(size_of).sum(),
        Value::Dict(members) => members.iter().map(|(name, value)| name.len() + size_of(value)).sum(),
        _ => 0,
    };
    inner + 16
}

impl WriterState {
    fn open_writer(&mut self) -> Result<&mut DatasetWriter> {
        self.writer.as_mut().ok_or_else(closed)
    }

    /// The number of the next sample.
    fn next_number(&mut self) -> Result<u64> {
        let waiting = to_u64(self.batch.len());
        let writer = self.open_writer()?;
        writer.require_whole()?;
        Ok(writer.rows() + waiting)
    }

    /// Adds a sample. Returns whether to write the batch now.
    fn push(&mut self, value: Value) -> Result<bool> {
        let size = size_of(&value);
        let limit = self.open_writer()?.options().encode.max_row_bytes;
        self.batch.push(value);
        self.batch_bytes += size;
        // Write a sample that may be too long for a line immediately, so that the call that added it reports the error.
        let may_be_refused = to_u64(size) > limit / 8;
        Ok(self.batch.len() >= BATCH_ROWS || self.batch_bytes >= BATCH_BYTES || may_be_refused)
    }

    /// Encodes and writes the batch without the GIL. Drops a rejected sample and keeps the samples after it.
    fn flush(&mut self, py: Python<'_>) -> Result<()> {
        let batch = std::mem::take(&mut self.batch);
        let writer = self.open_writer()?;
        let before = writer.rows();
        let result = py.detach(|| writer.write_values(&batch));
        let done = writer.rows() - before + u64::from(result.is_err());
        // Drop the written values with the GIL held: they may contain bytes objects.
        self.batch = batch.into_iter().skip(usize::try_from(done).unwrap_or(usize::MAX)).collect();
        self.batch_bytes = self.batch.iter().map(size_of).sum();
        result
    }

    /// Writes the remaining samples and takes the writer out. The writer stays only if a sample is rejected.
    fn finish(&mut self, py: Python<'_>) -> Result<DatasetWriter> {
        match self.flush(py) {
            Err(error) if self.writer.as_ref().is_some_and(|writer| !writer.is_broken()) => Err(error),
            // Always take the writer, so that a failed one does not keep its lock as long as the error exists.
            flushed => {
                let writer = self.writer.take();
                flushed?;
                writer.ok_or_else(closed)
            }
        }
    }
}

fn closed() -> Error {
    Error::invalid("the writer is closed")
}

impl Writer {
    fn is_own_process(&self) -> bool {
        self.process == std::process::id()
    }

    /// # Errors
    /// `Invalid` in a process forked from the one that opened the writer.
    fn require_own_process(&self) -> PyResult<()> {
        if self.is_own_process() {
            return Ok(());
        }
        let what = format!(
            "this writer belongs to process {}, which opened it; a forked process must open its own, for another output",
            self.process
        );
        Err(to_py(&Error::invalid(what).in_file(&self.path)))
    }

    /// Waits for the lock without holding the GIL. Never hold the lock while Python code runs.
    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, WriterState> {
        self.state.lock_py_attached(py).unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn push(&self, py: Python<'_>, sample: &Bound<'_, PyAny>) -> PyResult<()> {
        let here = |error: Error| to_py(&error.in_file(&self.path));
        self.require_own_process()?;
        let mut tree = TreeBuilder::with_ranges();
        let number = self.lock(py).next_number().map_err(here)?;
        let place = |error: Error| to_py(&error.in_sample(number));
        extract::emit_sample(sample, &mut tree).map_err(place)?;
        let value = tree.take().map_err(place)?;
        let mut state = self.lock(py);
        if state.push(value).map_err(here)? { state.flush(py).map_err(here) } else { Ok(()) }
    }
}

/// Parses dotted paths.
fn paths_of(names: &[String]) -> PyResult<Vec<Path>> {
    let path = |name: &String| Ok(parse_path(name)?.into_iter().map(Some).collect());
    names.iter().map(path).collect::<Result<_>>().into_py_result()
}

#[pymethods]
impl Writer {
    #[new]
    #[pyo3(signature = (path, *, sidecar = true, compression = Some("zstd"), level = 3, binary_threshold = 64,
                        compress_threshold = 128, compress_ratio = 0.9, string_threshold = 32768,
                        uncompressed = Vec::new(), indexed = None, only_indexed = None, shard_size = None,
                        overwrite = false, append = false, split = None, meta = None, arrow_schema = None,
                        media = None, threads = 0, max_row_bytes = None, max_value_bytes = None, view = None))]
    #[allow(clippy::too_many_arguments, clippy::fn_params_excessive_bools)]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        sidecar: bool,
        compression: Option<&str>,
        level: i32,
        binary_threshold: u64,
        compress_threshold: u64,
        compress_ratio: f64,
        string_threshold: u64,
        uncompressed: Vec<String>,
        indexed: Option<Vec<String>>,
        only_indexed: Option<Vec<String>>,
        shard_size: Option<u64>,
        overwrite: bool,
        append: bool,
        split: Option<String>,
        meta: Option<&str>,
        arrow_schema: Option<String>,
        media: Option<&str>,
        threads: usize,
        max_row_bytes: Option<u64>,
        max_value_bytes: Option<u64>,
        view: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let compression = match compression.map(|name| (name, Codec::from_name(name))) {
            None | Some(("none", _)) => None,
            Some((_, Some(Codec::Zstd))) => Some(level),
            Some((name, _)) => {
                return Err(PyValueError::new_err(format!("compression={name:?}; give 'zstd' or None")));
            }
        };
        let (choice, extra) = match (indexed, only_indexed) {
            (_, Some(only)) => {
                let paths = paths_of(&only)?;
                (ColumnChoice::Only(paths.clone()), paths)
            }
            (Some(also), None) => {
                let paths = paths_of(&also)?;
                (ColumnChoice::Also(paths.clone()), paths)
            }
            (None, None) => (ColumnChoice::Default, Vec::new()),
        };
        let meta = match meta {
            None => Meta::default(),
            Some(text) => Meta::parse(text).into_py_result()?,
        };
        let options = WriteOptions {
            encode: EncodeOptions {
                sidecar,
                binary_threshold,
                string_threshold,
                compression,
                compress_threshold,
                compress_ratio,
                uncompressed: uncompressed.into_iter().collect(),
                keep_stored: true,
                columns: extra.into_iter().collect(),
                max_row_bytes: max_row_bytes.unwrap_or(MAX_ROW_BYTES),
                max_value_bytes: max_value_bytes.unwrap_or(MAX_VALUE_BYTES),
            },
            columns: choice,
            shard_bytes: shard_size,
            overwrite,
            split,
            meta,
            arrow_schema,
            media: media_of_json(media)?,
            threads,
            view: view.map(save::new_view).transpose()?.map(Arc::new),
            resume: None,
        };
        let writer = py
            .detach(|| {
                if append {
                    DatasetWriter::append(&path, options)
                } else {
                    DatasetWriter::create(&path, options)
                }
            })
            .into_py_result()?;
        let state = WriterState { writer: Some(writer), batch: Vec::new(), batch_bytes: 0 };
        Ok(Self { state: Mutex::new(state), path, process: std::process::id() })
    }

    fn write(&self, py: Python<'_>, sample: &Bound<'_, PyAny>) -> PyResult<()> {
        self.push(py, sample)
    }

    fn write_many(&self, py: Python<'_>, samples: &Bound<'_, PyAny>) -> PyResult<()> {
        for sample in samples.try_iter()? {
            self.push(py, &sample?)?;
        }
        Ok(())
    }

    /// Inherits the column information of a dataset's footers; see [`copy::inherit`].
    fn inherit(
        &self,
        py: Python<'_>,
        reader: &Bound<'_, Reader>,
        hidden: Vec<String>,
        replaced: Vec<String>,
        own: Option<&Bound<'_, PyAny>>,
        untyped: bool,
    ) -> PyResult<bool> {
        self.require_own_process()?;
        copy::inherit(py, self, reader.get(), &hidden, &replaced, own, untyped)
    }

    /// Copies samples of a dataset as they are stored; see [`copy::copy`].
    #[allow(clippy::too_many_arguments)]
    fn copy(
        &self,
        py: Python<'_>,
        reader: &Bound<'_, Reader>,
        positions: &Bound<'_, PyAny>,
        hidden: Vec<String>,
        own: Vec<(String, Bound<'_, PyAny>)>,
        table: Option<&Bound<'_, PyAny>>,
        own_only: bool,
    ) -> PyResult<()> {
        self.require_own_process()?;
        let copied = copy::Copied { hidden: &hidden, own, table, own_only };
        copy::copy(py, self, reader.get(), positions, copied)
    }

    /// Finishes and publishes; returns samples, shards, bytes and sidecar_bytes.
    fn close<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.require_own_process()?;
        let here = |error: Error| to_py(&error.in_file(&self.path));
        let writer = self.lock(py).finish(py).map_err(here)?;
        let summary = py.detach(|| writer.close()).map_err(here)?;
        summary_dict(py, &summary)
    }

    /// Discards the written samples. The target is unchanged. In a forked process this does nothing.
    fn abort(&self, py: Python<'_>) {
        if !self.is_own_process() {
            return;
        }
        let mut state = self.lock(py);
        state.batch.clear();
        let writer = state.writer.take();
        py.detach(|| drop(writer));
    }

    #[getter]
    fn rows(&self, py: Python<'_>) -> u64 {
        let state = self.lock(py);
        state.writer.as_ref().map_or(0, DatasetWriter::rows) + to_u64(state.batch.len())
    }

    #[getter]
    fn bytes(&self, py: Python<'_>) -> u64 {
        self.lock(py).writer.as_ref().map_or(0, DatasetWriter::bytes)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.is_own_process() {
            return;
        }
        // Dropping would write what is buffered into the files of the other process.
        let state = self.state.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        std::mem::forget(state.writer.take());
    }
}

/// Parses media fields such as `[{"path": [...], "kind": "Image", "feature": {...}}]`.
fn media_of_json(text: Option<&str>) -> PyResult<Vec<MediaField>> {
    #[derive(serde::Deserialize)]
    struct Given {
        path: Vec<Option<String>>,
        kind: String,
        #[serde(default)]
        feature: Json,
    }
    let Some(text) = text else { return Ok(Vec::new()) };
    let given: Vec<Given> =
        serde_json::from_str(text).map_err(|error| PyValueError::new_err(format!("media: {error}")))?;
    Ok(given
        .into_iter()
        .map(|field| MediaField { path: field.path, kind: field.kind, feature: field.feature })
        .collect())
}

pub fn summary_dict<'py>(py: Python<'py>, summary: &Summary) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("rows", summary.samples)?;
    dict.set_item("shards", summary.shards)?;
    dict.set_item("bytes", summary.bytes)?;
    dict.set_item("sidecar_bytes", summary.sidecar_bytes)?;
    Ok(dict)
}
