//! A sample of an MDS directory: its columns, located on first access, and its prefetched values.

use crate::errors::{IntoPy, from_py, to_py};
use crate::mds::prefetch::{MdsValue, PendingRow, long_values};
use crate::mds::shard_row::ShardRow;
use crate::mds::value;
use crate::prefetch::value::PendingValue;
use crate::prefetch::work::Work;
use crate::sample::decoders::Decoders;
use crate::sample::stored_columns::StoredColumns;
use jinx_core::Result;
use jinx_core::row_events::Sink;
use jinx_dataset::mds::{DecodeOptions, MdsRows};
use jinx_mds::columns::Columns;
use jinx_mds::encodings::names::Encoding;
use jinx_mds::read::shard::Row;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use std::sync::{Arc, OnceLock};

pub struct MdsSample {
    dataset: Arc<MdsRows>,
    position: u64,
    row: OnceLock<ShardRow>,
    prefetch: Prefetch,
}

/// The parts of a sample that are prefetched.
enum Prefetch {
    Nothing,
    /// The whole sample, which is compressed as one piece.
    Row(Arc<PendingRow>),
    Planned(Vec<MdsValue>),
    Values(Vec<Arc<PendingValue<MdsValue>>>),
}

impl MdsSample {
    pub fn new(dataset: Arc<MdsRows>, position: u64) -> Self {
        Self { dataset, position, row: OnceLock::new(), prefetch: Prefetch::Nothing }
    }

    /// Creates a sample whose columns are already located.
    pub fn with_row(dataset: Arc<MdsRows>, position: u64, row: &Row) -> Self {
        Self { dataset, position, row: OnceLock::from(ShardRow::of(row)), prefetch: Prefetch::Nothing }
    }

    /// The columns that the index lists for the sample.
    fn columns(&self) -> PyResult<Arc<Columns>> {
        let directory = self.dataset.directory.get().into_py_result()?;
        let (shard, _) = directory.place(self.position);
        Ok(directory.info(shard).map(|info| Arc::clone(&info.columns)).unwrap_or_default())
    }

    /// Returns the row, and locates it on the first call. Keep the row while you read it.
    fn row(&self, py: Python<'_>) -> PyResult<Row> {
        let directory = self.dataset.directory.get().into_py_result()?;
        if let Some(row) = self.row.get().and_then(ShardRow::row) {
            return Ok(row);
        }
        if let Prefetch::Row(pending) = &self.prefetch
            && let Some(located) =
                if pending.is_done() { pending.wait() } else { py.detach(|| pending.wait()) }
            && let Some(row) = located.row()
        {
            let _ = self.row.set(located);
            return Ok(row);
        }
        let (shard, i) = directory.place(self.position);
        let shard = match directory.opened(shard) {
            Some(open) => open,
            None => py.detach(|| directory.shard(shard)).into_py_result()?,
        };
        // Reading the head of a mapped row takes a few words. Release the GIL for anything that may take longer.
        let quick = !shard.is_sample_compressed() && shard.source().is_none_or(|source| source.is_mapped());
        let row = if quick { shard.row(i) } else { py.detach(|| shard.row(i)) }.into_py_result()?;
        let _ = self.row.set(ShardRow::of(&row));
        Ok(row)
    }

    /// Returns the row and the index of a column in it; `None` if there is no such column.
    fn column(&self, py: Python<'_>, name: &str) -> PyResult<Option<(Row, usize)>> {
        if !self.contains(py, name)? {
            return Ok(None);
        }
        let row = self.row(py)?;
        let column = row.columns().position(name);
        Ok(column.map(|column| (row, column)))
    }

    fn pending(&self, column: usize) -> Option<&PendingValue<MdsValue>> {
        let Prefetch::Values(values) = &self.prefetch else { return None };
        values.iter().find(|value| value.source.column == column).map(|value| &**value)
    }

    fn decode<'py>(
        &self,
        py: Python<'py>,
        row: &Row,
        column: usize,
        decoders: &Decoders,
    ) -> PyResult<Bound<'py, PyAny>> {
        let stored = &row.columns().all[column];
        let read = self.pending(column).and_then(|pending| pending.object(py));
        let options = &self.dataset.decode_options;
        match decoders.get(py, &stored.name)? {
            None => value::column(py, row, column, options, read),
            Some(decoder) => {
                let options = DecodeOptions { image_bytes: true, ..(**options).clone() };
                decoder.call1((value::column(py, row, column, &options, read)?,))
            }
        }
    }
}

