//! `MdsShard`: a single shard, for readers of datasets that another library manages.

use crate::errors::{IntoPy, to_py};
use crate::mds::open::pickles;
use crate::mds::value;
use jinx_core::io::{Access, Source, Version, base_of};
use jinx_core::limits::Limits;
use jinx_dataset::mds::{DecodeOptions, Pickles};
use jinx_mds::columns::Columns;
use jinx_mds::compression::Compression;
use jinx_mds::index_json::{FileInfo, ShardInfo};
use jinx_mds::read::shard::Shard;

use jinx_core::{Error, Result};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

/// A raw or sample-compressed shard whose file may be removed and put back at any time.
#[pyclass(frozen, module = "jinx._core", name = "MdsShard")]
pub struct MdsShard {
    path: PathBuf,
    info: ShardInfo,
    decode_options: DecodeOptions,
    names: Vec<Py<PyString>>,
    open: RwLock<Option<Open>>,
}

/// A shard, and the identity of the file that it was opened from.
type Open = (Arc<Shard>, Version);

impl MdsShard {
    /// Reads sample `i` from the current file of the shard, without the GIL. Opens a replaced file again. Returns
    /// `NotFound` for a removed file.
    fn read<T: Send>(
        &self,
        py: Python<'_>,
        i: i64,
        read: impl Fn(&Arc<Shard>, u64) -> Result<T> + Sync,
    ) -> PyResult<T> {
        // Lock only while holding the GIL: a process that is forked while another thread holds the lock would wait
        // forever.
        let open_before = self.open.read().unwrap_or_else(PoisonError::into_inner).clone();
        let found = py.detach(|| -> Result<_> {
            let (open, is_new) = self.current(open_before)?;
            let i = u64::try_from(i).ok().filter(|i| *i < open.0.samples());
            Ok((i.map(|i| read(&open.0, i)), is_new.then_some(open)))
        });
        let (value, opened) = found.map_err(|error| {
            *self.lock() = None;
            to_py(&error)
        })?;
        if opened.is_some() {
            *self.lock() = opened;
        }
        let value = value.ok_or_else(|| {
            let name = self.path.file_name().unwrap_or_default().to_string_lossy();
            PyIndexError::new_err(format!("Relative sample index {i} is not present in the {name} file."))
        });
        value?.into_py_result()
    }

    /// Returns the open shard, and whether this call opened it.
    fn current(&self, open_before: Option<Open>) -> Result<(Open, bool)> {
        let now = std::fs::metadata(&self.path).map_err(|error| Error::io(&self.path, &error))?;
        let now = Version::from(&now);
        if let Some(open_before) = open_before.filter(|(_, identity)| *identity == now) {
            return Ok((open_before, false));
        }
        let source = Source::open(&self.path, Access::Auto)?;
        let identity = source.version();
        let shard = Shard::open(source, &self.info, Limits::default())?;
        Ok(((Arc::new(shard), identity), true))
    }

    fn lock(&self) -> RwLockWriteGuard<'_, Option<Open>> {
        self.open.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl MdsShard {
    #[new]
    #[pyo3(signature = (path, *, names, encodings, sizes, compression, samples, bytes, allow_unsafe_types = None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        names: Vec<String>,
        encodings: Vec<String>,
        sizes: Vec<Option<u64>>,
        compression: Option<&str>,
        samples: u64,
        bytes: u64,
        allow_unsafe_types: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let interned = names.iter().map(|name| PyString::intern(py, name).unbind()).collect();
        let columns = Columns::new(names, encodings, sizes).into_py_result()?;
        let compression = match Compression::parse(compression).into_py_result()? {
            // The caller has already decompressed the file.
            Compression::File(_) => Compression::None,
            other => other,
        };
        let raw = FileInfo { basename: String::new(), bytes, hashes: BTreeMap::new() };
        let info = ShardInfo::new(Arc::new(columns), compression, raw, None, samples);
        let decode_options = DecodeOptions {
            pickles: allow_unsafe_types.map_or(Ok(Pickles::All), pickles)?,
            image_bytes: false,
        };
        let path = base_of(std::slice::from_ref(&path)).join(path);
        Ok(Self { path, info, decode_options, names: interned, open: RwLock::new(None) })
    }

    /// Sample `i` as a plain dict.
    fn get<'py>(&self, py: Python<'py>, i: i64) -> PyResult<Bound<'py, PyDict>> {
        let row = self.read(py, i, Shard::row)?;
        let sample = PyDict::new(py);
        for (column, name) in self.names.iter().enumerate() {
            sample.set_item(name, value::column(py, &row, column, &self.decode_options, None)?)?;
        }
        Ok(sample)
    }

    /// The decompressed bytes of sample `i`.
    fn data<'py>(&self, py: Python<'py>, i: i64) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.read(py, i, |shard, i| shard.sample(i))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Decodes the bytes of a sample to a plain dict.
    fn decode<'py>(&self, py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyDict>> {
        let spans = self.info.columns.split(data).into_py_result()?;
        let sample = PyDict::new(py);
        for ((column, name), span) in self.info.columns.all.iter().zip(&self.names).zip(spans.iter()) {
            let encoding = column.encoding.as_ref().ok_or_else(|| {
                to_py(&jinx_mds::encodings::decode::unknown(&column.encoding_name).in_column(&column.name))
            })?;
            let bytes = jinx_mds::columns::part(data, *span).into_py_result()?;
            sample.set_item(name, value::decode(py, encoding, bytes, &self.decode_options)?)?;
        }
        Ok(sample)
    }

    /// Closes the file. Returns whether it was open.
    fn close(&self) -> bool {
        self.lock().take().is_some()
    }

    /// Whether an open file is no longer the file at its path.
    fn is_stale(&self) -> bool {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        let Some((_, identity)) = &*open else { return false };
        std::fs::metadata(&self.path).map_or(true, |now| Version::from(&now) != *identity)
    }
}
