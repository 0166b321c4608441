//! Rows encoded on several threads, and passed on in an order that does not depend on the threads.

use crate::write::encode::{EncodedRow, RowEncoder};
use jinx_core::checked_math::to_u64;
use jinx_core::error::{Error, Result};
use jinx_core::panics::caught;
use jinx_core::threads;
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};

/// Emits row `i` of those being written.
pub type EmitRow<'e> = dyn Fn(usize, &mut RowEncoder) -> Result<()> + Sync + 'e;

/// The size in bytes of the rows that a thread takes at a time, estimated from the mean size of the rows so far. Values
/// are still in the processor's caches when they are written.
const CHUNK_BYTES: usize = 512 << 10;
const FIRST_CHUNK_ROWS: usize = 16;
const MAX_CHUNK_ROWS: usize = 1024;
/// A longer chunk is passed on in parts of this size.
const PART_BYTES: usize = 256 << 10;
/// The maximum number of parts per thread that wait to be written.
const WAITING_PARTS: usize = 2;

/// Consecutive encoded rows.
pub(super) struct EncodedPart {
    pub(super) rows: Vec<EncodedRow>,
    /// Why the row after these was left out.
    pub(super) refused: Option<Error>,
    is_last: bool,
}

/// Rows that will be encoded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows {
    pub(super) count: usize,
    /// The number of the first one in the dataset.
    pub(super) first: u64,
    /// Whether the rows come from ascending positions in their files.
    pub(super) in_order: bool,
}

/// Encodes rows, with one thread per encoder, and passes them to `write` in order.
///
/// Rows that come in order and consist of stored values are only moved from file to file: one thread does that with
/// half the processor time, because they stay in its caches, and the system reads ahead.
///
/// # Errors
/// The first of `write`, which also gets the errors of rows.
pub(super) fn encode_rows(
    encoders: &mut [RowEncoder],
    rows: Rows,
    emit: &EmitRow<'_>,
    mut write: impl FnMut(EncodedPart) -> Result<()>,
) -> Result<()> {
    let Rows { count, first, in_order } = rows;
    let threads = encoders.len().min(count.div_ceil(FIRST_CHUNK_ROWS));
    let Some(encoder) = encoders.first_mut() else { return Ok(()) };
    let mut next = 0;
    if in_order || threads <= 1 {
        encoder.copied_bytes = 0;
        next = if threads <= 1 { count } else { FIRST_CHUNK_ROWS };
        let bytes = Chunk { rows: 0..next, first }.encode(encoder, emit, &mut write)?;
        if next == count {
            return Ok(());
        }
        if encoder.copied_bytes > bytes / 10 * 9 {
            return Chunk { rows: next..count, first }.encode(encoder, emit, &mut write).map(drop);
        }
    }
    let (order, turns) = channel();
    let chunks = Mutex::new(Chunks { next, count, done_rows: 0, done_bytes: 0, order });
    let written = threads::scope(|workers| {
        let mut parts = Vec::with_capacity(threads);
        for (worker, encoder) in encoders.iter_mut().take(threads).enumerate() {
            let (sender, receiver) = sync_channel(WAITING_PARTS);
            let chunks = &chunks;
            let encode = move || work(worker, encoder, chunks, first, emit, &sender);
            if workers.start(encode).is_err() {
                break;
            }
            parts.push(receiver);
        }
        if parts.is_empty() {
            return None;
        }
        // Returning drops the receivers, which ends the threads.
        Some(write_in_order(count - next, &turns, &parts, &mut write))
    });
    match (written, encoders.first_mut()) {
        (Some(written), _) => written,
        (None, Some(encoder)) => {
            Chunk { rows: next..count, first }.encode(encoder, emit, &mut write).map(drop)
        }
        (None, None) => Ok(()),
    }
}

/// The rows that no thread has taken yet.
struct Chunks {
    next: usize,
    count: usize,
    done_rows: usize,
    done_bytes: usize,
    /// The thread of each chunk, in the order of the chunks.
    order: Sender<usize>,
}

impl Chunks {
    /// The next rows for a thread.
    fn take(&mut self, worker: usize) -> Range<usize> {
        let rows = match self.done_rows {
            0 => FIRST_CHUNK_ROWS,
            rows => (CHUNK_BYTES / (self.done_bytes / rows).max(1)).clamp(1, MAX_CHUNK_ROWS),
        };
        let taken = self.next..self.count.min(self.next + rows);
        self.next = taken.end;
        if !taken.is_empty() {
            // After an error, nobody listens.
            let _ = self.order.send(worker);
        }
        taken
    }
}

fn work(
    worker: usize,
    encoder: &mut RowEncoder,
    chunks: &Mutex<Chunks>,
    first: u64,
    emit: &EmitRow<'_>,
    parts: &SyncSender<EncodedPart>,
) {
    let (mut rows, mut bytes) = (0, 0);
    loop {
        let chunk = {
            let mut chunks = chunks.lock().unwrap_or_else(PoisonError::into_inner);
            chunks.done_rows += rows;
            chunks.done_bytes += bytes;
            chunks.take(worker)
        };
        if chunk.is_empty() {
            return;
        }
        rows = chunk.len();
        let mut pass_on = |part| parts.send(part).map_err(|_| Error::interrupted());
        match (Chunk { rows: chunk, first }).encode(encoder, emit, &mut pass_on) {
            Ok(encoded) => bytes = encoded,
            Err(_) => return,
        }
    }
}

fn write_in_order(
    count: usize,
    turns: &Receiver<usize>,
    parts: &[Receiver<EncodedPart>],
    write: &mut impl FnMut(EncodedPart) -> Result<()>,
) -> Result<()> {
    let ended = |_| Error::invalid("an encoder thread ended without a result");
    let mut written = 0;
    while written < count {
        let worker = turns.recv().map_err(ended)?;
        loop {
            let part = parts[worker].recv().map_err(ended)?;
            written += part.rows.len();
            let is_last = part.is_last;
            write(part)?;
            if is_last {
                break;
            }
        }
    }
    Ok(())
}

/// Rows that one thread encodes; the very first row will be row `first` of the dataset.
struct Chunk {
    rows: Range<usize>,
    first: u64,
}

impl Chunk {
    /// Passes the rows on in parts, and returns their total size. A row that is refused is in the last part.
    fn encode(
        self,
        encoder: &mut RowEncoder,
        emit: &EmitRow<'_>,
        pass_on: &mut impl FnMut(EncodedPart) -> Result<()>,
    ) -> Result<usize> {
        let (mut part, mut bytes, mut all_bytes) = (Vec::new(), 0, 0);
        for i in self.rows.clone() {
            match caught(|| encoder.encode(|sink| emit(i, sink)), "an encoder thread") {
                Ok(row) => {
                    bytes += row.text.len()
                        + row.values.iter().map(|value| value.data.memory_bytes()).sum::<usize>();
                    part.push(row);
                }
                Err(error) => {
                    let refused = Some(error.in_sample(self.first + to_u64(i)));
                    pass_on(EncodedPart { rows: part, refused, is_last: true })?;
                    return Ok(all_bytes + bytes);
                }
            }
            if bytes >= PART_BYTES && i + 1 < self.rows.end {
                let rows = std::mem::take(&mut part);
                pass_on(EncodedPart { rows, refused: None, is_last: false })?;
                all_bytes += std::mem::take(&mut bytes);
            }
        }
        pass_on(EncodedPart { rows: part, refused: None, is_last: true })?;
        Ok(all_bytes + bytes)
    }
}
