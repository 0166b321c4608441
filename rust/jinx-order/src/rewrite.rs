//! Writes samples in their new order, in one pass or in two.

use crate::buckets::Buckets;
use crate::order::Order;
use crate::passes::Passes;
use crate::scatter::{Runs, file_bytes};
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::error::{Error, Result};
use jinx_core::interrupt;
use jinx_core::io::Scratch;
use jinx_format::read::shard::{OpenOptions, Shard, Verify};
use jinx_format::write::dataset::DatasetWriter;
use jinx_format::write::encode::RowEncoder;
use jinx_format::write::plain_lines::PlainLines;
use jinx_format::write::row_form::{FIRST_ROWS, RowForm};
use std::ops::Range;

/// Samples to write between two checks for an interrupt.
const BLOCK: u64 = 8192;
/// Lines to copy between two checks for an interrupt. Copying a line takes little time.
const BLOCK_OF_LINES: u64 = 512 << 10;

/// The samples to rewrite, by position. Any thread can read them.
pub trait Samples: Sync {
    /// The number of positions.
    fn count(&self) -> u64;

    /// Emits the sample at a position, as a dict.
    ///
    /// # Errors
    /// Errors of reading the sample, and of the encoder.
    fn emit(&self, position: u64, encoder: &mut RowEncoder) -> Result<()>;

    /// The samples as lines, if the output has the same lines.
    fn lines(&self) -> Option<&PlainLines<'_>> {
        None
    }
}

/// A dataset and its new order.
pub struct Rewrite<'r> {
    pub samples: &'r dyn Samples,
    /// The positions of the view's samples, which `order` numbers; `None` for all samples.
    pub view: Option<&'r [u64]>,
    pub order: &'r Order,
    /// The approximate size of the output, in bytes.
    pub bytes: u64,
    /// The most memory to use, in bytes.
    pub memory: u64,
    /// Where to write runs.
    pub scratch: &'r Scratch,
}

impl Rewrite<'_> {
    /// Replaces the contents of `found` with the positions of the samples at the places `range` of the output.
    pub(crate) fn positions(&self, range: Range<u64>, out: &mut Vec<u64>) -> Result<()> {
        self.order.read(range, out)?;
        let count = self.samples.count();
        let samples = self.view.map_or(count, |view| to_u64(view.len()));
        for sample in out {
            if *sample >= samples {
                return Err(Error::invalid(format!("sample {sample} of {samples}")));
            }
            if let Some(view) = self.view {
                *sample = view[to_usize(*sample, "the number of a sample")?];
            }
        }
        Ok(())
    }

    /// The samples as lines, if the output has all of them.
    fn all_lines(&self) -> Option<&PlainLines<'_>> {
        let lines = self.samples.lines()?;
        let is_all =
            self.view.is_none() && self.order.len() == lines.len() && lines.len() == self.samples.count();
        is_all.then_some(lines)
    }

    /// The samples at the start of the output, enough to know the form of all.
    fn first_positions(&self) -> Result<Vec<u64>> {
        let mut positions = Vec::new();
        self.positions(0..self.order.len().min(FIRST_ROWS), &mut positions)?;
        Ok(positions)
    }

    /// The samples of a block of the output.
    fn block_positions(&self, block: u64, form: &RowForm<'_>) -> Result<Vec<u64>> {
        let start = block.saturating_mul(form.block_rows());
        let mut positions = Vec::new();
        self.positions(start..self.order.len().min(start.saturating_add(form.block_rows())), &mut positions)?;
        Ok(positions)
    }
}

/// Counts the samples of all passes, and tells the caller, who can stop the work.
pub struct Progress<'p> {
    done: u64,
    total: u64,
    tell: &'p mut dyn FnMut(u64, u64) -> Result<()>,
}

impl Progress<'_> {
    pub(crate) fn add(&mut self, samples: u64) -> Result<()> {
        self.done += samples;
        (self.tell)(self.done, self.total)
    }
}

