//! One conversion from start to end.

use crate::filters::Filters;
use crate::filters::condition::Condition;
use crate::filters::select::Selection;
use crate::inputs::filtered::Filtered;
use crate::ordered_threads::{Commit, ordered};
use crate::rejects::Rejects;
use crate::row_traits::{ChunkEncoder, RowChunk, RowSource, RowTarget, Summary};
use crate::run_options::ConvertOptions;
use jinx_core::checked_math::to_u64;
use jinx_core::error::{Cause, Error, Result};
use jinx_core::io::RealOps;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The progress of a conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    pub rows: u64,
    pub bytes_read: u64,
    pub total_bytes: Option<u64>,
}

/// A worker passes on its part once it has this size, so that small rows with large values cannot fill memory.
const PART_BYTES: u64 = 4 << 20;
/// Least time between two reports.
const REPORT_EVERY: Duration = Duration::from_millis(80);

/// Some rows of a chunk.
struct ChunkPiece {
    chunk: Arc<dyn RowChunk>,
    /// The rows to use.
    rows: Range<usize>,
}

/// Rows of a chunk, each identified by its position there.
struct EncodedPiece<P> {
    part: P,
    chunk: Arc<dyn RowChunk>,
    /// The rows in `part`.
    rows: Vec<usize>,
    /// Rows that were left out, and why.
    rejected: Vec<(usize, Error)>,
}

/// Converts all rows of `source`. `progress` is called now and then on this thread, and once at the end.
///
/// # Errors
/// The first error in the order of rows, `Invalid` for columns that no row has, or the error of `progress`. Nothing is
/// published then.
pub fn run<T: RowTarget>(
    mut source: Box<dyn RowSource>,
    target: T,
    options: &ConvertOptions,
    progress: &mut dyn FnMut(Progress) -> Result<()>,
) -> Result<Summary> {
    let selection = Selection::without(options.columns.as_deref(), &options.drop, &options.rename)?;
    let condition = options.filter.as_deref().map(Condition::parse).transpose()?.map(Arc::new);
    let also_read = condition.iter().flat_map(|condition| condition.columns());
    let selection = selection.map(|selection| Arc::new(selection.also_reading(also_read)));
    if let Some(selection) = &selection {
        source.select(selection);
    }
    // A limit counts the selected rows in order.
    let condition = match (condition, options.limit) {
        (Some(condition), Some(_)) => {
            source = Filtered::around(source, condition);
            None
        }
        (condition, _) => condition,
    };
    let total_bytes = source.total_bytes();
    let bytes_read = Arc::new(AtomicU64::new(0));
    let read_so_far = Arc::clone(&bytes_read);
    let workers = (0..options.workers())
        .map(|_| {
            let filters = Filters::new(options, selection.as_ref(), condition.clone());
            let filters = (selection.is_some() || !options.is_plain()).then_some(filters);
            let mut worker = Worker::new(target.encoder()?, filters);
            Ok(move |piece, hand_over: HandOver<'_, T::Part>| worker.work(piece, hand_over))
        })
        .collect::<Result<Vec<_>>>()?;
    let rejects = Rejects::new(Arc::new(RealOps), options.rejects.as_deref());
    let last = Instant::now();
    let skips_errors = options.rejects.is_some();
    let mut writing = Writing {
        target,
        progress,
        rows: options.skip,
        rejects,
        skips_errors,
        bytes_read,
        total_bytes,
        last,
    };
    let mut left = options.limit.unwrap_or(u64::MAX);
    let mut skip = options.skip;
    let produce = move || {
        while left > 0 {
            let Some(chunk) = source.next_chunk()? else { break };
            read_so_far.store(source.bytes_read(), Ordering::Relaxed);
            let rows = chunk.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            left -= to_u64(rows);
            let start = rows.min(usize::try_from(skip).unwrap_or(usize::MAX));
            skip -= to_u64(start);
            if start < rows {
                let bytes = chunk.bytes();
                return Ok(Some((ChunkPiece { chunk: chunk.into(), rows: start..rows }, bytes)));
            }
        }
        Ok(None)
    };
    ordered(produce, workers, &mut writing)?;
    if let Some(selection) = &selection {
        selection.check(writing.rows)?;
    }
    if let Some(condition) = &condition {
        condition.check()?;
    }
    writing.report()?;
    let (rows, skipped) = (writing.rows, writing.rejects.finish()?);
    Ok(Summary { rows, skipped, ..writing.target.finish()? })
}

/// The outcome of a row.
enum RowOutcome {
    Encoded,
    /// Left out by the condition that the caller gave.
    NotSelected,
    /// Left out because of an error in it.
    Rejected(Error),
}

/// The part of the work that one worker thread does.
struct Worker<E> {
    encoder: E,
    filters: Option<Filters>,
}

/// Takes a part of an unfinished result.
type HandOver<'a, P> = &'a mut dyn FnMut(EncodedPiece<P>) -> Result<()>;

impl<E: ChunkEncoder> Worker<E> {
    fn new(mut encoder: E, filters: Option<Filters>) -> Self {
        if filters.as_ref().is_some_and(Filters::may_skip) {
            encoder.expect_undo();
        }
        Self { encoder, filters }
    }

    fn work(&mut self, piece: ChunkPiece, hand_over: HandOver<'_, E::Part>) -> Result<EncodedPiece<E::Part>> {
        let ChunkPiece { chunk, rows: all } = piece;
        let end = all.end;
        let (mut rows, mut rejected) = (Vec::new(), Vec::new());
        for i in all {
            match self.row(&*chunk, i).map_err(|error| chunk.locate(i, error))? {
                RowOutcome::Encoded => rows.push(i),
                RowOutcome::NotSelected => {}
                RowOutcome::Rejected(error) => rejected.push((i, error)),
            }
            if self.encoder.bytes() >= PART_BYTES && i + 1 < end {
                let part = self.encoder.take().map_err(|error| chunk.locate(i, error))?;
                let (rows, rejected) = (std::mem::take(&mut rows), std::mem::take(&mut rejected));
                hand_over(EncodedPiece { part, chunk: Arc::clone(&chunk), rows, rejected })?;
            }
        }
        let part = self.encoder.take().map_err(|error| chunk.locate(end - 1, error))?;
        Ok(EncodedPiece { part, chunk, rows, rejected })
    }

    /// Encodes one row, or returns the reason for leaving it out.
    fn row(&mut self, chunk: &dyn RowChunk, i: usize) -> Result<RowOutcome> {
        let Some(filters) = &mut self.filters else {
            return self.encoder.encode(&mut |sink| chunk.emit(i, sink)).map(|()| RowOutcome::Encoded);
        };
        match filters.selects(chunk, i) {
            Ok(true) => {}
            Ok(false) => return Ok(RowOutcome::NotSelected),
            Err(error) if filters.skips(&error) => return Ok(RowOutcome::Rejected(error)),
            Err(error) => return Err(error),
        }
        if !filters.may_skip() {
            let encoded = self.encoder.encode(&mut |sink| filters.emit(chunk, i, sink));
            return encoded.map(|()| RowOutcome::Encoded);
        }
        let row = match filters.whole(chunk, i)? {
            Ok(row) => row,
            Err(reason) => return Ok(RowOutcome::Rejected(reason)),
        };
        match self.encoder.encode(&mut |mut sink| row.emit(&mut sink)) {
            Ok(()) => Ok(RowOutcome::Encoded),
            Err(error) if filters.skips(&error) => {
                self.encoder.undo()?;
                Ok(RowOutcome::Rejected(error))
            }
            Err(error) => Err(error),
        }
    }
}

struct Writing<'a, T> {
    target: T,
    progress: &'a mut dyn FnMut(Progress) -> Result<()>,
    rows: u64,
    rejects: Rejects,
    /// Whether rows that the target refuses are rejected.
    skips_errors: bool,
    bytes_read: Arc<AtomicU64>,
    total_bytes: Option<u64>,
    last: Instant,
}

