//! Many samples in one call: media are read and decompressed by other threads while this one builds the rest.

use crate::dataset::reader::Reader;
use crate::dataset::state::DatasetState;
use crate::ffi::uninit_bytes::keep_freed_memory;
use crate::prefetch::pending::{Pending, Prepared, Threads, helpers};
use crate::sample::lazy_dict::LazyDict;
use pyo3::prelude::*;
use std::sync::Arc;

/// Bytes of media for which one more thread pays.
pub const MIN_BYTES_PER_THREAD: usize = 256 << 10;
/// Threads need as long to wake up as this one to read about 50 rows, so they are sent the media of the first rows first.
const FIRST_ROWS: usize = 16;

/// The samples at `positions`, with `fields` (or all) decoded.
///
/// # Errors
/// Those of the first damaged sample in the caller's order.
pub fn samples<'py>(
    py: Python<'py>,
    reader: &Reader,
    positions: &[u64],
    fields: Option<&[String]>,
) -> PyResult<Vec<Bound<'py, LazyDict>>> {
    let dataset = &reader.dataset;
    if dataset.mds.is_some() {
        return crate::mds::take::samples(py, reader, positions, fields);
    }
    let (mut pending, mut bytes, mut sent) = (Vec::new(), 0, 0);
    let mut threads = None;
    let prepared = prepare(py, dataset, positions, fields, |more| {
        pending.extend_from_slice(more);
        bytes += more.iter().map(|pending| pending.bytes()).sum::<usize>();
        if helpers() > 0 && bytes >= MIN_BYTES_PER_THREAD {
            let threads = threads.get_or_insert_with(Threads::shared);
            pending[sent..].iter().for_each(|pending| threads.send(pending));
            sent = pending.len();
        }
    })?;
    let samples = open(py, reader, positions, prepared)?;
    for sample in &samples {
        sample.get().touch(py, fields, false)?;
    }
    // The threads began with the first ones.
    py.detach(|| pending.iter().rev().for_each(|pending| pending.read()));
    for sample in &samples {
        sample.get().touch(py, fields, true)?;
    }
    Ok(samples)
}

/// The rows of samples, and the objects of the media among `fields` (or all), to be filled by whoever `send` gives
/// them to.
///
/// # Errors
/// `MemoryError`.
pub fn prepare(
    py: Python<'_>,
    dataset: &DatasetState,
    positions: &[u64],
    fields: Option<&[String]>,
    mut send: impl FnMut(&[Arc<Pending>]),
) -> PyResult<Vec<Prepared>> {
    let mut prepared: Vec<Prepared> = Vec::new();
    prepared.resize_with(positions.len(), Prepared::default);
    if dataset.mds.is_some() {
        return Ok(prepared);
    }
    keep_freed_memory(py);
    // In file order, so that a cold disk is read forwards.
    let mut order: Vec<usize> = (0..positions.len()).collect();
    order.sort_unstable_by_key(|i| positions[*i]);
    let wanted = |name: &str| fields.is_none_or(|fields| fields.iter().any(|field| field == name));
    // Each part gives up the GIL once.
    let (first, rest) = order.split_at(order.len().min(FIRST_ROWS));
    for part in [first, rest].into_iter().filter(|part| !part.is_empty()) {
        py.detach(|| part.iter().for_each(|i| prepared[*i] = Prepared::read(dataset, positions[*i], wanted)));
        for i in part {
            prepared[*i].expect(py)?;
            send(&prepared[*i].pending);
        }
    }
    Ok(prepared)
}

/// The samples of what was prepared for `positions`.
///
/// # Errors
/// `MemoryError`.
pub fn open<'py>(
    py: Python<'py>,
    reader: &Reader,
    positions: &[u64],
    prepared: Vec<Prepared>,
) -> PyResult<Vec<Bound<'py, LazyDict>>> {
    if reader.dataset.mds.is_some() {
        let sample = |position: &u64| Bound::new(py, crate::mds::row::sample(py, reader, *position)?);
        return positions.iter().map(sample).collect();
    }
    let sample = |(position, prepared): (&u64, Prepared)| {
        let (dataset, decoders) = (Arc::clone(&reader.dataset), reader.decoders.clone_ref(py));
        Bound::new(py, LazyDict::prepared(dataset, decoders, *position, prepared))
    };
    positions.iter().zip(prepared).map(sample).collect()
}