/// Writes the samples to `writer`, which the caller closes. Calls `tell` with the number of samples done and the total,
/// both over all passes. Returns the size of the temporary files in bytes.
///
/// # Errors
/// Errors of reading, writing and `tell`; `Interrupted`. After an error, the writer publishes nothing.
pub fn rewrite(
    job: &Rewrite<'_>,
    passes: Passes,
    writer: &mut DatasetWriter,
    tell: &mut dyn FnMut(u64, u64) -> Result<()>,
) -> Result<u64> {
    let samples = job.order.len();
    match passes {
        Passes::One => {
            let mut progress = Progress { done: 0, total: samples, tell };
            if let Some(lines) = job.all_lines()
                && let Some(form) = writer.form_of(lines, &job.first_positions()?)?
            {
                let gather = |block| lines.gather(&job.block_positions(block, &form)?, &form);
                let blocks = samples.div_ceil(form.block_rows());
                writer.write_form(&form, (blocks, &gather), &mut |rows| progress.add(rows))?;
                return Ok(0);
            }
            let mut positions = Vec::new();
            for range in blocks(samples, job.samples.lines().is_some()) {
                job.positions(range.clone(), &mut positions)?;
                match job.samples.lines() {
                    Some(lines) => writer.write_lines(lines, &positions)?,
                    None => writer
                        .write_rows(positions.len(), &|i, encoder| job.samples.emit(positions[i], encoder))?,
                }
                progress.add(range.end - range.start)?;
                interrupt::check()?;
            }
            Ok(0)
        }
        Passes::Two { runs } => {
            let mut progress = Progress { done: 0, total: samples.saturating_mul(2), tell };
            if let Some(lines) = job.all_lines()
                && let Some(form) = writer.form_of(lines, &job.first_positions()?)?
                && let Some(mut buckets) = Buckets::create(job, lines, &form, writer.main_file()?)
                && buckets.fill(job.order, &mut |rows| progress.add(rows))?
            {
                let arrange = |number| buckets.arrange(number);
                writer.write_form(&form, (buckets.count(), &arrange), &mut |rows| progress.add(rows))?;
                return Ok(buckets.piece_bytes());
            }
            let runs = Runs::divide(job, runs, job.scratch.directory()?)?;
            let options = writer.options().clone();
            runs.write(job, &options, &mut progress)?;
            let mut temporary = 0;
            for run in 0..runs.bounds.len() {
                temporary += file_bytes(&runs.path(run));
                gather(&runs, run, writer, &mut progress)?;
                runs.remove(run)?;
            }
            Ok(temporary)
        }
    }
}

/// Writes the samples of one run in their new order.
fn gather(runs: &Runs, run: usize, writer: &mut DatasetWriter, progress: &mut Progress<'_>) -> Result<()> {
    let rows = runs.rows_by_place(run)?;
    let mut options = OpenOptions { verify: Verify::Rows, ..OpenOptions::default() };
    options.limits.max_value_bytes = writer.options().encode.max_value_bytes;
    let shard = Shard::open(&runs.path(run), &options)?;
    let lines = PlainLines::of(&[&shard], writer.options())?;
    for range in blocks(to_u64(rows.len()), lines.is_some()) {
        let rows = &rows[to_usize(range.start, "a place")?..to_usize(range.end, "a place")?];
        match &lines {
            Some(lines) => writer.write_lines(lines, rows)?,
            None => writer.write_rows(rows.len(), &|i, encoder| shard.emit_row(rows[i], encoder))?,
        }
        progress.add(to_u64(rows.len()))?;
        interrupt::check()?;
    }
    Ok(())
}

fn blocks(count: u64, are_lines: bool) -> impl Iterator<Item = Range<u64>> {
    let size = if are_lines { BLOCK_OF_LINES } else { BLOCK };
    (0..count.div_ceil(size)).map(move |block| block * size..count.min((block + 1) * size))
}
