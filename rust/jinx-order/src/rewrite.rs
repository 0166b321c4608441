//! Writes samples in their new order, in one pass or two.

use crate::order::Order;
use crate::passes::Passes;
use crate::position_list::PositionList;
use crate::rewrite_by_region::Buckets;
use crate::scatter::{Runs, file_bytes};
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::error::{Error, Result};
use jinx_core::interrupt;
use jinx_core::io::Scratch;
use jinx_format::ordered_blocks::in_order;
use jinx_format::read::shard::{OpenOptions, Shard, Verify};
use jinx_format::write::common_row_form::{FIRST_ROWS, FormBlocks};
use jinx_format::write::dataset::DatasetWriter;
use jinx_format::write::encode::RowEncoder;
use jinx_format::write::options::WriteOptions;
use jinx_format::write::plain_lines::PlainLines;
use jinx_format::write::row_order::RowOrder;
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};

/// The approximate number of bytes to write between two checks for an interrupt, and the allowed numbers of samples.
const BLOCK_BYTES: u64 = 256 << 20;
const BLOCK_ROWS: RangeInclusive<u64> = 1024..=64 << 10;
/// The number of lines to copy between two checks for an interrupt. Copying a line takes little time.
const BLOCK_OF_LINES: u64 = 512 << 10;
/// The number of positions to list at a time.
const LISTED_AT_ONCE: u64 = 64 << 10;

/// The samples to rewrite, by position. Any thread can read them.
pub trait Samples: Sync {
    /// The number of positions.
    fn count(&self) -> u64;

    /// Emits the sample at a position, as a dict.
    ///
    /// # Errors
    /// Errors of reading the sample, and of the encoder.
    fn emit(&self, position: u64, encoder: &mut RowEncoder) -> Result<()>;

    /// The samples as lines, if the output contains the same lines.
    fn lines(&self) -> Option<&PlainLines<'_>> {
        None
    }
}

/// A dataset and its new order.
pub struct Rewrite<'r> {
    pub samples: &'r dyn Samples,
    /// The positions of the view's samples, to which `order` refers; `None` for all samples.
    pub view: Option<&'r [u64]>,
    pub order: &'r Order,
    /// The approximate size of the output, in bytes.
    pub bytes: u64,
    /// The maximum memory to use, in bytes.
    pub memory: u64,
    /// The directory for runs.
    pub scratch: &'r Scratch,
}

impl Rewrite<'_> {
    /// Replaces the contents of `out` with the positions of the samples at the places `range` of the output.
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

    /// Whether the output contains each sample exactly once.
    fn has_all(&self) -> bool {
        self.view.is_none() && self.order.len() == self.samples.count()
    }

    /// The samples at the start of the output: enough of them to know the form of all.
    fn first_positions(&self) -> Result<Vec<u64>> {
        let mut positions = Vec::new();
        self.positions(0..self.order.len().min(FIRST_ROWS), &mut positions)?;
        Ok(positions)
    }

    /// The positions at all places of the output, so that they need not be computed again.
    fn listed_positions(&self) -> Result<PositionList> {
        let (count, limit) = (self.order.len(), usize::try_from(self.memory / 4).unwrap_or(usize::MAX));
        let mut list = PositionList::new(self.scratch.directory()?, limit, self.samples.count());
        let positions_of = |block: usize| {
            let start = to_u64(block) * LISTED_AT_ONCE;
            let mut positions = Vec::new();
            self.positions(start..count.min(start + LISTED_AT_ONCE), &mut positions)?;
            Ok(positions)
        };
        let mut listed = Ok(());
        in_order(
            to_usize(count.div_ceil(LISTED_AT_ONCE), "the number of blocks")?,
            positions_of,
            |positions| {
                listed = list.extend(&positions);
                listed.is_err()
            },
        )?;
        listed?;
        list.finish()?;
        Ok(list)
    }
}

