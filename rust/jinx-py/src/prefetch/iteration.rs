//! Reading ahead of an iterator: what the last samples were asked for is on its way before the next ones are.

use crate::dataset::view::View;
use crate::prefetch::work::{Threads, helpers};
use crate::sample::stored::StoredSample;
use pyo3::prelude::*;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Samples after which is looked at what they were asked for.
const LOOK: usize = 8;
/// Samples that are on their way together; half of them are started at a time.
const WINDOW: usize = 16;
/// Media bytes on their way; at least one sample is.
const WINDOW_BYTES: usize = 8 << 20;

/// The samples of one iterator that are on their way.
#[derive(Default)]
pub struct IterationPrefetch {
    /// Number in the view, sample, bytes.
    window: VecDeque<(usize, StoredSample, usize)>,
    /// Those behind the window that are planned, and whose media are not sent for yet.
    planned: VecDeque<(usize, StoredSample)>,
    names: Vec<String>,
    threads: Option<Threads>,
}

impl IterationPrefetch {
    /// Sample `i` of the view, if it is on its way; starts reading later ones when the former were asked for media.
    ///
    /// # Errors
    /// `MemoryError`.
    pub fn next(
        &mut self,
        py: Python<'_>,
        view: &View,
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

    fn extend(&mut self, py: Python<'_>, view: &View, i: usize, stop: usize) -> PyResult<()> {
        let threads = Threads::here(&mut self.threads, helpers());
        let from = self.window.back().map_or(i, |(at, ..)| at + 1);
        let mut total: usize = self.window.iter().map(|(.., bytes)| bytes).sum();
        let (planned, names) = (&mut self.planned, &self.names);
        py.detach(|| plan(planned, view, names, from..(i + WINDOW).min(stop)));
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

/// Completes `planned` to the samples of `range`; of those that follow one another some may be there.
fn plan(planned: &mut VecDeque<(usize, StoredSample)>, view: &View, names: &[String], range: Range<usize>) {
    if planned.front().is_some_and(|(at, _)| *at != range.start) {
        planned.clear();
    }
    let start = planned.back().map_or(range.start, |(at, _)| at + 1);
    for at in start..range.end {
        // One that cannot be had is an error for who comes to it.
        let Ok(mut sample) = Arc::clone(&view.rows).sample(view.position(at)) else { return };
        sample.plan(&|name| names.iter().any(|wanted| wanted == name));
        planned.push_back((at, sample));
    }
}
