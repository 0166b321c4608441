//! What a lazy sample of an MDS folder is made of.

use super::value;
use crate::dataset::decoders::Decoders;
use crate::dataset::reader::Reader;
use crate::dataset::state::DatasetState;
use crate::errors::{IntoPy, from_py, to_py};
use crate::sample::lazy_dict::{LazyDict, undecoded};
use crate::sample::pickle::PickledRow;
use jinx_core::sink::Sink;
use jinx_core::{Error, Result};
use jinx_mds::columns::Columns;
use jinx_mds::encodings::images::elements;
use jinx_mds::encodings::names::{Encoding, Image};
use jinx_mds::encodings::ndarray;
use jinx_mds::index::INDEX_NAME;
use jinx_mds::read::shard::Row;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, OnceLock};

/// A sample that is read when its first field is touched.
pub struct MdsRow {
    dataset: Arc<DatasetState>,
    position: u64,
    row: OnceLock<Row>,
}

/// Sample `position` over all shards, nothing of it read.
pub fn sample(py: Python<'_>, reader: &Reader, position: u64) -> PyResult<LazyDict> {
    of_row(py, Arc::new(MdsRow::new(Arc::clone(&reader.dataset), position)), &reader.decoders)
}

/// A sample whose fields may have been found already.
pub fn with_row(py: Python<'_>, reader: &Reader, position: u64, row: OnceLock<Row>) -> PyResult<LazyDict> {
    of_row(py, Arc::new(MdsRow { dataset: Arc::clone(&reader.dataset), position, row }), &reader.decoders)
}

/// The sample of a row.
pub fn of_row(py: Python<'_>, row: Arc<MdsRow>, decoders: &Decoders) -> PyResult<LazyDict> {
    let names = template(py, &row.dataset, row.position)?;
    Ok(LazyDict::of_dict(names.unbind(), PickledRow::of_mds(row), decoders.clone_ref(py)))
}

/// The names of a sample's fields with placeholders for their values.
fn template<'py>(py: Python<'py>, dataset: &DatasetState, position: u64) -> PyResult<Bound<'py, PyDict>> {
    let mds = dataset.mds.as_deref().ok_or_else(|| to_py(&Error::invalid("not an MDS dataset")))?;
    let (shard, _) = mds.folder.place(position);
    let columns = mds.folder.info(shard).map(|info| Arc::clone(&info.columns)).unwrap_or_default();
    if columns.all.is_empty()
        && let Some(info) = mds.folder.info(shard)
    {
        // Without columns there is nothing that could be touched and tell what is wrong.
        let index = mds.folder.folder_of(shard).join(INDEX_NAME);
        let named = |error: Error| {
            Error::new(error.cause(), format!("shard {shard}: {}", error.what())).in_file(&index)
        };
        info.check().map_err(named).into_py_result()?;
    }
    let build = |columns: &Columns| -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        let placeholder = undecoded(py)?;
        for column in columns.all.iter().filter(|column| dataset.is_projected(&column.name)) {
            dict.set_item(pyo3::types::PyString::intern(py, &column.name), placeholder)?;
        }
        Ok(dict)
    };
    let (of, dict) = mds
        .template
        .get_or_try_init(py, || PyResult::Ok((Arc::clone(&columns), build(&columns)?.unbind())))?;
    if Arc::ptr_eq(of, &columns) { dict.bind(py).copy() } else { build(&columns) }
}

impl MdsRow {
    /// Sample `position` over all shards, of which nothing is read.
    pub fn new(dataset: Arc<DatasetState>, position: u64) -> Self {
        Self { dataset, position, row: OnceLock::new() }
    }

    pub fn position(&self) -> u64 {
        self.position
    }

    /// The row, if it was found.
    pub fn found(&self) -> Option<&Row> {
        self.row.get()
    }

    /// Finds the row, unless that fails: then it is looked for again, and the error told, when it is touched.
    pub fn find(&self) -> Option<&Row> {
        if let (None, Some(mds)) = (self.row.get(), &self.dataset.mds)
            && let Ok(row) = mds.folder.row(self.position)
        {
            let _ = self.row.set(row);
        }
        self.row.get()
    }

    /// The row, found at the first call.
    pub fn row(&self, py: Python<'_>) -> PyResult<&Row> {
        if let Some(row) = self.row.get() {
            return Ok(row);
        }
        let mds = self.dataset.mds.as_deref().ok_or_else(|| to_py(&Error::invalid("not an MDS dataset")))?;
        let (shard, i) = mds.folder.place(self.position);
        let shard = match mds.folder.opened(shard) {
            Some(open) => open,
            None => py.detach(|| mds.folder.shard(shard)).into_py_result()?,
        };
        // A mapped head is a few words; anything that may take long is done without the GIL.
        let quick = !shard.is_sample_compressed() && shard.source().is_none_or(|source| source.is_mapped());
        let row = if quick { shard.row(i) } else { py.detach(|| shard.row(i)) }.into_py_result()?;
        Ok(self.row.get_or_init(|| row))
    }

