//! Makes lines on several threads, with the facts about them for the footer.

use crate::fields::{Fact, Measure, Path};
use crate::write::columns::{IndexedType, MISSING};
use jinx_core::error::{Error, Result};
use jinx_core::panics::caught;
use jinx_core::threads;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

/// The number of blocks that may wait for the writer, per thread.
const WAITING_BLOCKS: usize = 1;

/// Consecutive lines, with what the footer needs to know about them.
pub(super) struct LineBlock {
    /// The lines with their newlines.
    pub(super) lines: Vec<u8>,
    /// The end of each line.
    pub(super) ends: Vec<u64>,
    /// The checksum of each line, as little-endian u64.
    pub(super) hashes: Vec<u8>,
    pub(super) columns: Vec<BlockColumn>,
    /// A fact for each column and kind of value, with the number of values.
    pub(super) kinds: Vec<(Fact, u64)>,
}

/// The cells of an indexed column.
pub(super) struct BlockColumn {
    pub(super) path: Arc<Path>,
    pub(super) kind: IndexedType,
    /// The tag and the bits of each cell.
    pub(super) cells: Vec<(u8, u64)>,
}

impl BlockColumn {
    pub(super) fn has_values(&self) -> bool {
        self.cells.iter().any(|(tag, _)| *tag != MISSING)
    }
}

/// The fact that some values at a path have this kind.
pub(super) fn kind_fact(path: &Arc<Path>, kind: &'static str) -> Fact {
    Fact { path: Arc::clone(path), kind, coded: None, quoted: false, mime: None, measure: Measure::None }
}

/// How rows are divided into blocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Division<'r> {
    pub(super) rows: &'r [u64],
    /// The number of rows per block.
    pub(super) block: usize,
    pub(super) threads: usize,
}

/// Makes blocks of `rows` while earlier blocks are being written. Passes each block with its rows to `write`, in order.
/// The block is `None` if `make` cannot make a block of these rows. A single block takes no thread.
///
/// # Errors
/// The first error of `make` or `write`.
pub(super) fn make_blocks(
    Division { rows, block, threads }: Division<'_>,
    make: &(impl Fn(&[u64]) -> Result<Option<LineBlock>> + Sync),
    mut write: impl FnMut(Option<LineBlock>, &[u64]) -> Result<()>,
) -> Result<()> {
    let block = block.max(1);
    if rows.len() <= block {
        return if rows.is_empty() { Ok(()) } else { write(caught(|| make(rows), "making lines")?, rows) };
    }
    let threads = threads.clamp(1, rows.len().div_ceil(block));
    threads::scope(|workers| {
        // Thread `i` makes blocks `i`, `i + threads` and so on.
        let receivers: Vec<_> = (0..threads)
            .map(|first| {
                let (sender, receiver) = sync_channel(WAITING_BLOCKS);
                let work = move || {
                    for rows in rows.chunks(block).skip(first).step_by(threads) {
                        // After an error, the receiver is gone and sending fails.
                        if sender.send(caught(|| make(rows), "a thread that makes lines")).is_err() {
                            return;
                        }
                    }
                };
                workers.start(work).ok().map(|()| receiver)
            })
            .collect();
        let ended = |_| Error::invalid("a thread that makes lines ended without a result");
        for (rows, receiver) in rows.chunks(block).zip(receivers.iter().cycle()) {
            let block = match receiver {
                Some(receiver) => receiver.recv().map_err(ended)?,
                // The system refused to start this thread.
                None => caught(|| make(rows), "making lines"),
            };
            write(block?, rows)?;
        }
        Ok(())
    })
}
