//! Reading ahead of an iterator: what the last samples were asked for is on its way before the next ones are.

use crate::dataset::reader::Reader;
use crate::dataset::state::DatasetState;
use crate::ffi::uninit_bytes::keep_freed_memory;
use crate::prefetch::pending::{Prepared, Threads, helpers};
use pyo3::prelude::*;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Samples after which is looked at what they were asked for.
const LOOK: usize = 8;
/// Samples that are on their way together; half of them are started at a time.
const WINDOW: usize = 16;
/// Media bytes on their way; at least one sample is.
const WINDOW_BYTES: usize = 8 << 20;

/// How often samples of one iterator were asked for each of their media.
#[derive(Debug, Default)]
pub struct Touched(Mutex<Vec<(String, usize)>>);

impl Touched {
    pub fn note(&self, name: &str) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match counts.iter_mut().find(|(known, _)| known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name.to_owned(), 1)),
        }
    }

    /// The names that every second of the last `samples` samples was asked for; counts anew.
    fn take_frequent(&self, samples: usize) -> Vec<String> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let frequent = |(name, count): (String, usize)| (count * 2 >= samples).then_some(name);
        counts.drain(..).filter_map(frequent).collect()
    }
}

/// The samples of one iterator that are on their way.
#[derive(Debug, Default)]
pub struct IterationPrefetch {
    window: VecDeque<(usize, Prepared)>,
    /// Those behind the window whose rows are read, and whose media are not sent for yet.
    rows: VecDeque<(usize, Prepared)>,
    names: Vec<String>,
    threads: Option<Threads>,
}

impl IterationPrefetch {
    /// What is known of sample `i` of the view; starts reading later ones when the former were asked for media.
    ///
    /// # Errors
    /// `MemoryError`.
    pub fn next(
        &mut self,
        py: Python<'_>,
        reader: &Reader,
        dataset: &DatasetState,
        i: usize,
        stop: usize,
    ) -> PyResult<Prepared> {
        if i > 0 && i.is_multiple_of(LOOK) {
            self.names =
                dataset.touched.as_ref().map_or_else(Vec::new, |touched| touched.take_frequent(LOOK));
        }
        if self.names.is_empty() {
            self.window.clear();
            self.rows.clear();
            return Ok(Prepared::default());
        }
        while self.window.front().is_some_and(|(at, _)| *at < i) {
            self.window.pop_front();
        }
        if self.window.len() <= WINDOW / 2 {
            self.extend(py, reader, dataset, i, stop)?;
        }
        let is_next = self.window.front().is_some_and(|(at, _)| *at == i);
        let next = if is_next { self.window.pop_front() } else { None };
        Ok(next.map(|(_, prepared)| prepared).unwrap_or_default())
    }

    fn extend(
        &mut self,
        py: Python<'_>,
        reader: &Reader,
        dataset: &DatasetState,
        i: usize,
        stop: usize,
    ) -> PyResult<()> {
        keep_freed_memory(py);
        let threads = Threads::here(&mut self.threads, helpers());
        let from = self.window.back().map_or(i, |(at, _)| at + 1);
        let bytes =
            |prepared: &Prepared| prepared.pending.iter().map(|pending| pending.bytes()).sum::<usize>();
        let mut total: usize = self.window.iter().map(|(_, prepared)| bytes(prepared)).sum();
        let (rows, names) = (&mut self.rows, &self.names);
        py.detach(|| read_rows(rows, reader, dataset, names, from..(i + WINDOW).min(stop)));
        while total <= WINDOW_BYTES
            && let Some((at, mut prepared)) = self.rows.pop_front()
        {
            prepared.expect(py)?;
            prepared.pending.iter().for_each(|pending| threads.send(pending));
            total += bytes(&prepared);
            self.window.push_back((at, prepared));
        }
        Ok(())
    }
}

/// Completes `rows` to the samples of `range`; of those that follow one another some may be there.
fn read_rows(
    rows: &mut VecDeque<(usize, Prepared)>,
    reader: &Reader,
    dataset: &DatasetState,
    names: &[String],
    range: Range<usize>,
) {
    if rows.front().is_some_and(|(at, _)| *at != range.start) {
        rows.clear();
    }
    let start = rows.back().map_or(range.start, |(at, _)| at + 1);
    for at in start..range.end {
        let wanted = |name: &str| names.iter().any(|wanted| wanted == name);
        rows.push_back((at, Prepared::read(dataset, reader.position(at), wanted)));
    }
}
