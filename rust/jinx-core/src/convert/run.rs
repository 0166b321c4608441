//! One conversion from start to end.

use super::ordered::{Commit, ordered};
use super::select::{Select, Selection};
use super::{ChunkEncoder, ConvertOptions, Progress, RowChunk, RowSource, RowTarget, Summary};
use crate::error::Result;
use crate::num::to_u64;
use crate::sink::Sink;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What a worker has encoded is handed on from this size on, so that small rows that stand for large values cannot
/// fill the memory.
const PART_BYTES: u64 = 4 << 20;
/// Least time between two reports.
const REPORT_EVERY: Duration = Duration::from_millis(80);

/// Some rows of a chunk.
struct Piece {
    chunk: Box<dyn RowChunk>,
    /// Rows of it that count.
    rows: usize,
}

struct Encoded<P> {
    part: P,
    rows: u64,
}

/// Converts all rows of `source`. `progress` is called now and then on this thread, and once at the end.
///
/// # Errors
/// The first one in the order of rows, `Invalid` for fields that no row has, or what `progress` returns to stop.
/// Nothing is published then.
pub fn run<T: RowTarget>(
    mut source: Box<dyn RowSource>,
    target: T,
    options: &ConvertOptions,
    progress: &mut dyn FnMut(Progress) -> Result<()>,
) -> Result<Summary> {
    let selection = Selection::new(options.fields.as_deref(), &options.rename)?.map(Arc::new);
    if let Some(selection) = &selection {
        source.select(selection);
    }
    let total_bytes = source.total_bytes();
    let bytes_read = Arc::new(AtomicU64::new(0));
    let read_so_far = Arc::clone(&bytes_read);
    let workers = (0..options.workers())
        .map(|_| {
            let select = selection.clone().map(Select::new);
            let mut worker = Worker { encoder: target.encoder()?, select };
            Ok(move |piece, hand_over: HandOver<'_, T::Part>| worker.work(piece, hand_over))
        })
        .collect::<Result<Vec<_>>>()?;
    let mut writing = Writing { target, progress, rows: 0, bytes_read, total_bytes, last: Instant::now() };
    let mut left = options.limit.unwrap_or(u64::MAX);
    let produce = move || {
        while left > 0 {
            let Some(chunk) = source.next_chunk()? else { break };
            read_so_far.store(source.bytes_read(), Ordering::Relaxed);
            let rows = chunk.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            left -= to_u64(rows);
            if rows > 0 {
                let bytes = chunk.bytes();
                return Ok(Some((Piece { chunk, rows }, bytes)));
            }
        }
        Ok(None)
    };
    ordered(produce, workers, &mut writing)?;
    if let Some(selection) = &selection {
        selection.check(writing.rows)?;
    }
    writing.report()?;
    let rows = writing.rows;
    Ok(Summary { rows, ..writing.target.finish()? })
}

/// One thread's half of a conversion.
struct Worker<E> {
    encoder: E,
    select: Option<Select>,
}

/// Takes a part of a result that goes on.
type HandOver<'a, P> = &'a mut dyn FnMut(Encoded<P>) -> Result<()>;

impl<E: ChunkEncoder> Worker<E> {
    fn work(&mut self, piece: Piece, hand_over: HandOver<'_, E::Part>) -> Result<Encoded<E::Part>> {
        let chunk = &*piece.chunk;
        let mut rows = 0;
        for i in 0..piece.rows {
            let select = &mut self.select;
            let mut emit = |sink: &mut dyn Sink| match select {
                Some(select) => chunk.emit(i, &mut select.around(sink)),
                None => chunk.emit(i, sink),
            };
            self.encoder.encode(&mut emit).map_err(|error| chunk.locate(i, error))?;
            rows += 1;
            if self.encoder.bytes() >= PART_BYTES && i + 1 < piece.rows {
                let part = self.encoder.take().map_err(|error| chunk.locate(i, error))?;
                hand_over(Encoded { part, rows })?;
                rows = 0;
            }
        }
        let part = self.encoder.take().map_err(|error| chunk.locate(piece.rows - 1, error))?;
        Ok(Encoded { part, rows })
    }
}

struct Writing<'a, T> {
    target: T,
    progress: &'a mut dyn FnMut(Progress) -> Result<()>,
    rows: u64,
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

impl<T: RowTarget> Commit<Encoded<T::Part>> for Writing<'_, T> {
    fn commit(&mut self, encoded: Encoded<T::Part>) -> Result<()> {
        self.target.commit(encoded.part)?;
        self.rows += encoded.rows;
        Ok(())
    }

    fn tick(&mut self) -> Result<()> {
        if self.last.elapsed() >= REPORT_EVERY { self.report() } else { Ok(()) }
    }
}
