//! The first of two passes: reads the input in its own order, and writes each sample to its run.
//!
//! A run has the samples of a contiguous part of the output, still in the order of the input, as a pair of files. Each
//! thread writes its own runs, so threads exchange no data. All threads read one window of the input, then the next.

use crate::position_list::PositionList;
use crate::rewrite::{Progress, Rewrite, Samples};
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::cores::usable_cores;
use jinx_core::error::{Error, Result};
use jinx_core::interrupt;
use jinx_core::io::{FileOps, RealOps, sidecar_path};
use jinx_core::threads;
use jinx_format::write::encode::RowEncoder;
use jinx_format::write::options::{ColumnChoice, WriteOptions};
use jinx_format::write::pair::PairBuilder;
use jinx_format::write::pair_target::PairFiles;
use jinx_format::write::plain_lines::PlainLines;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The number of entries of a run's list to read at a time.
const LIST_BLOCK: u64 = 4096;

/// All runs, with the samples of each.
pub struct Runs {
    folder: PathBuf,
    pub bounds: Vec<Range<u64>>,
    /// For each run, in the order of the input: the position of a sample, and its place in the run.
    list: PositionList,
}

impl Runs {
    /// Divides the output into `count` runs.
    ///
    /// # Errors
    /// `Io` if the file with a long list cannot be read or written.
    pub fn divide(job: &Rewrite<'_>, count: u64, folder: &Path) -> Result<Self> {
        let samples = job.order.len();
        let bound = |run: u64| {
            let bound = u128::from(samples) * u128::from(run) / u128::from(count.max(1));
            u64::try_from(bound).unwrap_or(samples)
        };
        let bounds: Vec<_> = (0..count).map(|run| bound(run)..bound(run + 1)).collect();
        let limit = usize::try_from(job.memory / 16).unwrap_or(usize::MAX);
        // The list contains both samples of files and places in a run, because a view may show more samples than the
        // files have.
        let largest = job.samples.count().max(samples);
        let (mut list, mut positions) = (PositionList::new(folder, limit, largest), Vec::new());
        for places in &bounds {
            interrupt::check()?;
            job.positions(places.clone(), &mut positions)?;
            let mut entries: Vec<(u64, u64)> = positions.iter().copied().zip(0..).collect();
            entries.sort_unstable();
            for (position, place) in entries {
                list.push(position)?;
                list.push(place)?;
            }
        }
        list.finish()?;
        Ok(Self { folder: folder.to_owned(), bounds, list })
    }

    pub fn path(&self, run: usize) -> PathBuf {
        self.folder.join(format!("run-{run}.jinx"))
    }

    /// For each place of a run, the row of its sample in the run's files.
    ///
    /// # Errors
    /// `Io` if the list cannot be read.
    pub fn rows_by_place(&self, run: usize) -> Result<Vec<u64>> {
        let range = &self.bounds[run];
        let count = to_usize(range.end - range.start, "the samples of a run")?;
        let (mut rows, mut block) = (vec![0; count], Vec::new());
        let (mut row, mut start) = (0, range.start);
        while start < range.end {
            let end = range.end.min(start + LIST_BLOCK);
            self.list.read(2 * start..2 * end, &mut block)?;
            for place in block.iter().skip(1).step_by(2) {
                rows[to_usize(*place, "a place in a run")?] = row;
                row += 1;
            }
            start = end;
        }
        Ok(rows)
    }

    /// Removes a run's files.
    ///
    /// # Errors
    /// `Io`.
    pub fn remove(&self, run: usize) -> Result<()> {
        let path = self.path(run);
        for path in [sidecar_path(&path), path] {
            if path.exists() {
                RealOps.remove(&path).map_err(|error| Error::io(&path, &error))?;
            }
        }
        Ok(())
    }

    /// Writes all runs. `options` are the options of the output.
    ///
    /// # Errors
    /// Errors of reading the input and of writing; `Interrupted`.
    pub fn write(
        &self,
        job: &Rewrite<'_>,
        options: &WriteOptions,
        progress: &mut Progress<'_>,
    ) -> Result<()> {
        let options = Arc::new(run_options(options, job.samples.lines().is_some()));
        let threads = match options.threads {
            0 => usable_cores(),
            threads => threads,
        };
        let mut workers = (0..threads.min(self.bounds.len()))
            .map(|first| Worker::new(self, (first..self.bounds.len()).step_by(threads), &options))
            .collect::<Result<Vec<_>>>()?;
        let total = job.samples.count();
        let window = window_of(job, total);
        let mut start = 0;
        while start < total {
            interrupt::check()?;
            let end = total.min(start.saturating_add(window));
            let written = in_parallel(&mut workers, |worker| worker.advance(job.samples, end, self))?;
            progress.add(written.into_iter().sum())?;
            start = end;
        }
        in_parallel(&mut workers, Worker::finish).map(drop)
    }
}

/// The number of input positions in a window. Threads wait for each other after each window.
fn window_of(job: &Rewrite<'_>, total: u64) -> u64 {
    let window = u128::from(total) * u128::from(job.memory / 8) / u128::from(job.bytes.max(1));
    u64::try_from(window).unwrap_or(u64::MAX).max(1)
}

/// The output's options, except those that runs do not need. Runs have indexed columns only if lines are copied, which
/// also copies their columns.
fn run_options(options: &WriteOptions, is_plain: bool) -> WriteOptions {
    WriteOptions {
        encode: options.encode.clone(),
        columns: if is_plain { options.columns.clone() } else { ColumnChoice::Only(Vec::new()) },
        media: options.media.clone(),
        threads: options.threads,
        ..WriteOptions::default()
    }
}