/// Counts the samples of all passes, and reports them to the caller, who can stop the work.
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
            in_one_pass(job, writer, &mut progress)?;
            Ok(0)
        }
        Passes::Two { runs } => {
            let mut progress = Progress { done: 0, total: samples.saturating_mul(2), tell };
            match through_buckets(job, writer, &mut progress)? {
                Some(temporary) => Ok(temporary),
                None => through_runs(job, runs, writer, &mut progress),
            }
        }
    }
}

fn in_one_pass(job: &Rewrite<'_>, writer: &mut DatasetWriter, progress: &mut Progress<'_>) -> Result<()> {
    if let Some(lines) = job.samples.lines()
        && write_lines_in_order(job, lines, writer, progress)?
    {
        return Ok(());
    }
    let mut positions = Vec::new();
    let block = match job.samples.lines() {
        Some(_) => BLOCK_OF_LINES,
        None => block_rows(job.order.len(), job.bytes),
    };
    for places in blocks(job.order.len(), block) {
        job.positions(places.clone(), &mut positions)?;
        let emit = |i: usize, encoder: &mut RowEncoder| job.samples.emit(positions[i], encoder);
        match job.samples.lines() {
            Some(lines) => writer.write_lines(lines, &positions)?,
            None if positions.is_sorted() => writer.write_rows_in_order(positions.len(), &emit)?,
            None => writer.write_rows(positions.len(), &emit)?,
        }
        progress.add(places.end - places.start)?;
        interrupt::check()?;
    }
    Ok(())
}

/// Writes all lines on all threads. Returns false, and writes none, if they must be written one by one.
fn write_lines_in_order(
    job: &Rewrite<'_>,
    lines: &PlainLines<'_>,
    writer: &mut DatasetWriter,
    progress: &mut Progress<'_>,
) -> Result<bool> {
    let has_all = job.has_all();
    // For a single file, the order of all rows is read only once. Otherwise, reading must not compute a shuffle's
    // places again.
    let is_read_again = !has_all || !writer.has_one_file_for(lines);
    let is_computed = matches!(job.order, Order::Shuffled(_));
    let list = if is_read_again && is_computed { Some(job.listed_positions()?) } else { None };
    let rows = |places: Range<u64>| {
        let mut rows = Vec::new();
        match &list {
            Some(list) => list.read(places, &mut rows)?,
            None => job.positions(places, &mut rows)?,
        }
        Ok(rows)
    };
    let order = RowOrder { len: job.order.len(), has_all, rows: &rows };
    writer.write_order(lines, &order, &mut |rows| progress.add(rows))
}

/// Writes the samples through buckets, and returns their size; returns `None`, and writes nothing, if this is not
/// possible.
fn through_buckets(
    job: &Rewrite<'_>,
    writer: &mut DatasetWriter,
    progress: &mut Progress<'_>,
) -> Result<Option<u64>> {
    let Some(lines) = job.samples.lines().filter(|_| job.has_all() && !writer.is_directory()) else {
        return Ok(None);
    };
    let Some(form) = writer.form_of(lines, &job.first_positions()?)? else { return Ok(None) };
    let Some(mut buckets) = Buckets::create(job, lines, &form, writer.main_file()?) else { return Ok(None) };
    if !buckets.fill(job.order, &mut |rows| progress.add(rows))? {
        return Ok(None);
    }
    let arrange = |number| buckets.arrange(number);
    let blocks = FormBlocks { count: buckets.count(), make: &arrange, threads: Some(buckets.threads()) };
    writer.write_form(&form, &blocks, &mut |rows| progress.add(rows))?;
    Ok(Some(buckets.stored_bytes()))
}