impl StoredColumns for MdsSample {
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let columns = self.columns()?;
        let names = columns.all.iter().map(|column| &column.name);
        let names = names.filter(|name| self.dataset.projection.has(name));
        PyList::new(py, names.map(|name| PyString::intern(py, name)).collect::<Vec<_>>())
    }

    fn contains(&self, _py: Python<'_>, name: &str) -> PyResult<bool> {
        Ok(self.columns()?.position(name).is_some() && self.dataset.projection.has(name))
    }

    fn value<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        decoders: &Decoders,
        _unique: bool,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some((row, column)) = self.column(py, name)? else { return Ok(None) };
        self.decode(py, &row, column, decoders).map(Some)
    }

    fn values<'py>(
        &self,
        py: Python<'py>,
        wanted: &dyn Fn(&str) -> bool,
        pending: bool,
        decoders: &Decoders,
        keep: &mut dyn FnMut(Bound<'py, PyString>, Bound<'py, PyAny>) -> PyResult<()>,
    ) -> PyResult<()> {
        // If the sample is decompressed as a whole, all columns are pending.
        let all_pending = matches!(self.prefetch, Prefetch::Row(_));
        if all_pending && !pending {
            return Ok(());
        }
        for (column, known) in self.columns()?.all.iter().enumerate() {
            if self.dataset.projection.has(&known.name)
                && wanted(&known.name)
                && pending == (all_pending || self.pending(column).is_some())
            {
                let value = self.decode(py, &self.row(py)?, column, decoders)?;
                keep(PyString::intern(py, &known.name), value)?;
            }
        }
        Ok(())
    }

    fn emit(
        &self,
        py: Python<'_>,
        name: &str,
        decoders: &Decoders,
        _depth: usize,
        mut sink: &mut dyn Sink,
    ) -> Result<bool> {
        let fail = |error: PyErr| from_py(py, error);
        let Some((row, column)) = self.column(py, name).map_err(fail)? else { return Ok(false) };
        let is_pickle = row.columns().all[column].encoding == Some(Encoding::Pickle);
        if is_pickle || decoders.has(py, name).map_err(fail)? {
            return Ok(false);
        }
        row.emit_column(column, &mut sink).map(|()| true)
    }

    /// The caller may have changed an image in place. If it still equals the stored one, it is written as its original
    /// file.
    fn is_unchanged(
        &self,
        py: Python<'_>,
        name: &str,
        value: &Bound<'_, PyAny>,
        decoders: &Decoders,
    ) -> PyResult<bool> {
        let Some((row, column)) = self.column(py, name)? else { return Ok(false) };
        let is_image = matches!(
            row.columns().all[column].encoding,
            Some(Encoding::Image(_) | Encoding::List(_) | Encoding::JpegArray)
        );
        if !is_image || decoders.has(py, name)? {
            return Ok(false);
        }
        self.decode(py, &row, column, decoders)?.eq(value)
    }

    fn length(&self, py: Python<'_>, name: &str, decoders: &Decoders) -> PyResult<Option<u64>> {
        if decoders.has(py, name)? {
            return Ok(None);
        }
        let Some((row, column)) = self.column(py, name)? else { return Ok(None) };
        jinx_dataset::mds::length(&row, column).map_err(|error| to_py(&row.here(error, column)))
    }

    fn summary(&self, py: Python<'_>, name: &str) -> PyResult<Option<String>> {
        let Some((row, column)) = self.column(py, name)? else { return Ok(None) };
        let stored = &row.columns().all[column];
        Ok(match &stored.encoding {
            Some(Encoding::Bytes) => Some(format!("<bytes, {} bytes>", row.len_of(column))),
            Some(
                Encoding::NdArray(..)
                | Encoding::Image(_)
                | Encoding::List(_)
                | Encoding::JpegArray
                | Encoding::Pickle,
            )
            | None => Some(format!("<{}, {} bytes>", stored.encoding_name, row.len_of(column))),
            _ => None,
        })
    }

    /// True if this holds the decompressed bytes of a sample, which take as much memory as its values.
    fn keeps_copy(&self) -> bool {
        self.row.get().is_some_and(ShardRow::has_copy)
    }

    fn duplicate(&self) -> Box<dyn StoredColumns> {
        let prefetch = match &self.prefetch {
            Prefetch::Nothing | Prefetch::Planned(_) => Prefetch::Nothing,
            Prefetch::Row(pending) => Prefetch::Row(Arc::clone(pending)),
            Prefetch::Values(values) => Prefetch::Values(values.clone()),
        };
        let (dataset, row) = (Arc::clone(&self.dataset), self.row.clone());
        Box::new(Self { dataset, position: self.position, row, prefetch })
    }

    fn plan(&mut self, wanted: &dyn Fn(&str) -> bool) {
        let Ok(directory) = self.dataset.directory.get() else { return };
        let (shard, i) = directory.place(self.position);
        let Ok(shard) = directory.shard(shard) else { return };
        let wanted = |name: &str| self.dataset.projection.has(name) && wanted(name);
        if !shard.columns.all.iter().any(|column| wanted(&column.name)) {
            return;
        }
        if shard.is_sample_compressed() {
            let bytes = shard.announced_len(i).ok().flatten().unwrap_or_default();
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            self.prefetch =
                Prefetch::Row(Arc::new(PendingRow::new(Arc::clone(&self.dataset), self.position, bytes)));
        } else if let Ok(row) = shard.row(i) {
            self.prefetch = Prefetch::Planned(long_values(&row, wanted));
            self.row = OnceLock::from(ShardRow::of(&row));
        }
    }

    fn start(&mut self, py: Python<'_>, send: &mut dyn FnMut(Arc<dyn Work>)) -> PyResult<()> {
        match std::mem::replace(&mut self.prefetch, Prefetch::Nothing) {
            Prefetch::Planned(planned) => {
                let mut values = Vec::with_capacity(planned.len());
                for planned in planned {
                    let value = Arc::new(PendingValue::new(py, planned)?);
                    values.push(Arc::clone(&value));
                    send(value);
                }
                self.prefetch = Prefetch::Values(values);
            }
            Prefetch::Row(pending) => {
                send(Arc::clone(&pending) as Arc<dyn Work>);
                self.prefetch = Prefetch::Row(pending);
            }
            other => self.prefetch = other,
        }
        Ok(())
    }
}
