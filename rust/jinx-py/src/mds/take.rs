//! Many samples of an MDS folder in one call: read and decompressed by several threads.

use super::row::with_row;
use crate::home::Home;
use crate::sample::LazyDict;
use jinx_core::mds::shard::Row;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Samples that are read before any of them is decoded.
const CHUNK: usize = 64;
/// Threads that read; a trainer's own workers want cores too.
const MAX_THREADS: usize = 4;

/// The samples at `positions`, with `fields` (or all) decoded.
pub fn samples<'py>(
    py: Python<'py>,
    home: &Arc<Home>,
    positions: &[u64],
    fields: Option<&[String]>,
) -> PyResult<Vec<Bound<'py, LazyDict>>> {
    let mut samples = Vec::with_capacity(positions.len());
    for chunk in positions.chunks(CHUNK) {
        let rows = py.detach(|| read_rows(home, chunk));
        for (position, row) in chunk.iter().zip(rows) {
            let sample = Bound::new(py, with_row(py, home, *position, row)?)?;
            sample.get().touch(py, fields, false)?;
            samples.push(sample);
        }
    }
    Ok(samples)
}

/// Finds the fields of samples, in file order. What fails is read again, and reported, when it is touched.
fn read_rows(home: &Home, positions: &[u64]) -> Vec<OnceLock<Row>> {
    let mut rows: Vec<OnceLock<Row>> = Vec::new();
    rows.resize_with(positions.len(), OnceLock::new);
    let Some(mds) = home.mds.as_deref() else { return rows };
    let mut order: Vec<usize> = (0..positions.len()).collect();
    order.sort_unstable_by_key(|i| positions[*i]);
    let next = AtomicUsize::new(0);
    let read = || {
        while let Some(i) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Ok(row) = mds.folder.row(positions[*i]) {
                let _ = rows[*i].set(row);
            }
        }
    };
    let first = positions.first().map(|position| mds.folder.place(*position).0);
    // Finding the fields of a raw sample is not worth a thread.
    let is_heavy = first
        .and_then(|shard| mds.folder.shard(shard).ok())
        .is_some_and(|shard| shard.is_sample_compressed());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let helpers = if is_heavy { cores.min(MAX_THREADS).min(positions.len()) - 1 } else { 0 };
    std::thread::scope(|scope| {
        for _ in 0..helpers {
            // Where no thread can be had, this one does all.
            let _ = std::thread::Builder::new().spawn_scoped(scope, read);
        }
        read();
    });
    rows
}
