//! Lines that are made on several threads, with what the footer will say of them.

use crate::fields::{Fact, Measure, Path};
use crate::write::columns::{IndexedType, MISSING};
use jinx_core::error::{Error, Result};
use jinx_core::panics::caught;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

/// Blocks of one thread that wait to be written.
const WAITING_BLOCKS: usize = 1;

/// Lines that follow one another.
pub(super) struct LineBlock {
    /// With their newlines.
    pub(super) lines: Vec<u8>,
    /// Where each line ends.
    pub(super) ends: Vec<u64>,
    /// Of each line, as little-endian u64.
    pub(super) hashes: Vec<u8>,
    pub(super) columns: Vec<BlockColumn>,
    /// One for each column and kind of value, with how many there are.
    pub(super) kinds: Vec<(Fact, u64)>,
}

/// The cells of an indexed column.
pub(super) struct BlockColumn {
    pub(super) path: Arc<Path>,
    pub(super) kind: IndexedType,
    /// The tag and the bits of each.
    pub(super) cells: Vec<(u8, u64)>,
}

impl BlockColumn {
    pub(super) fn has_values(&self) -> bool {
        self.cells.iter().any(|(tag, _)| *tag != MISSING)
    }
}

/// That some values at a path are of a kind.
pub(super) fn kind_fact(path: &Arc<Path>, kind: &'static str) -> Fact {
    Fact { path: Arc::clone(path), kind, coded: None, quoted: false, mime: None, measure: Measure::None }
}

/// Which rows become blocks, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct Division<'r> {
    pub(super) rows: &'r [u64],
    /// Rows of a block.
    pub(super) block: usize,
    pub(super) threads: usize,
}

/// Makes the blocks of `rows` while others are written, and hands each in order to `write` with its rows: `None` for
/// rows that `make` cannot put into one.
///
/// # Errors
/// The first of `make` or `write`.
pub(super) fn make_blocks(
    Division { rows, block, threads }: Division<'_>,
    make: &(impl Fn(&[u64]) -> Result<Option<LineBlock>> + Sync),
    mut write: impl FnMut(Option<LineBlock>, &[u64]) -> Result<()>,
) -> Result<()> {
    let block = block.max(1);
    let threads = threads.clamp(1, rows.len().div_ceil(block).max(1));
    std::thread::scope(|scope| {
        // Thread `i` makes the blocks `i`, `i + threads` and so on.
        let made: Vec<_> = (0..threads)
            .map(|first| {
                let (sender, receiver) = sync_channel(WAITING_BLOCKS);
                scope.spawn(move || {
                    for rows in rows.chunks(block).skip(first).step_by(threads) {
                        // Nobody listens once an error has ended everything.
                        if sender.send(caught(|| make(rows), "a thread that makes lines")).is_err() {
                            return;
                        }
                    }
                });
                receiver
            })
            .collect();
        let ended = |_| Error::invalid("a thread that makes lines ended without a result");
        for (rows, receiver) in rows.chunks(block).zip(made.iter().cycle()) {
            write(receiver.recv().map_err(ended)??, rows)?;
        }
        Ok(())
    })
}
