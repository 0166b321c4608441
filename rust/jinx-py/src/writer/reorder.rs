//! Writes the samples of a dataset in another order, in bounded memory.

use super::Writer;
use crate::dataset::reader::Reader;
use crate::errors::to_py;
use crate::order::Ordering;
use crate::progress::call_progress;
use jinx_core::io::Scratch;
use jinx_core::{Error, Result};
use jinx_dataset::shards::{ShardRows, Shards};
use jinx_dataset::{ConcatRows, Dataset, Roots, Rows};
use jinx_format::read::shard::Shard;
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

/// The files that contain the samples of a view, with the positions of the samples; the view itself if it adds or hides
/// columns.
fn flattened(view: &Dataset) -> Result<Dataset> {
    if is_dataset(&view.rows) || !view.rows.own_names().is_empty() {
        return Ok(view.clone());
    }
    let positions = view.positions.as_ref().map(|positions| positions.to_vec());
    let Roots { mut rows, positions } = Arc::clone(&view.rows).roots(positions)?;
    if !rows.iter().all(|root| root.projection().is_whole()) {
        return Ok(view.clone());
    }
    let rows: Arc<dyn Rows> = match rows.pop() {
        None => return Ok(view.clone()),
        Some(only) if rows.is_empty() => only,
        Some(last) => {
            rows.push(last);
            Arc::new(ConcatRows::new(rows)?)
        }
    };
    Ok(Dataset { rows, positions: positions.map(Arc::new) })
}

fn is_dataset(rows: &Arc<dyn Rows>) -> bool {
    Arc::clone(rows).into_any().is::<ShardRows>()
}

/// The JINX shards behind `rows`; `None` if there are files of other formats, or `rows` do not have exactly the columns
/// of the shards.
fn whole_shards(rows: &Arc<dyn Rows>) -> Result<Option<Vec<Arc<Shards>>>> {
    let any = Arc::clone(rows).into_any();
    if let Some(concat) = any.downcast_ref::<ConcatRows>() {
        let parts = concat.parts().iter().map(whole_shards).collect::<Result<Option<Vec<_>>>>()?;
        return Ok(parts.map(|parts| parts.into_iter().flatten().collect()));
    }
    let Some(dataset) = any.downcast_ref::<ShardRows>() else { return Ok(None) };
    let is_whole = dataset.projection.is_whole() && !dataset.plain && !dataset.is_view();
    if is_whole { Ok(Some(vec![dataset.shards.get()?])) } else { Ok(None) }
}

/// The shards that contain samples.
fn with_samples(shards: &[Arc<Shards>]) -> Result<Vec<&Shard>> {
    let numbered = shards.iter().flat_map(|shards| (0..shards.count()).map(move |i| (shards, i)));
    let with_samples = numbered.filter(|(shards, i)| shards.samples(*i) > 0);
    with_samples.map(|(shards, i)| shards.shard(i)).collect()
}

/// Writes the samples of a view in the given order; returns the size of the temporary files in bytes. `plan` holds the
/// number of runs (None: one pass), the size of the output and the memory to use, both in bytes. `progress(done,
/// total)` counts samples over all passes.
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
        let view = flattened(view)?;
        let whole = whole_shards(&view.rows)?.unwrap_or_default();
        let shards = with_samples(&whole)?;
        let lines = if shards.is_empty() { None } else { PlainLines::of(&shards, writer.options())? };
        let samples = ReorderedRows { rows: &*view.rows, lines };
        let positions = view.positions.as_ref().map(|positions| positions.as_slice());
        let job = Rewrite { samples: &samples, view: positions, order, bytes, memory, scratch: &scratch };
        let passes = runs.map_or(Passes::One, |runs| Passes::Two { runs });
        rewrite(&job, passes, writer, &mut |done, total| call_progress(progress.as_ref(), (done, total)))
    })
    .map_err(here)
}
