//! The iterator over a view.

use crate::dataset::reader::Reader;
use crate::dataset::state::DatasetState;
use crate::prefetch::iteration::IterationPrefetch;
use crate::prefetch::pending::Prepared;
use crate::sample::lazy_dict::LazyDict;
use pyo3::PyTraverseError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Walks a view from its first sample to its last, and reads ahead of whoever asks for media.
#[pyclass(frozen, module = "jinx._core")]
pub struct SampleIterator {
    reader: Py<Reader>,
    /// The reader's dataset, with a count of what the samples of this iterator are asked for.
    dataset: Arc<DatasetState>,
    next: AtomicUsize,
    stop: usize,
    ahead: Mutex<IterationPrefetch>,
    /// The same for compressed shards of MDS folders.
    feed: crate::mds::iterate::MdsIteration,
}

impl SampleIterator {
    pub fn new(reader: Bound<'_, Reader>) -> Self {
        let dataset = reader.get().dataset.of_iterator();
        let stop = reader.get().count();
        Self {
            reader: reader.unbind(),
            dataset: Arc::new(dataset),
            next: AtomicUsize::new(0),
            stop,
            ahead: Mutex::default(),
            feed: crate::mds::iterate::MdsIteration::default(),
        }
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
        if reader.dataset.mds.is_some() {
            return reader.next_sample(py, i, &self.feed).map(Some);
        }
        // Threads that share an iterator do not wait for each other: one of them reads ahead.
        let prepared = match self.ahead.try_lock() {
            Ok(mut ahead) => ahead.next(py, reader, &self.dataset, i, self.stop)?,
            Err(_) => Prepared::default(),
        };
        let decoders = reader.decoders.clone_ref(py);
        let sample = LazyDict::prepared(Arc::clone(&self.dataset), decoders, reader.position(i), prepared);
        reader.finish(py, Bound::new(py, sample)?).map(Some)
    }

    fn __length_hint__(&self) -> usize {
        self.stop.saturating_sub(self.next.load(Ordering::Relaxed))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.reader)
    }
}