/// Writes the samples through runs, and returns their size.
fn through_runs(
    job: &Rewrite<'_>,
    count: u64,
    writer: &mut DatasetWriter,
    progress: &mut Progress<'_>,
) -> Result<u64> {
    let runs = Runs::divide(job, count, job.scratch.directory()?)?;
    let options = writer.options().clone();
    runs.write(job, &options, progress)?;
    if writer.is_directory()
        && let Some(temporary) = write_all_runs(job, &runs, writer, progress)?
    {
        return Ok(temporary);
    }
    let mut temporary = 0;
    for run in 0..runs.bounds.len() {
        temporary += file_bytes(&runs.path(run));
        write_run(&runs, run, writer, progress)?;
        runs.remove(run)?;
    }
    Ok(temporary)
}

/// Writes the samples of all runs to the shards of a directory, several shards at once. Returns the size of the runs;
/// `None`, and writes nothing, if samples must be written one by one.
fn write_all_runs(
    job: &Rewrite<'_>,
    runs: &Runs,
    writer: &mut DatasetWriter,
    progress: &mut Progress<'_>,
) -> Result<Option<u64>> {
    let paths: Vec<PathBuf> = (0..runs.bounds.len()).map(|run| runs.path(run)).collect();
    let shards = paths.iter().map(|path| open_run(path, writer.options())).collect::<Result<Vec<_>>>()?;
    let shards: Vec<&Shard> = shards.iter().collect();
    let Some(lines) = PlainLines::of(&shards, writer.options())? else { return Ok(None) };
    let (len, limit) = (job.order.len(), usize::try_from(job.memory / 4).unwrap_or(usize::MAX));
    let mut list = PositionList::new(job.scratch.directory()?, limit, len);
    for (run, bounds) in runs.bounds.iter().enumerate() {
        let rows: Vec<u64> = runs.rows_by_place(run)?.into_iter().map(|row| bounds.start + row).collect();
        list.extend(&rows)?;
    }
    list.finish()?;
    let rows = |places: Range<u64>| {
        let mut rows = Vec::new();
        list.read(places, &mut rows)?;
        Ok(rows)
    };
    let order = RowOrder { len, has_all: true, rows: &rows };
    if !writer.write_order(&lines, &order, &mut |rows| progress.add(rows))? {
        return Ok(None);
    }
    let temporary = paths.iter().map(|path| file_bytes(path)).sum();
    (0..paths.len()).try_for_each(|run| runs.remove(run))?;
    Ok(Some(temporary))
}

/// Writes the samples of one run in their new order.
fn write_run(runs: &Runs, run: usize, writer: &mut DatasetWriter, progress: &mut Progress<'_>) -> Result<()> {
    let rows = runs.rows_by_place(run)?;
    let shard = open_run(&runs.path(run), writer.options())?;
    let lines = PlainLines::of(&[&shard], writer.options())?;
    let block = match &lines {
        Some(_) => BLOCK_OF_LINES,
        None => block_rows(to_u64(rows.len()), file_bytes(&runs.path(run))),
    };
    for places in blocks(to_u64(rows.len()), block) {
        let rows = &rows[to_usize(places.start, "a place")?..to_usize(places.end, "a place")?];
        match &lines {
            Some(lines) => writer.write_lines(lines, rows)?,
            None => writer.write_rows(rows.len(), &|i, encoder| shard.emit_row(rows[i], encoder))?,
        }
        progress.add(to_u64(rows.len()))?;
        interrupt::check()?;
    }
    Ok(())
}

fn open_run(path: &Path, options: &WriteOptions) -> Result<Shard> {
    let mut open_options = OpenOptions { verify: Verify::Rows, ..OpenOptions::default() };
    open_options.limits.max_value_bytes = options.encode.max_value_bytes;
    Shard::open(path, &open_options)
}

/// How many of some rows, which have `bytes` bytes in total, to write at a time.
fn block_rows(rows: u64, bytes: u64) -> u64 {
    (BLOCK_BYTES / (bytes / rows.max(1)).max(1)).clamp(*BLOCK_ROWS.start(), *BLOCK_ROWS.end())
}

fn blocks(count: u64, rows: u64) -> impl Iterator<Item = Range<u64>> {
    (0..count.div_ceil(rows)).map(move |block| block * rows..count.min((block + 1) * rows))
}
