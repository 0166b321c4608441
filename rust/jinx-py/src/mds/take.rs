//! Many samples of an MDS folder in one call: other threads read and decompress while this one builds the rest.
//!
//! A sample that is compressed as one piece is found by any thread and built by this one, in the caller's order. Of raw
//! samples, whose fields are found at once, the long values are read by any thread into objects made before.

use super::row::{MdsRow, of_row};
use super::value::{DETACH_BYTES, container};
use crate::dataset::decoders::Decoders;
use crate::dataset::reader::Reader;
use crate::dataset::state::DatasetState;
use crate::dataset::take::MIN_BYTES_PER_THREAD;
use crate::ffi::uninit_bytes::{UninitBytes, keep_freed_memory};
use crate::prefetch::pending::helpers;
use crate::sample::lazy_dict::LazyDict;
use crate::sample::pickle::PickledRow;
use jinx_core::num::to_u64;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Once};
use std::thread;

/// Samples that are read before any of them is decoded.
const CHUNK: usize = 64;
/// Bytes of them, decompressed, unless one sample has more: between two chunks the threads wait for each other.
const CHUNK_BYTES: u64 = 16 << 20;

/// A long value on its way into its final object.
struct MediaValue<'r> {
    /// Number in the chunk.
    sample: usize,
    column: usize,
    name: &'r str,
    object: UninitBytes,
}

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
    keep_freed_memory(py);
    let (dataset, decoders) = (&reader.dataset, &reader.decoders);
    let wanted = |name: &str| {
        dataset.is_projected(name) && fields.is_none_or(|fields| fields.iter().any(|field| field == name))
    };
    let mut samples = Vec::with_capacity(positions.len());
    let mut rest = positions;
    while !rest.is_empty() {
        let chunk = py.detach(|| TakeChunk::of(dataset, rest));
        let rows: Vec<_> = rest[..chunk.count]
            .iter()
            .map(|position| Arc::new(MdsRow::new(Arc::clone(dataset), *position)))
            .collect();
        rest = &rest[chunk.count..];
        if chunk.is_packed {
            samples.extend(take_packed(py, &rows, decoders, &wanted, fields.is_none(), chunk.threads)?);
        } else {
            py.detach(|| find_in_file_order(&rows));
            samples.extend(take_raw(py, &rows, decoders, &wanted, chunk.threads)?);
        }
    }
    Ok(samples)
}

/// A sample of which all is decoded without the bytes that it was decompressed to, which are as many again.
fn alone<'py>(py: Python<'py>, sample: Bound<'py, LazyDict>, row: &MdsRow) -> PyResult<Bound<'py, LazyDict>> {
    if row.found().is_none_or(|row| row.whole().is_none()) {
        return Ok(sample);
    }
    let values = sample.get().edit(py)?.clone().unbind();
    Bound::new(py, LazyDict::of_dict(values, PickledRow::default(), Decoders::default()))
}

/// Samples that are read together.
struct TakeChunk {
    count: usize,
    /// Whether any of them is compressed as one piece.
    is_packed: bool,
    /// For how many threads beside this one they are work.
    threads: usize,
}

impl TakeChunk {
    /// The first of the samples at `positions`, at least one.
    fn of(dataset: &DatasetState, positions: &[u64]) -> Self {
        let (mut bytes, mut count, mut is_packed) = (0u64, 0, false);
        for position in positions.iter().take(CHUNK) {
            let shard = dataset.mds.as_ref().and_then(|mds| {
                let (shard, i) = mds.folder.place(*position);
                mds.folder.shard(shard).ok().map(|shard| (shard, i))
            });
            let length = shard.as_ref().and_then(|(shard, i)| shard.announced_len(*i).ok().flatten());
            let sum = bytes.saturating_add(length.unwrap_or_default());
            if count > 0 && sum > CHUNK_BYTES {
                break;
            }
            is_packed |= shard.is_some_and(|(shard, _)| shard.is_sample_compressed());
            bytes = sum;
            count += 1;
        }
        let threads = usize::try_from(bytes / to_u64(MIN_BYTES_PER_THREAD)).unwrap_or(usize::MAX);
        Self { count, is_packed, threads: helpers().min(threads).min(count - 1) }
    }
}

/// Does `here` while `threads` threads do `there`; fewer where they cannot be had.
fn with_threads<R>(threads: usize, there: impl Fn() + Sync, here: impl FnOnce() -> R) -> R {
    thread::scope(|scope| {
        for _ in 0..threads {
            let _ = thread::Builder::new().name("jinx-read".into()).spawn_scoped(scope, &there);
        }
        here()
    })
}

/// Decodes the `wanted` fields of a sample.
fn look_up(py: Python<'_>, sample: &Bound<'_, LazyDict>, wanted: &dyn Fn(&str) -> bool) -> PyResult<()> {
    for name in sample.get().names(py)?.iter() {
        let name = name.cast_into::<PyString>()?;
        if wanted(name.to_str()?) {
            sample.get().lookup(py, &name)?;
        }
    }
    Ok(())
}

