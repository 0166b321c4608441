//! Reads many samples in one call: other threads read and decompress media while this thread builds the rest.

use crate::dataset::python_rows::PythonRows;
use crate::errors::IntoPy;
use crate::prefetch::work::{Threads, Work, helpers};
use crate::sample::decoders::Decoders;
use crate::sample::lazy_dict::LazyDict;
use crate::sample::stored::StoredSample;
use jinx_core::io::Density;
use jinx_dataset::Rows;
use pyo3::prelude::*;
use std::sync::Arc;

/// Use other threads only from this many bytes of media; for fewer they are not worthwhile.
const MIN_BYTES: usize = 256 << 10;
/// Send the media of this many rows to the threads first: waking a thread takes as long as reading about 50 rows.
const FIRST_ROWS: usize = 16;

/// Returns the samples at `positions`, with `columns` (or all) decoded.
///
/// # Errors
/// Errors of the first damaged sample in the order of `positions`.
pub fn samples<'py>(
    py: Python<'py>,
    rows: &Arc<dyn Rows>,
    decoders: &Decoders,
    positions: &[u64],
    columns: Option<&[String]>,
) -> PyResult<Vec<Bound<'py, LazyDict>>> {
    let mut samples = Vec::with_capacity(positions.len());
    let mut rest = positions;
    while !rest.is_empty() {
        let (together, others) = rest.split_at(py.detach(|| rows.taken_together(rest)));
        samples.extend(take_together(py, rows, decoders, together, columns)?);
        rest = others;
    }
    Ok(samples)
}

fn take_together<'py>(
    py: Python<'py>,
    rows: &Arc<dyn Rows>,
    decoders: &Decoders,
    positions: &[u64],
    columns: Option<&[String]>,
) -> PyResult<Vec<Bound<'py, LazyDict>>> {
    let (mut work, mut bytes, mut sent) = (Vec::new(), 0, 0);
    let mut threads = None;
    let stored = prepare(py, rows, positions, columns, Density::Sparse, |works| {
        bytes += works.iter().map(|work| work.bytes()).sum::<usize>();
        work.append(works);
        if helpers() > 0 && bytes >= MIN_BYTES {
            let threads = threads.get_or_insert_with(Threads::shared);
            work[sent..].iter().for_each(|work| threads.send(work));
            sent = work.len();
        }
    })?;
    let wanted = wanted(columns);
    let mut samples = open(py, decoders, stored)?;
    for sample in &samples {
        sample.get().decode(py, &wanted, false)?;
    }
    // Release results that are not final, so that each is freed when its sample is built.
    work.retain(|work| work.is_final());
    // Start from the end, because the threads start with the first tasks.
    py.detach(|| work.iter().rev().for_each(|work| work.run()));
    for sample in &mut samples {
        sample.get().decode(py, &wanted, true)?;
        if columns.is_none() && sample.get().keeps_copy() {
            *sample = Bound::new(py, sample.get().without_stored(py)?)?;
        }
    }
    Ok(samples)
}

/// Returns the samples at `positions`, and passes the work for media in `columns` (or all) to `send`.
///
/// # Errors
/// `MemoryError`, and errors of samples that cannot be opened.
pub fn prepare(
    py: Python<'_>,
    rows: &Arc<dyn Rows>,
    positions: &[u64],
    columns: Option<&[String]>,
    density: Density,
    mut send: impl FnMut(&mut Vec<Arc<dyn Work>>),
) -> PyResult<Vec<StoredSample>> {
    let samples = positions.iter().map(|position| rows.sample(*position));
    let mut samples: Vec<StoredSample> = samples.collect::<jinx_core::Result<_>>().into_py_result()?;
    // Read in file order, so that a cold disk is read sequentially.
    let mut order: Vec<usize> = (0..positions.len()).collect();
    order.sort_unstable_by_key(|i| positions[*i]);
    let wanted = wanted(columns);
    py.detach(|| rows.will_need(positions, &wanted, density));
    // Release the GIL once per part.
    let (first, rest) = order.split_at(order.len().min(FIRST_ROWS));
    let mut work = Vec::new();
    for part in [first, rest].into_iter().filter(|part| !part.is_empty()) {
        py.detach(|| part.iter().for_each(|i| samples[*i].plan(&wanted)));
        for i in part {
            samples[*i].start(py, &mut |works| work.push(works))?;
            send(&mut work);
        }
    }
    Ok(samples)
}

/// # Errors
/// `MemoryError`.
pub fn open<'py>(
    py: Python<'py>,
    decoders: &Decoders,
    stored: Vec<StoredSample>,
) -> PyResult<Vec<Bound<'py, LazyDict>>> {
    let samples =
        stored.into_iter().map(|stored| Bound::new(py, LazyDict::new(stored, decoders.clone_ref(py))));
    samples.collect()
}

/// Whether a column is in `columns`; always true for `None`.
pub fn wanted(columns: Option<&[String]>) -> impl Fn(&str) -> bool {
    move |name| columns.is_none_or(|columns| columns.iter().any(|column| column == name))
}
