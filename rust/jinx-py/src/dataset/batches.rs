//! Prefetched batches: threads read, decompress and decode the next batches while the caller uses the current one.

use crate::dataset::reader::Reader;
use crate::dataset::take;
use crate::prefetch::work::Threads;
use crate::sample::stored::StoredSample;
use jinx_core::io::Density;
use jinx_dataset::blocks_ahead::{BlockOrder, BlocksAhead};
use pyo3::PyTraverseError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::PyIterator;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Iterates over batches of samples at given indices. `jinx.torch.Loader` collates them.
#[pyclass(frozen, module = "jinx._core")]
pub struct Batches {
    reader: Py<Reader>,
    /// Yields lists of indices. It is read `depth` batches ahead.
    source: Py<PyIterator>,
    columns: Option<Vec<String>>,
    threads: usize,
    depth: usize,
    /// `None` while a thread uses it.
    prefetch: Mutex<Option<BatchPrefetch>>,
}

#[derive(Default)]
struct BatchPrefetch {
    queue: VecDeque<Batch>,
    blocks: Option<BlocksAhead>,
    threads: Option<Threads>,
    is_exhausted: bool,
}

struct Batch {
    indices: Vec<usize>,
    samples: Vec<StoredSample>,
}

/// An index, and its sample or the error from reading it.
type Outcome<'py> = (usize, Bound<'py, PyAny>);

#[pymethods]
impl Batches {
    #[new]
    #[pyo3(signature = (reader, source, columns, threads, depth, blocks = None))]
    fn new(
        reader: Py<Reader>,
        source: &Bound<'_, PyAny>,
        columns: Option<Vec<String>>,
        threads: usize,
        depth: usize,
        blocks: Option<(Vec<usize>, usize, usize, usize, usize)>,
    ) -> PyResult<Self> {
        let blocks = blocks.map(|(starts, size, mixed, read, ranks)| {
            BlocksAhead::new(BlockOrder { starts, size: size.max(1), mixed: mixed.max(1), ranks }, read)
        });
        let prefetch = Mutex::new(Some(BatchPrefetch { blocks, ..BatchPrefetch::default() }));
        let source = source.try_iter()?.unbind();
        Ok(Self { reader, source, columns, threads, depth, prefetch })
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    /// The next batch.
    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Vec<Outcome<'py>>>> {
        self.reader.get().check_open()?;
        let mut prefetch = self.lock().take().ok_or_else(busy)?;
        let batch = self.advance(py, &mut prefetch);
        *self.lock() = Some(prefetch);
        match batch? {
            Some(batch) => self.finish(py, batch).map(Some),
            None => Ok(None),
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.reader)?;
        visit.call(&self.source)
    }
}

fn busy() -> PyErr {
    pyo3::exceptions::PyRuntimeError::new_err(
        "another thread is taking a batch; give each thread its own loader",
    )
}

impl Batches {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<BatchPrefetch>> {
        self.prefetch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts reading more batches, and returns the oldest one.
    fn advance(&self, py: Python<'_>, prefetch: &mut BatchPrefetch) -> PyResult<Option<Batch>> {
        while !prefetch.is_exhausted && prefetch.queue.len() <= self.depth {
            match self.source.bind(py).clone().next() {
                None => prefetch.is_exhausted = true,
                Some(indices) => {
                    let batch = self.start(py, &indices?, prefetch)?;
                    prefetch.queue.push_back(batch);
                }
            }
        }
        Ok(prefetch.queue.pop_front())
    }

    fn start(
        &self,
        py: Python<'_>,
        indices: &Bound<'_, PyAny>,
        prefetch: &mut BatchPrefetch,
    ) -> PyResult<Batch> {
        let reader = self.reader.get();
        let indices = reader.checked_indices(indices)?;
        let view = &reader.view;
        let positions: Vec<u64> = indices.iter().map(|i| view.position(*i)).collect();
        let density = match &mut prefetch.blocks {
            Some(blocks) => {
                blocks.advance(view, self.columns.as_deref(), positions.len());
                Density::Dense
            }
            None => Density::Sparse,
        };
        let threads = Threads::here(&mut prefetch.threads, self.threads);
        let samples = take::prepare(py, &view.rows, &positions, self.columns.as_deref(), density, |work| {
            work.drain(..).for_each(|work| threads.send(&work));
        })?;
        Ok(Batch { indices, samples })
    }

    fn finish<'py>(&self, py: Python<'py>, batch: Batch) -> PyResult<Vec<Outcome<'py>>> {
        let reader = self.reader.get();
        let samples = take::open(py, &reader.decoders, batch.samples)?;
        let wanted = take::wanted(self.columns.as_deref());
        let finished = samples.into_iter().map(|sample| {
            sample.get().decode(py, &wanted, false)?;
            sample.get().decode(py, &wanted, true)?;
            reader.finish(py, sample)
        });
        let or_error = |sample: PyResult<Bound<'py, PyAny>>| match sample {
            // Ctrl-C and similar exceptions are not errors of a sample.
            Err(error) if !error.is_instance_of::<pyo3::exceptions::PyException>(py) => Err(error),
            Err(error) => Ok(error.into_value(py).into_bound(py).into_any()),
            Ok(sample) => Ok(sample),
        };
        batch.indices.into_iter().zip(finished).map(|(i, sample)| Ok((i, or_error(sample)?))).collect()
    }
}
