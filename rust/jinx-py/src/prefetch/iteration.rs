//! Reads ahead of an iterator: columns that the caller used in the last samples are prefetched for the next ones.

use crate::dataset::python_rows::PythonRows;
use crate::prefetch::work::{Threads, helpers};
use crate::sample::stored::StoredSample;
use jinx_core::io::Density;
use jinx_dataset::Dataset;
use pyo3::prelude::*;
use std::collections::VecDeque;
use std::ops::Range;

/// The number of samples after which the used columns are checked again.
const LOOK: usize = 8;
/// Prefetch at most this many samples at once; half of them are started at a time.
const WINDOW: usize = 16;
/// Prefetch about this many bytes of media, and always at least one sample.
const WINDOW_BYTES: usize = 8 << 20;

/// The number of samples from which the density of an order is computed.
const DENSITY_SAMPLES: usize = 4096;
/// The number of samples after which the density is computed again.
const SAME_DENSITY: usize = 1024;
/// For fewer samples, larger pieces are not worthwhile.
const FEW_SAMPLES: usize = 128;
/// Positions of dense samples are at most this far apart.
const DENSE_GAP: u64 = 4;

/// The prefetched samples of one iterator.
#[derive(Default)]
pub struct IterationPrefetch {
    /// For each sample: its number in the view, the sample, and its bytes.
    window: VecDeque<(usize, StoredSample, usize)>,
    /// The samples after the window. They are planned, but no thread reads their media yet.
    planned: VecDeque<(usize, StoredSample)>,
    names: Vec<String>,
    /// The density, and the sample at which it was computed.
    density: Option<(usize, Density)>,
    threads: Option<Threads>,
}

impl IterationPrefetch {
    /// Returns sample `i` of the view if it is prefetched. Starts reading later samples if media of earlier ones were
    /// used.
    ///
    /// # Errors
    /// `MemoryError`.
    pub fn next(
        &mut self,
        py: Python<'_>,
        view: &Dataset,
        i: usize,
        stop: usize,
    ) -> PyResult<Option<StoredSample>> {
        if i > 0 && i.is_multiple_of(LOOK) {
            let touched = view.rows.projection().touched.as_ref();
            self.names = touched.map_or_else(Vec::new, |touched| touched.take_frequent(LOOK));
        }
        if self.names.is_empty() {
            self.window.clear();
            self.planned.clear();
            return Ok(None);
        }
        while self.window.front().is_some_and(|(at, ..)| *at < i) {
            self.window.pop_front();
        }
        if self.window.len() <= WINDOW / 2 {
            self.extend(py, view, i, stop)?;
        }
        let is_next = self.window.front().is_some_and(|(at, ..)| *at == i);
        let next = if is_next { self.window.pop_front() } else { None };
        Ok(next.map(|(_, sample, _)| sample))
    }

    fn extend(&mut self, py: Python<'_>, view: &Dataset, i: usize, stop: usize) -> PyResult<()> {
        let threads = Threads::here(&mut self.threads, helpers());
        let from = self.window.back().map_or(i, |(at, ..)| at + 1);
        let mut total: usize = self.window.iter().map(|(.., bytes)| bytes).sum();
        let (planned, names, density) = (&mut self.planned, &self.names, &mut self.density);
        py.detach(|| plan(planned, view, names, density, from..(i + WINDOW).min(stop)));
        while total <= WINDOW_BYTES
            && let Some((at, mut sample)) = self.planned.pop_front()
        {
            let mut bytes = 0;
            sample.start(py, &mut |work| {
                bytes += work.bytes();
                threads.send(&work);
            })?;
            total += bytes;
            self.window.push_back((at, sample, bytes));
        }
        Ok(())
    }
}

/// Whether the next samples are so close together that most of the bytes between them are needed, too.
pub(crate) fn density_at(view: &Dataset, start: usize) -> Density {
    let mut next: Vec<u64> = (start..view.len()).take(DENSITY_SAMPLES).map(|at| view.position(at)).collect();
    next.sort_unstable();
    let close = next.windows(2).filter(|pair| pair[1] - pair[0] <= DENSE_GAP).count();
    if close > next.len() / 2 && next.len() >= FEW_SAMPLES { Density::Dense } else { Density::Sparse }
}

/// Plans those samples of `range` that are not in `planned` yet. `planned` holds consecutive samples.
fn plan(
    planned: &mut VecDeque<(usize, StoredSample)>,
    view: &Dataset,
    names: &[String],
    density: &mut Option<(usize, Density)>,
    range: Range<usize>,
) {
    if planned.front().is_some_and(|(at, _)| *at != range.start) {
        planned.clear();
    }
    let start = planned.back().map_or(range.start, |(at, _)| at + 1);
    let wanted = |name: &str| names.iter().any(|wanted| wanted == name);
    if start < range.end && view.positions.is_some() {
        // Without positions, samples are read in order, and stores read ahead.
        let positions: Vec<u64> = (start..range.end).map(|at| view.position(at)).collect();
        if !matches!(density, Some((at, _)) if (*at..*at + SAME_DENSITY).contains(&start)) {
            *density = Some((start, density_at(view, start)));
        }
        let density = density.map_or(Density::Sparse, |(_, density)| density);
        view.rows.will_need(&positions, &wanted, density);
    }
    for at in start..range.end {
        // If a sample cannot be opened, the iterator reports the error when it reaches the sample.
        let Ok(mut sample) = view.rows.sample(view.position(at)) else { return };
        sample.plan(&wanted);
        planned.push_back((at, sample));
    }
}
