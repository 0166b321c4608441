//! Many samples in one call: media are read and decompressed by other threads while this one builds the rest.

use crate::home::Home;
use crate::objects::plausible_len;
use crate::row::Row;
use crate::sample::LazyDict;
use jinx_core::Result;
use jinx_core::jinx::key::Kind;
use jinx_core::jinx::shard::Shard;
use jinx_core::jinx::stored::{Place, Stored};
use jinx_core::sink::Payload;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Values allocated together; each takes a stack frame while they are filled.
const CHUNK_VALUES: usize = 64;
/// Threads that read, the calling one included; a trainer's own workers want cores too.
const MAX_THREADS: usize = 4;
/// Bytes of media for which one more thread pays.
const MIN_BYTES_PER_THREAD: usize = 256 << 10;

/// One value to be read into a bytes object.
struct Job<'s> {
    sample: usize,
    name: &'s str,
    shard: &'s Shard,
    stored: Stored<'s>,
    length: usize,
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
    let rows = py.detach(|| read_rows(home, positions));
    let samples = positions
        .iter()
        .zip(rows)
        .map(|(position, row)| Bound::new(py, LazyDict::with_row(Arc::clone(home), *position, row)))
        .collect::<PyResult<Vec<_>>>()?;
    let jobs = jobs(home, positions, &samples, fields);
    let mut touched = 0;
    for (i, chunk) in jobs.chunks(CHUNK_VALUES).enumerate() {
        // A sample whose values go on in the next chunk waits for it.
        let end = jobs.get((i + 1) * CHUNK_VALUES).map_or(samples.len(), |job| job.sample);
        read_chunk(py, chunk, &samples, &mut || {
            while touched < end {
                touch_others(py, &samples[touched], chunk, touched, fields)?;
                touched += 1;
            }
            Ok(())
        })?;
    }
    for sample in &samples {
        sample.get().touch(py, fields)?;
    }
    Ok(samples)
}

/// The rows in file order, so that a cold disk is read forwards. A row that fails is read again, and reported,
/// when it is touched.
fn read_rows(home: &Home, positions: &[u64]) -> Vec<OnceLock<Row>> {
    let mut order: Vec<usize> = (0..positions.len()).collect();
    order.sort_unstable_by_key(|i| positions[*i]);
    let mut rows: Vec<OnceLock<Row>> = Vec::new();
    rows.resize_with(positions.len(), OnceLock::new);
    for i in order {
        let read = || -> Result<Row> {
            let (shard, row) = home.shards.locate(positions[i])?;
            let row = Row::new(shard.line(row)?);
            row.fields(shard)?;
            Ok(row)
        };
        if let Ok(row) = read() {
            rows[i] = row.into();
        }
    }
    rows
}

/// The binary values of top-level fields whose length is known, in the samples' order.
fn jobs<'s>(
    home: &'s Home,
    positions: &[u64],
    samples: &'s [Bound<'_, LazyDict>],
    fields: Option<&[String]>,
) -> Vec<Job<'s>> {
    let wanted =
        |name: &str| home.shows(name) && fields.is_none_or(|fields| fields.iter().any(|field| field == name));
    let decoded = home.decoders.is_some();
    let mut jobs = Vec::new();
    for (sample, position) in positions.iter().enumerate() {
        let (Ok((shard, _)), Some(row)) = (home.shards.locate(*position), samples[sample].get().row.get())
        else {
            continue;
        };
        let Ok(found) = row.fields(shard) else { continue };
        for field in found {
            let Some(chain) = field.chain.filter(|chain| chain.kind == Kind::Blob(Payload::Raw)) else {
                continue;
            };
            if decoded || !wanted(row.name(field)) {
                continue;
            }
            let Ok(stored) = Stored::parse(chain, row.text(field)) else { continue };
            let length = match stored.place {
                Place::Sidecar(_) => plausible_len(shard, &stored),
                _ => None,
            };
            if let Some(length) = length {
                jobs.push(Job { sample, name: row.name(field), shard, stored, length });
            }
        }
    }
    jobs
}

