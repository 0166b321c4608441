//! The iterator over a view.

use crate::ahead::{Ahead, Touched};
use crate::home::Home;
use crate::pending::Prepared;
use crate::reader::Reader;
use crate::sample::LazyDict;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Walks a view from its first sample to its last, and reads ahead of whoever asks for media.
#[pyclass(frozen, module = "jinx._core")]
pub struct SampleIterator {
    reader: Py<Reader>,
    /// The reader's home, with a count of what the samples of this iterator are asked for.
    home: Arc<Home>,
    next: AtomicUsize,
    stop: usize,
    ahead: Mutex<Ahead>,
}

impl SampleIterator {
    /// # Errors
    /// Those of a decoder that is no decoder.
    pub fn new(reader: Bound<'_, Reader>) -> PyResult<Self> {
        let py = reader.py();
        let home = &reader.get().home;
        let decoders = home.decoders.as_ref().map(|decoders| decoders.clone_ref(py));
        let touched = Some(Touched::default());
        let home = Home::new(py, Arc::clone(&home.shards), home.fields.clone(), decoders, touched)?;
        let stop = reader.get().count();
        Ok(Self {
            reader: reader.unbind(),
            home: Arc::new(home),
            next: AtomicUsize::new(0),
            stop,
            ahead: Mutex::default(),
        })
    }
}

#[pymethods]
impl SampleIterator {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let i = self.next.fetch_add(1, Ordering::Relaxed);
        if i >= self.stop {
            return Ok(None);
        }
        let reader = self.reader.get();
        // Threads that share an iterator do not wait for each other: one of them reads ahead.
        let prepared = match self.ahead.try_lock() {
            Ok(mut ahead) => ahead.next(py, reader, &self.home, i, self.stop)?,
            Err(_) => Prepared::default(),
        };
        let sample = LazyDict::prepared(Arc::clone(&self.home), reader.position(i), prepared);
        reader.finish(py, Bound::new(py, sample)?).map(Some)
    }

    fn __length_hint__(&self) -> usize {
        self.stop.saturating_sub(self.next.load(Ordering::Relaxed))
    }
}