impl<T: RowTarget> Writing<'_, T> {
    fn report(&mut self) -> Result<()> {
        self.last = Instant::now();
        let bytes_read = self.bytes_read.load(Ordering::Relaxed);
        (self.progress)(Progress { rows: self.rows, bytes_read, total_bytes: self.total_bytes })
    }
}

impl<T: RowTarget> Commit<EncodedPiece<T::Part>> for Writing<'_, T> {
    fn commit(&mut self, encoded: EncodedPiece<T::Part>) -> Result<()> {
        let EncodedPiece { part, chunk, rows, mut rejected } = encoded;
        let (before, skips_errors) = (rejected.len(), self.skips_errors);
        self.target.commit(part, &mut |at, error| {
            let i = rows.get(at).copied().unwrap_or_default();
            // Drop the sample number: the target numbers the samples that it has written, and the source those that it
            // has read.
            let error = error.without_sample();
            if !skips_errors || error.cause() == Cause::Interrupted {
                return Err(chunk.locate(i, error));
            }
            rejected.push((i, error));
            Ok(())
        })?;
        rejected.sort_by_key(|(i, _)| *i);
        let left_out: Vec<usize> = rejected.iter().map(|(i, _)| *i).collect();
        let mut written = rows.iter().filter(|i| left_out.binary_search(i).is_err()).peekable();
        let mut samples = self.rows;
        self.rows += to_u64(rows.len() + before - rejected.len());
        for (i, error) in rejected {
            while written.next_if(|row| **row < i).is_some() {
                samples += 1;
            }
            self.rejects.add(&chunk.locate(i, error), samples)?;
        }
        Ok(())
    }

    fn tick(&mut self) -> Result<()> {
        if self.last.elapsed() >= REPORT_EVERY { self.report() } else { Ok(()) }
    }
}