/// Finds the fields of raw samples, so that a cold disk is read forwards; not worth a thread.
fn find_in_file_order(rows: &[Arc<MdsRow>]) {
    let mut order: Vec<&MdsRow> = rows.iter().map(|row| &**row).collect();
    order.sort_unstable_by_key(|row| row.position());
    for row in order {
        let _ = row.find();
    }
}

/// Rows that any thread finds before they are asked for, one after the other.
struct TakePrefetch<'r> {
    rows: &'r [Arc<MdsRow>],
    next: AtomicUsize,
    tried: Vec<Once>,
}

impl<'r> TakePrefetch<'r> {
    fn new(rows: &'r [Arc<MdsRow>]) -> Self {
        Self { rows, next: AtomicUsize::new(0), tried: rows.iter().map(|_| Once::new()).collect() }
    }

    fn find(&self, i: usize) {
        // Where a row is not found, or a thread panicked, its first look-up tries again and tells.
        self.tried[i].call_once_force(|_| _ = self.rows[i].find());
    }

    /// Finds the first row that nobody has begun to look for, if there is one.
    fn find_next(&self) -> bool {
        let i = self.next.fetch_add(1, Ordering::Relaxed);
        let is_there = i < self.rows.len();
        if is_there {
            self.find(i);
        }
        is_there
    }

    /// Waits until row `i` was looked for; who waits looks for what is next.
    fn wait(&self, i: usize) {
        while !self.tried[i].is_completed() && self.find_next() {}
        self.find(i);
    }
}

fn take_packed<'py>(
    py: Python<'py>,
    rows: &[Arc<MdsRow>],
    decoders: &Decoders,
    wanted: &dyn Fn(&str) -> bool,
    all: bool,
    threads: usize,
) -> PyResult<Vec<Bound<'py, LazyDict>>> {
    let ahead = TakePrefetch::new(rows);
    with_threads(
        threads,
        || while ahead.find_next() {},
        || {
            let taken = rows.iter().enumerate().map(|(i, row)| {
                py.detach(|| ahead.wait(i));
                let sample = Bound::new(py, of_row(py, Arc::clone(row), decoders)?)?;
                look_up(py, &sample, wanted)?;
                if all { alone(py, sample, row) } else { Ok(sample) }
            });
            taken.collect()
        },
    )
}

fn take_raw<'py>(
    py: Python<'py>,
    rows: &[Arc<MdsRow>],
    decoders: &Decoders,
    wanted: &dyn Fn(&str) -> bool,
    threads: usize,
) -> PyResult<Vec<Bound<'py, LazyDict>>> {
    let media = media(py, rows, wanted)?;
    let next = AtomicUsize::new(0);
    let read = || {
        while let Some(MediaValue { sample, column, object, .. }) =
            media.get(next.fetch_add(1, Ordering::Relaxed))
        {
            // A value that fails is read again, and reported, by its look-up.
            if let Some(row) = rows[*sample].found() {
                let _ = object.fill(|out| row.read_into(*column, out));
            }
        }
    };
    let samples = with_threads(threads, read, || -> PyResult<Vec<_>> {
        let mut samples = Vec::with_capacity(rows.len());
        for (i, row) in rows.iter().enumerate() {
            let sample = Bound::new(py, of_row(py, Arc::clone(row), decoders)?)?;
            look_up(py, &sample, &|name| {
                wanted(name) && !media.iter().any(|media| media.sample == i && media.name == name)
            })?;
            samples.push(sample);
        }
        py.detach(read);
        Ok(samples)
    })?;
    for MediaValue { sample, name, object, .. } in &media {
        let (row, sample) = (&rows[*sample], samples[*sample].get());
        let key = PyString::intern(py, name);
        match object.object(py) {
            Some(object) => {
                sample.remember(py, &key, row.value(py, name, decoders, Some(object))?).map(drop)?
            }
            None => sample.lookup(py, &key).map(drop)?,
        }
    }
    Ok(samples)
}

/// The long values among the wanted ones whose bytes go into an object as they are.
fn media<'r>(
    py: Python<'_>,
    rows: &'r [Arc<MdsRow>],
    wanted: &dyn Fn(&str) -> bool,
) -> PyResult<Vec<MediaValue<'r>>> {
    let mut media = Vec::new();
    for (sample, row) in rows.iter().enumerate() {
        let Some(found) = row.found() else { continue };
        for (column, known) in found.columns().all.iter().enumerate() {
            let container = known.encoding.as_ref().and_then(container);
            let length = found.len_of(column);
            if let (Some(container), DETACH_BYTES..) = (container, length)
                && wanted(&known.name)
            {
                let object = UninitBytes::new(py, container, usize::try_from(length)?)?;
                media.push(MediaValue { sample, column, name: &known.name, object });
            }
        }
    }
    Ok(media)
}
