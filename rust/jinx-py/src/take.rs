//! Many samples in one call: media are read and decompressed by other threads while this one builds the rest.

use crate::home::Home;
use crate::pending::{Pending, Prepared, Threads, helpers};
use crate::sample::LazyDict;
use crate::unfilled::keep_freed_memory;
use pyo3::prelude::*;
use std::sync::Arc;

/// Bytes of media for which one more thread pays.
pub const MIN_BYTES_PER_THREAD: usize = 256 << 10;

/// The samples at `positions`, with `fields` (or all) decoded.
///
/// # Errors
/// Those of the first damaged sample in the caller's order.
pub fn samples<'py>(
    py: Python<'py>,
    home: &Arc<Home>,
    positions: &[u64],
    fields: Option<&[String]>,
) -> PyResult<Vec<Bound<'py, LazyDict>>> {
    if home.mds.is_some() {
        return crate::mds::take::samples(py, home, positions, fields);
    }
    let prepared = prepare(py, home, positions, fields)?;
    let pending: Vec<Arc<Pending>> =
        prepared.iter().flat_map(|prepared| &prepared.pending).cloned().collect();
    let bytes: usize = pending.iter().map(|pending| pending.bytes()).sum();
    let threads = helpers().min(bytes / MIN_BYTES_PER_THREAD);
    if threads > 0 {
        let threads = Threads::start(threads);
        pending.iter().for_each(|pending| threads.send(pending));
    }
    let samples = open(py, home, positions, prepared)?;
    for sample in &samples {
        sample.get().touch(py, fields, false)?;
    }
    // The threads began at the start.
    py.detach(|| pending.iter().rev().for_each(|pending| pending.read()));
    for sample in &samples {
        sample.get().touch(py, fields, true)?;
    }
    Ok(samples)
}

/// The rows of samples, and the objects of the media among `fields` (or all), to be filled.
///
/// # Errors
/// `MemoryError`.
pub fn prepare(
    py: Python<'_>,
    home: &Home,
    positions: &[u64],
    fields: Option<&[String]>,
) -> PyResult<Vec<Prepared>> {
    if home.mds.is_some() {
        return Ok(positions.iter().map(|_| Prepared::default()).collect());
    }
    keep_freed_memory(py);
    let mut prepared = py.detach(|| read_rows(home, positions));
    for (prepared, position) in prepared.iter_mut().zip(positions) {
        prepared.expect(py, home, *position, |name| {
            fields.is_none_or(|fields| fields.iter().any(|field| field == name))
        })?;
    }
    Ok(prepared)
}

/// The samples of what was prepared for `positions`.
///
/// # Errors
/// `MemoryError`.
pub fn open<'py>(
    py: Python<'py>,
    home: &Arc<Home>,
    positions: &[u64],
    prepared: Vec<Prepared>,
) -> PyResult<Vec<Bound<'py, LazyDict>>> {
    if home.mds.is_some() {
        let sample = |position: &u64| Bound::new(py, crate::mds::row::sample(py, home, *position)?);
        return positions.iter().map(sample).collect();
    }
    let sample = |(position, prepared): (&u64, Prepared)| {
        Bound::new(py, LazyDict::prepared(Arc::clone(home), *position, prepared))
    };
    positions.iter().zip(prepared).map(sample).collect()
}

/// The rows in file order, so that a cold disk is read forwards.
fn read_rows(home: &Home, positions: &[u64]) -> Vec<Prepared> {
    let mut order: Vec<usize> = (0..positions.len()).collect();
    order.sort_unstable_by_key(|i| positions[*i]);
    let mut rows: Vec<Prepared> = Vec::new();
    rows.resize_with(positions.len(), Prepared::default);
    for i in order {
        rows[i] = Prepared::read(home, positions[i]);
    }
    rows
}
