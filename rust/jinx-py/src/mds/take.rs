//! Many samples of an MDS folder in one call: other threads read and decompress while this one builds the rest.

use super::row::{MdsRow, of_row};
use super::value::{DETACH_BYTES, container};
use crate::home::Home;
use crate::pending::helpers;
use crate::sample::LazyDict;
use crate::take::MIN_BYTES_PER_THREAD;
use crate::transport::Carried;
use crate::unfilled::{Unfilled, keep_freed_memory};
use jinx_core::num::to_u64;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Samples that are read before any of them is decoded.
const CHUNK: usize = 64;
/// Bytes of them, decompressed, unless one sample has more.
const CHUNK_BYTES: u64 = 4 << 20;

/// A long value on its way into its final object.
struct Media<'r> {
    /// Number in the chunk.
    sample: usize,
    column: usize,
    name: &'r str,
    object: Unfilled,
}

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
    keep_freed_memory(py);
    let wanted =
        |name: &str| home.shows(name) && fields.is_none_or(|fields| fields.iter().any(|field| field == name));
    let mut samples = Vec::with_capacity(positions.len());
    let mut rest = positions;
    while !rest.is_empty() {
        let (count, threads) = py.detach(|| chunk(home, rest));
        let rows: Vec<_> =
            rest[..count].iter().map(|position| Arc::new(MdsRow::new(Arc::clone(home), *position))).collect();
        rest = &rest[count..];
        py.detach(|| find(&rows, threads));
        for (sample, row) in take_rows(py, &rows, &wanted, threads)?.into_iter().zip(&rows) {
            samples.push(if fields.is_none() { alone(py, sample, row)? } else { sample });
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
    Bound::new(py, LazyDict::of_dict(py, values, Carried::default()))
}

/// How many of the samples to read together, and for how many threads beside this one they are work.
fn chunk(home: &Home, positions: &[u64]) -> (usize, usize) {
    let mut bytes = 0u64;
    let mut count = 0;
    for position in positions.iter().take(CHUNK) {
        let length = home.mds.as_ref().and_then(|mds| {
            let (shard, i) = mds.folder.place(*position);
            mds.folder.shard(shard).and_then(|shard| shard.announced_len(i)).ok().flatten()
        });
        let sum = bytes.saturating_add(length.unwrap_or_default());
        if count > 0 && sum > CHUNK_BYTES {
            break;
        }
        bytes = sum;
        count += 1;
    }
    let threads = usize::try_from(bytes / to_u64(MIN_BYTES_PER_THREAD)).unwrap_or(usize::MAX);
    (count, helpers().min(threads).min(count - 1))
}

/// Does `work` for every number below `count`, on `threads` threads beside this one, which does `here` meanwhile; that
/// is given what joins in the work.
fn share<R>(
    threads: usize,
    count: usize,
    work: impl Fn(usize) + Sync,
    here: impl FnOnce(&(dyn Fn() + Sync)) -> R,
) -> R {
    let next = AtomicUsize::new(0);
    let run = || {
        while let Some(i) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|i| *i < count) {
            work(i);
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            // Where no thread can be had, this one does all.
            let _ = thread::Builder::new().name("jinx-read".into()).spawn_scoped(scope, run);
        }
        here(&run)
    })
}

/// Finds the fields of samples, in file order.
fn find(rows: &[Arc<MdsRow>], threads: usize) {
    let mut order: Vec<&MdsRow> = rows.iter().map(|row| &**row).collect();
    order.sort_unstable_by_key(|row| row.position());
    let is_packed = order.first().and_then(|row| row.find()).is_some_and(|row| row.whole().is_some());
    // Finding the fields of a raw sample is not worth a thread.
    let threads = if is_packed { threads } else { 0 };
    share(threads, order.len(), |i| _ = order[i].find(), |run| run());
}

fn take_rows<'py>(
    py: Python<'py>,
    rows: &[Arc<MdsRow>],
    wanted: &dyn Fn(&str) -> bool,
    threads: usize,
) -> PyResult<Vec<Bound<'py, LazyDict>>> {
    let media = media(py, rows, wanted)?;
    let read = |i: usize| {
        let Media { sample, column, object, .. } = &media[i];
        // A value that fails is read again, and reported, by its look-up.
        if let Some(row) = rows[*sample].found() {
            let _ = object.fill(|out| row.read_into(*column, out));
        }
    };
    let samples = share(threads, media.len(), read, |run| -> PyResult<Vec<_>> {
        let mut samples = Vec::with_capacity(rows.len());
        for (i, row) in rows.iter().enumerate() {
            let sample = Bound::new(py, of_row(py, Arc::clone(row))?)?;
            for name in sample.get().names(py)?.iter() {
                let name = name.cast_into::<PyString>()?;
                let text = name.to_str()?;
                if wanted(text) && !media.iter().any(|media| media.sample == i && media.name == text) {
                    sample.get().lookup(py, &name)?;
                }
            }
            samples.push(sample);
        }
        py.detach(run);
        Ok(samples)
    })?;
    for Media { sample, name, object, .. } in &media {
        let (row, sample) = (&rows[*sample], samples[*sample].get());
        let key = PyString::intern(py, name);
        match object.object(py) {
            Some(object) => sample.remember(py, &key, row.value_of(py, name, Some(object))?).map(drop)?,
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
) -> PyResult<Vec<Media<'r>>> {
    let mut media = Vec::new();
    for (sample, row) in rows.iter().enumerate() {
        let Some(found) = row.found() else { continue };
        for (column, known) in found.columns().all.iter().enumerate() {
            let container = known.encoding.as_ref().and_then(container);
            let length = found.len_of(column);
            if let (Some(container), DETACH_BYTES..) = (container, length)
                && wanted(&known.name)
            {
                let object = Unfilled::new(py, container, usize::try_from(length)?)?;
                media.push(Media { sample, column, name: &known.name, object });
            }
        }
    }
    Ok(media)
}
