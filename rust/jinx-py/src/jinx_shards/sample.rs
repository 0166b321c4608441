//! A sample of JINX shards: its row, read on first access, and its prefetched values.

use crate::errors::{IntoPy, from_py, to_py};
use crate::jinx_shards::prefetch::{self, JinxValue};
use crate::jinx_shards::row::{Found, Row};
use crate::jinx_shards::summary;
use crate::jinx_shards::value::{decode_value, is_plain, locate_error};
use crate::objects::{image, values};
use crate::prefetch::value::PendingValue;
use crate::prefetch::work::Work;
use crate::sample::decoders::Decoders;
use crate::sample::stored_columns::StoredColumns;
use jinx_core::row_events::Sink;
use jinx_core::{Cause, Result};
use jinx_dataset::shards::ShardRows;
use jinx_dataset::shards::Shards;
use jinx_format::read::measure::value_length;
use jinx_format::read::shard::Shard;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};
use std::sync::{Arc, OnceLock};

pub struct JinxSample {
    dataset: Arc<ShardRows>,
    position: u64,
    row: OnceLock<Row>,
    /// Set only for samples that will be used soon.
    prefetch: Option<Box<Prefetch>>,
}

#[derive(Default)]
struct Prefetch {
    planned: Vec<JinxValue>,
    pending: Vec<Arc<PendingValue<JinxValue>>>,
}

/// A row in its shard, while the shards are open.
struct ShardRow<'s> {
    shard: &'s Shard,
    /// Index in the shard.
    i: u64,
    row: &'s Row,
}

impl ShardRow<'_> {
    fn find(&self, name: &str) -> Result<Option<Found<'_>>> {
        self.row.find(self.shard, name).map_err(|error| self.shard.here(error, self.i))
    }
}

impl JinxSample {
    pub fn new(dataset: Arc<ShardRows>, position: u64) -> Self {
        Self { dataset, position, row: OnceLock::new(), prefetch: None }
    }

    fn place<'s>(&'s self, py: Python<'_>, shards: &'s Shards) -> Result<ShardRow<'s>> {
        // Opening a shard may wait for its files: release the GIL unless the shard is already open.
        let is_open = shards.is_open(self.position);
        let locate = || shards.locate(self.position);
        let (shard, i) = if is_open { locate() } else { py.detach(locate) }?;
        if let Some(row) = self.row.get() {
            return Ok(ShardRow { shard, i, row });
        }
        // Reading a mapped line copies about a kilobyte. Release the GIL for any read that may wait.
        let line = if shard.main().is_mapped() { shard.line(i) } else { py.detach(|| shard.line(i)) }?;
        let row = self.row.get_or_init(|| Row::new(line));
        Ok(ShardRow { shard, i, row })
    }

    fn pending(&self, value: &Found<'_>) -> Option<&PendingValue<JinxValue>> {
        let mut pending = self.prefetch.as_ref()?.pending.iter();
        pending.find(|pending| pending.source.is_of(value)).map(|pending| &**pending)
    }

    fn decode<'py>(
        &self,
        py: Python<'py>,
        place: &ShardRow<'_>,
        name: &str,
        found: Found<'_>,
        decoders: &Decoders,
        unique: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let projection = &self.dataset.projection;
        if let (Some(touched), Some(chain)) = (&projection.touched, found.chain)
            && chain.bin
        {
            touched.note(name);
        }
        let (shard, i) = (place.shard, place.i);
        let locate = |error| locate_error(py, error, shard, i, name);
        let pending = self.pending(&found);
        let read = pending.and_then(|pending| Some((pending.source.payload, pending.object(py)?)));
        let value = match read {
            Some((payload, object)) => values::filled(py, payload, object),
            None => decode_value(py, (shard, i), name, found, unique),
        };
        let value = value.map_err(locate)?;
        let Some(decoder) = decoders.get(py, name)? else { return Ok(value) };
        if projection.gives_pixels(name)
            && let Ok(bytes) = value.cast::<PyBytes>()
        {
            let (bytes, limit) = (bytes.as_bytes(), shard.limits().max_value_bytes);
            let pixels = match pending {
                Some(pending) => pending.take_pixels(),
                None => py.detach(|| image::decode(bytes, limit)),
            };
            if let Some(pixels) = pixels {
                return values::pixels(py, &pixels);
            }
        }
        decoder.call1((value,)).map_err(locate)
    }
}

