//! The iterator over a view.

use crate::dataset::python_rows::{PythonRows, sample_at};
use crate::dataset::reader::Reader;
use crate::errors::IntoPy;
use crate::prefetch::iteration::IterationPrefetch;
use crate::sample::lazy_dict::LazyDict;
use jinx_core::checked_math::to_u64;
use jinx_dataset::{Dataset, Walk};
use pyo3::PyTraverseError;
use pyo3::exceptions::{PyRuntimeError, PyStopIteration};
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Iterates over a view from the first sample to the last, and reads ahead.
#[pyclass(frozen, module = "jinx._core")]
pub struct SampleIterator {
    reader: Py<Reader>,
    /// The view of the reader. It counts which columns are used in the samples of this iterator.
    view: Dataset,
    next: AtomicUsize,
    stop: usize,
    upcoming: Mutex<Upcoming>,
}

/// How to read the next samples.
enum Upcoming {
    Prefetch(IterationPrefetch),
    Walk(Box<dyn Walk>),
}

impl SampleIterator {
    pub fn new(reader: Bound<'_, Reader>) -> Self {
        let Dataset { rows, positions } = &reader.get().view;
        let rows = rows.with_projection(rows.projection().of_iterator());
        let walk = if positions.is_none() { Arc::clone(&rows).walk() } else { None };
        let upcoming = walk.map_or_else(|| Upcoming::Prefetch(IterationPrefetch::default()), Upcoming::Walk);
        let view = Dataset { rows, positions: positions.clone() };
        let (stop, next) = (view.len(), AtomicUsize::new(0));
        Self { reader: reader.unbind(), view, next, stop, upcoming: Mutex::new(upcoming) }
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
        reader.check_open()?;
        // Threads that share an iterator do not wait for each other: only one of them reads ahead.
        let prefetched = match self.upcoming.try_lock().as_deref_mut() {
            Ok(Upcoming::Prefetch(prefetch)) => prefetch.next(py, &self.view, i, self.stop)?,
            Ok(Upcoming::Walk(walk)) => {
                Some(py.detach(|| walk.locate(to_u64(i)).and_then(sample_at)).into_py_result()?)
            }
            Err(_) => None,
        };
        let stored = match prefetched {
            Some(stored) => stored,
            None => self.view.rows.sample(self.view.position(i)).into_py_result()?,
        };
        reader.finish(py, Bound::new(py, LazyDict::new(stored, reader.decoders.clone_ref(py)))?).map(Some)
    }

    fn __length_hint__(&self) -> usize {
        self.stop.saturating_sub(self.next.load(Ordering::Relaxed))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.reader)
    }
}

/// The error from a user function. A `StopIteration` would end a loop over the samples as if there were no more, and
/// becomes a `RuntimeError`, as in Python's generators.
pub fn no_end_of_loop(py: Python<'_>, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyStopIteration>(py) {
        return error;
    }
    let raised = PyRuntimeError::new_err("a function of the samples raised StopIteration");
    raised.set_cause(py, Some(error));
    raised
}
