//! Writes the samples of a dataset in another order, in bounded memory.

use super::Writer;
use crate::dataset::reader::Reader;
use crate::errors::to_py;
use crate::order::Ordering;
use crate::progress::call_progress;
use jinx_core::io::Scratch;
use jinx_core::{Error, Result};
use jinx_dataset::Rows;
use jinx_dataset::shards::ShardRows;
use jinx_dataset::shards::Shards;
use jinx_format::write::encode::RowEncoder;
use jinx_format::write::plain_lines::PlainLines;
use jinx_order::{Passes, Rewrite, Samples, rewrite};
use pyo3::prelude::*;
use std::sync::Arc;

/// The samples that a view is based on.
struct ReorderedRows<'r> {
    rows: &'r dyn Rows,
    lines: Option<PlainLines<'r>>,
}

impl Samples for ReorderedRows<'_> {
    fn count(&self) -> u64 {
        self.rows.files().samples
    }

    fn emit(&self, position: u64, encoder: &mut RowEncoder) -> Result<()> {
        self.rows.emit(position, encoder)
    }

    fn lines(&self) -> Option<&PlainLines<'_>> {
        self.lines.as_ref()
    }
}

/// Returns the JINX shards behind `rows`, if `rows` has exactly their columns.
fn whole_shards(rows: Arc<dyn Rows>) -> Result<Option<Arc<Shards>>> {
    let Ok(dataset) = rows.into_any().downcast::<ShardRows>() else { return Ok(None) };
    let is_whole = dataset.projection.is_whole() && !dataset.plain && !dataset.is_view();
    if is_whole { dataset.shards.get().map(Some) } else { Ok(None) }
}

/// Writes the samples of a view in an order; returns the size of the temporary files in bytes. `plan` holds the number
/// of runs (None: one pass), the size of the output and the memory to use, both in bytes. `progress(done, total)`
/// counts samples over all passes.
#[pyfunction]
pub fn reorder(
    py: Python<'_>,
    target: &Bound<'_, Writer>,
    reader: &Bound<'_, Reader>,
    ordering: &Bound<'_, Ordering>,
    plan: (Option<u64>, u64, u64),
    progress: Option<Py<PyAny>>,
) -> PyResult<u64> {
    let (runs, bytes, memory) = plan;
    let target = target.get();
    let view = &reader.get().view;
    let order = &ordering.get().0;
    let mut state = target.lock(py);
    let here = |error: Error| to_py(&error.in_file(&target.path));
    let writer = state.open_writer().map_err(here)?;
    py.detach(|| {
        let scratch = Scratch::next_to(&target.path)?;
        let shards = whole_shards(Arc::clone(&view.rows))?;
        let live = shards.iter().flat_map(|shards| (0..shards.count()).map(move |i| (shards, i)));
        let live = live.filter(|(shards, i)| shards.samples(*i) > 0);
        let live = live.map(|(shards, i)| shards.shard(i)).collect::<Result<Vec<_>>>()?;
        let lines = if live.is_empty() { None } else { PlainLines::of(&live, writer.options())? };
        let samples = ReorderedRows { rows: &*view.rows, lines };
        let positions = view.positions.as_ref().map(|positions| positions.as_slice());
        let job = Rewrite { samples: &samples, view: positions, order, bytes, memory, scratch: &scratch };
        let passes = runs.map_or(Passes::One, |runs| Passes::Two { runs });
        rewrite(&job, passes, writer, &mut |done, total| call_progress(progress.as_ref(), (done, total)))
    })
    .map_err(here)
}