fn in_parallel<T: Send>(
    workers: &mut [Worker],
    work: impl Fn(&mut Worker) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let done = threads::map(workers.len(), workers, "a writing thread", |worker, _| work(worker));
    done.into_iter().collect()
}

/// Writes some of the runs.
struct Worker {
    encoder: RowEncoder,
    runs: Vec<RunWriter>,
    /// For each unfinished run: the position of its next sample, and its place in `runs`.
    heads: BinaryHeap<Reverse<(u64, usize)>>,
}

struct RunWriter {
    /// `None` once the run is finished.
    pair: Option<PairBuilder>,
    /// The entries of the list that were not read yet.
    left: Range<u64>,
    /// Positions that were read from the list, in reverse, so that the next one is last.
    ahead: Vec<u64>,
}

impl RunWriter {
    /// The position of the next sample; `None` after the last.
    fn next(&mut self, list: &PositionList) -> Result<Option<u64>> {
        if self.ahead.is_empty() && self.left.start < self.left.end {
            let end = self.left.end.min(self.left.start + LIST_BLOCK);
            let mut block = Vec::new();
            list.read(2 * self.left.start..2 * end, &mut block)?;
            self.left.start = end;
            self.ahead.extend(block.into_iter().step_by(2).rev());
        }
        Ok(self.ahead.pop())
    }
}

impl Worker {
    fn new(runs: &Runs, numbers: impl Iterator<Item = usize>, options: &Arc<WriteOptions>) -> Result<Self> {
        let encoder = RowEncoder::new(Arc::new(options.encode.clone()))?;
        let mut worker = Self { encoder, runs: Vec::new(), heads: BinaryHeap::new() };
        for run in numbers {
            let path = runs.path(run);
            let files = Box::new(RunFiles::create(&path)?);
            let pair = Some(PairBuilder::new(&path, files, options)?);
            let mut writer = RunWriter { pair, left: runs.bounds[run].clone(), ahead: Vec::new() };
            let at = worker.runs.len();
            worker.heads.extend(writer.next(&runs.list)?.map(|position| Reverse((position, at))));
            worker.runs.push(writer);
        }
        Ok(worker)
    }

    /// Writes the remaining samples at positions below `end`; returns their number.
    fn advance(&mut self, samples: &dyn Samples, end: u64, runs: &Runs) -> Result<u64> {
        match samples.lines() {
            Some(lines) => self.advance_lines(lines, end, runs),
            None => self.advance_rows(samples, end, runs),
        }
    }

    /// Like [`Self::advance`], but one run after another: the lines of a window are close together in the input.
    fn advance_lines(&mut self, lines: &PlainLines<'_>, end: u64, runs: &Runs) -> Result<u64> {
        let (mut heads, mut written) = (BinaryHeap::with_capacity(self.heads.len()), 0);
        for Reverse((first, at)) in std::mem::take(&mut self.heads) {
            let run = &mut self.runs[at];
            let (mut rows, mut next) = (Vec::new(), Some(first));
            while let Some(position) = next.filter(|position| *position < end) {
                rows.push(position);
                next = run.next(&runs.list)?;
            }
            heads.extend(next.map(|position| Reverse((position, at))));
            if let Some(pair) = &mut run.pair {
                pair.write_lines(lines, &rows, &mut self.encoder)?;
            }
            written += to_u64(rows.len());
        }
        self.heads = heads;
        Ok(written)
    }

    fn advance_rows(&mut self, samples: &dyn Samples, end: u64, runs: &Runs) -> Result<u64> {
        let mut written = 0;
        while let Some(Reverse((position, at))) = self.heads.peek().copied()
            && position < end
        {
            self.heads.pop();
            let row = self.encoder.encode(|encoder| samples.emit(position, encoder))?;
            let run = &mut self.runs[at];
            if let Some(pair) = &mut run.pair {
                pair.admit(&row).map_err(|error| error.in_sample(position))?;
                pair.write(row)?;
            }
            written += 1;
            self.heads.extend(run.next(&runs.list)?.map(|position| Reverse((position, at))));
        }
        self.runs.iter_mut().filter_map(|run| run.pair.as_mut()).try_for_each(PairBuilder::flush_values)?;
        Ok(written)
    }

    fn finish(&mut self) -> Result<()> {
        for pair in self.runs.iter_mut().filter_map(|run| run.pair.take()) {
            // The files need no sync, because nobody reads them after a crash.
            pair.finish(-1)?;
        }
        Ok(())
    }
}

/// The files of a run, which are read only by this process.
struct RunFiles {
    path: PathBuf,
    main: File,
    sidecar: Option<File>,
}

impl RunFiles {
    fn create(path: &Path) -> Result<Self> {
        let main = RealOps.create(path).map_err(|error| Error::io(path, &error))?;
        Ok(Self { path: path.to_owned(), main, sidecar: None })
    }
}

impl PairFiles for RunFiles {
    fn main_file(&mut self) -> &mut File {
        &mut self.main
    }

    fn sidecar_file(&mut self) -> Result<&mut File> {
        match &mut self.sidecar {
            Some(file) => Ok(file),
            none => {
                let path = sidecar_path(&self.path);
                let file = RealOps.create(&path).map_err(|error| Error::io(&path, &error))?;
                Ok(none.insert(file))
            }
        }
    }

    fn are_synced(&self) -> bool {
        false
    }

    fn publish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// The size of the run's files on disk, in bytes.
pub fn file_bytes(path: &Path) -> u64 {
    [path.to_owned(), sidecar_path(path)]
        .iter()
        .filter_map(|path| std::fs::metadata(path).ok())
        .map(|metadata| metadata.len())
        .sum()
}