/// Fills bytes objects on other threads while `meanwhile` runs here. What cannot be read is left to the
/// sample's own look-up, which says where and why.
fn read_chunk<'py>(
    py: Python<'py>,
    chunk: &[Job<'_>],
    samples: &[Bound<'py, LazyDict>],
    meanwhile: &mut dyn FnMut() -> PyResult<()>,
) -> PyResult<()> {
    let lengths: Vec<usize> = chunk.iter().map(|job| job.length).collect();
    let (mut objects, mut failed) = (Vec::with_capacity(chunk.len()), Vec::new());
    allocate(py, &lengths, Vec::new(), &mut objects, &mut |slices| {
        failed = fill(py, chunk, slices, meanwhile)?;
        Ok(())
    })?;
    // The innermost object is finished first.
    for (at, object) in objects.into_iter().rev().enumerate() {
        if !failed.contains(&at) {
            let name = PyString::new(py, chunk[at].name);
            samples[chunk[at].sample].get().remember(py, &name, object.into_any())?;
        }
    }
    Ok(())
}

/// Allocates one bytes object inside the other's initialisation, so that all can be filled at the same time.
fn allocate<'py>(
    py: Python<'py>,
    lengths: &[usize],
    slices: Vec<&mut [u8]>,
    objects: &mut Vec<Bound<'py, PyBytes>>,
    fill: &mut dyn FnMut(Vec<&mut [u8]>) -> PyResult<()>,
) -> PyResult<()> {
    let Some((length, rest)) = lengths.split_first() else { return fill(slices) };
    let object = PyBytes::new_with(py, *length, |out| {
        let mut slices = slices;
        slices.push(out);
        allocate(py, rest, slices, objects, fill)
    })?;
    objects.push(object);
    Ok(())
}

/// Reads every job into its slice, this thread too once `meanwhile` is done; returns the jobs that failed.
fn fill(
    py: Python<'_>,
    chunk: &[Job<'_>],
    slices: Vec<&mut [u8]>,
    meanwhile: &mut dyn FnMut() -> PyResult<()>,
) -> PyResult<Vec<usize>> {
    let total: usize = chunk.iter().map(|job| job.length).sum();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let helpers = (cores.min(MAX_THREADS) - 1).min(total / MIN_BYTES_PER_THREAD);
    let queue = Mutex::new(slices.into_iter().enumerate());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let read = || -> Vec<usize> {
        let mut failed = Vec::new();
        while let Some((at, slice)) = next() {
            if chunk[at].shard.load_into(&chunk[at].stored, slice).is_err() {
                failed.push(at);
            }
        }
        failed
    };
    std::thread::scope(|scope| {
        // Where no thread can be had, this one does all.
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, read).ok();
        let workers: Vec<_> = (0..helpers).filter_map(start).collect();
        let built = meanwhile();
        let failed = py.detach(|| {
            let mut failed = read();
            for worker in workers {
                // A job of a thread that died counts as failed, and nobody knows which they were.
                failed.extend(worker.join().unwrap_or_else(|_| (0..chunk.len()).collect()));
            }
            failed
        });
        built.map(|()| failed)
    })
}

/// Decodes the fields of one sample that no job brings.
fn touch_others(
    py: Python<'_>,
    sample: &Bound<'_, LazyDict>,
    chunk: &[Job<'_>],
    at: usize,
    fields: Option<&[String]>,
) -> PyResult<()> {
    let names: Vec<String> = match fields {
        Some(fields) => fields.to_vec(),
        None => sample.get().names(py)?.extract()?,
    };
    for name in names {
        if !chunk.iter().any(|job| job.sample == at && job.name == name) {
            sample.get().lookup(py, &PyString::new(py, &name))?;
        }
    }
    Ok(())
}