    fn column(&self, py: Python<'_>, name: &str) -> PyResult<(&Row, usize)> {
        let row = self.row(py)?;
        let column = row.columns().position(name);
        Ok((row, column.ok_or_else(|| to_py(&Error::invalid(format!("no column '{name}'"))))?))
    }

    /// The value of a field, through its decoder if it has one, of bytes that may have been read before.
    pub fn value<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        decoders: &Decoders,
        read: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (row, column) = self.column(py, name)?;
        let mds = self.dataset.mds.as_deref().ok_or_else(|| to_py(&Error::invalid("not an MDS dataset")))?;
        match decoders.get(py, name)? {
            None => value::field(py, row, column, &mds.taste, read),
            Some(decoder) => {
                let taste = super::open::DecodeOptions { image_bytes: true, ..mds.taste.clone() };
                decoder.call1((value::field(py, row, column, &taste, read)?,))
            }
        }
    }

    /// Whether `value`, which may have been drawn upon, shows what is stored: then an image is written as its file.
    pub fn is_unchanged(
        &self,
        py: Python<'_>,
        name: &str,
        value: &Bound<'_, PyAny>,
        decoders: &Decoders,
    ) -> PyResult<bool> {
        let row = self.row(py)?;
        let column = row.columns().all.iter().find(|column| column.name == name);
        let is_image = matches!(
            column.and_then(|column| column.encoding.as_ref()),
            Some(Encoding::Image(_) | Encoding::List(_) | Encoding::JpegArray)
        );
        if !is_image || decoders.has(py, name)? {
            return Ok(false);
        }
        self.value(py, name, decoders, None)?.eq(value)
    }

    /// Emits a field as it is stored; false when only Python knows its value.
    pub fn emit(
        &self,
        py: Python<'_>,
        name: &str,
        decoders: &Decoders,
        sink: &mut impl Sink,
    ) -> Result<bool> {
        let fail = |error: PyErr| from_py(py, error);
        let (row, column) = self.column(py, name).map_err(fail)?;
        let is_pickle = row.columns().all[column].encoding == Some(Encoding::Pickle);
        if is_pickle || decoders.has(py, name).map_err(fail)? {
            return Ok(false);
        }
        row.emit_field(column, sink).map(|()| true)
    }

    /// The length of a field that can be told without decoding it.
    pub fn length(&self, py: Python<'_>, name: &str, decoders: &Decoders) -> PyResult<Option<u64>> {
        if decoders.has(py, name)? {
            return Ok(None);
        }
        let (row, column) = self.column(py, name)?;
        length(row, column).map_err(|error| to_py(&row.here(error, column)))
    }

    /// A short text for a field that is not decoded.
    pub fn summary(&self, py: Python<'_>, name: &str) -> PyResult<Option<String>> {
        let (row, column) = self.column(py, name)?;
        let known = &row.columns().all[column];
        Ok(match &known.encoding {
            Some(Encoding::Bytes) => Some(format!("<bytes, {} bytes>", row.len_of(column))),
            Some(
                Encoding::NdArray(..)
                | Encoding::Image(_)
                | Encoding::List(_)
                | Encoding::JpegArray
                | Encoding::Pickle,
            )
            | None => Some(format!("<{}, {} bytes>", known.encoding_name, row.len_of(column))),
            _ => None,
        })
    }
}

/// Bytes of a binary value, elements of a list, rows of an array; `None` for what must be decoded first.
pub fn length(row: &Row, column: usize) -> Result<Option<u64>> {
    let known = &row.columns().all[column];
    let Some(encoding) = &known.encoding else { return Ok(None) };
    Ok(match encoding {
        Encoding::Bytes | Encoding::Image(Image::Jpeg | Image::Png) => Some(row.len_of(column)),
        Encoding::NdArray(dtype, shape) => {
            let head = ndarray::parse(*dtype, shape.as_deref(), &row.slice(column)?)?;
            head.shape.first().copied()
        }
        Encoding::JpegArray => Some(jinx_core::num::to_u64(elements(true, &row.slice(column)?)?.len())),
        Encoding::List(_) => Some(jinx_core::num::to_u64(elements(false, &row.slice(column)?)?.len())),
        _ => None,
    })
}