impl StoredColumns for JinxSample {
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let shards = self.dataset.shards.get().into_py_result()?;
        let place = self.place(py, &shards).into_py_result()?;
        let columns = place.row.columns(place.shard);
        let columns = columns.map_err(|error| to_py(&place.shard.here(error, place.i)))?;
        let names = columns.iter().map(|column| place.row.name(column));
        let names = names.filter(|name| self.dataset.projection.has(name));
        PyList::new(py, names.map(|name| PyString::intern(py, name)).collect::<Vec<_>>())
    }

    fn contains(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        let shards = self.dataset.shards.get().into_py_result()?;
        let place = self.place(py, &shards).into_py_result()?;
        Ok(place.find(name).into_py_result()?.is_some() && self.dataset.projection.has(name))
    }

    fn value<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        decoders: &Decoders,
        unique: bool,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let shards = self.dataset.shards.get().into_py_result()?;
        let place = self.place(py, &shards).into_py_result()?;
        if !self.dataset.projection.has(name) {
            return Ok(None);
        }
        let Some(found) = place.find(name).into_py_result()? else { return Ok(None) };
        self.decode(py, &place, name, found, decoders, unique).map(Some)
    }

    fn values<'py>(
        &self,
        py: Python<'py>,
        wanted: &dyn Fn(&str) -> bool,
        pending: bool,
        decoders: &Decoders,
        keep: &mut dyn FnMut(Bound<'py, PyString>, Bound<'py, PyAny>) -> PyResult<()>,
    ) -> PyResult<()> {
        let shards = self.dataset.shards.get().into_py_result()?;
        let place = self.place(py, &shards).into_py_result()?;
        let columns = place.row.columns(place.shard);
        for column in columns.map_err(|error| to_py(&place.shard.here(error, place.i)))? {
            let (name, found) = (place.row.name(column), place.row.found(column));
            if wanted(name) && self.dataset.projection.has(name) && pending == self.pending(&found).is_some()
            {
                let value = self.decode(py, &place, name, found, decoders, false)?;
                keep(PyString::intern(py, name), value)?;
            }
        }
        Ok(())
    }

    fn emit(
        &self,
        py: Python<'_>,
        name: &str,
        decoders: &Decoders,
        depth: usize,
        mut sink: &mut dyn Sink,
    ) -> Result<bool> {
        if decoders.has(py, name).map_err(|error| from_py(py, error))? {
            return Ok(false);
        }
        let shards = self.dataset.shards.get()?;
        let place = self.place(py, &shards)?;
        let Some(value) = place.find(name)? else { return Ok(false) };
        let shard = place.shard;
        let node = shard.tree().member(name);
        let emitted = shard.emit_value(value.chain, value.text, node, depth, &mut sink);
        emitted.map(|()| true).map_err(|error| shard.here(error, place.i))
    }

    fn emit_all(&self, py: Python<'_>, mut sink: &mut dyn Sink) -> Result<bool> {
        let shards = self.dataset.shards.get()?;
        let place = self.place(py, &shards)?;
        let wanted = |name: &str| self.dataset.projection.has(name);
        let emitted = place.shard.emit_line(&place.row.line, &wanted, &mut sink);
        emitted.map(|()| true).map_err(|error| place.shard.here(error, place.i))
    }

    fn length(&self, py: Python<'_>, name: &str, _decoders: &Decoders) -> PyResult<Option<u64>> {
        let shards = self.dataset.shards.get().into_py_result()?;
        let place = self.place(py, &shards).into_py_result()?;
        let shard = place.shard;
        let value = place.find(name).into_py_result()?.filter(|_| self.dataset.projection.has(name));
        let Some(value) = value else { return Ok(None) };
        let node = shard.tree().member(name);
        let is_media = node.is_some_and(|node| node.media);
        // The scan of the row would count a name that occurs twice in a dict twice, so this is only for lists.
        if value.chain.is_none() && !is_media && value.text.first() == Some(&b'[') {
            return Ok(Some(u64::from(value.elements)));
        }
        match value_length(shard, value.chain, value.text, node) {
            // Only torch can read the shape of a tensor.
            Err(error) if error.cause() == Cause::Unsupported => Ok(None),
            Err(error) if error.cause() == Cause::Mismatch => {
                Err(PyTypeError::new_err(shard.here(error.in_column(name), place.i).to_string()))
            }
            length => length.map(Some).map_err(|error| to_py(&shard.here(error.in_column(name), place.i))),
        }
    }

    fn summary(&self, py: Python<'_>, name: &str) -> PyResult<Option<String>> {
        let shards = self.dataset.shards.get().into_py_result()?;
        let place = self.place(py, &shards).into_py_result()?;
        let value = place.find(name).into_py_result()?;
        Ok(value.map(|value| summary::of_column(py, place.shard, name, value)))
    }

    fn json(&self, py: Python<'_>, name: &str) -> PyResult<Option<Vec<u8>>> {
        let shards = self.dataset.shards.get().into_py_result()?;
        let place = self.place(py, &shards).into_py_result()?;
        let value = place.find(name).into_py_result()?;
        let is_json = |value: &Found<'_>| value.chain.is_none() && is_plain(place.shard, name, value.text);
        Ok(value.filter(is_json).map(|value| value.text.to_vec()))
    }

    fn line(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        let shards = self.dataset.shards.get().into_py_result()?;
        Ok(self.place(py, &shards).into_py_result()?.row.line.clone())
    }

    fn duplicate(&self) -> Box<dyn StoredColumns> {
        Box::new(self.copy())
    }

    fn plan(&mut self, wanted: &dyn Fn(&str) -> bool) {
        let Ok((row, planned)) = prefetch::plan(&self.dataset, self.position, wanted) else { return };
        self.row = OnceLock::from(row);
        self.prefetch = Some(Box::new(Prefetch { planned, pending: Vec::new() }));
    }

    fn start(&mut self, py: Python<'_>, send: &mut dyn FnMut(Arc<dyn Work>)) -> PyResult<()> {
        let Some(prefetch) = &mut self.prefetch else { return Ok(()) };
        prefetch.pending.reserve_exact(prefetch.planned.len());
        for planned in prefetch.planned.drain(..) {
            let value = Arc::new(PendingValue::new(py, planned)?);
            prefetch.pending.push(Arc::clone(&value));
            send(value);
        }
        Ok(())
    }
}

impl JinxSample {
    /// Returns a copy of the sample. The copy reads the row again.
    pub fn copy(&self) -> Self {
        let prefetch = self
            .prefetch
            .as_ref()
            .map(|own| Box::new(Prefetch { planned: Vec::new(), pending: own.pending.clone() }));
        Self { dataset: Arc::clone(&self.dataset), position: self.position, row: OnceLock::new(), prefetch }
    }
}
