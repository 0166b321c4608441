//! Prefetches an MDS sample: its long values, or the whole sample if it is compressed as one piece.

use crate::ffi::uninit_bytes::Container;
use crate::mds::shard_row::ShardRow;
use crate::mds::value::{DETACH_BYTES, container};
use crate::prefetch::value::ValueSource;
use crate::prefetch::work::{Turn, Work};
use jinx_core::io::UninitSlice;
use jinx_core::{Error, Result};
use jinx_dataset::mds::MdsRows;
use jinx_mds::read::shard::Row;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// A long value of a raw sample.
pub struct MdsValue {
    row: ShardRow,
    pub column: usize,
    container: Container,
    length: usize,
}

impl ValueSource for MdsValue {
    fn container(&self) -> Container {
        self.container
    }

    fn len(&self) -> usize {
        self.length
    }

    fn read_into<'o>(&self, out: UninitSlice<'o>) -> Result<&'o mut [u8]> {
        let row = self.row.row().ok_or_else(|| Error::invalid("the shard is closed"))?;
        row.read_into(self.column, out)
    }
}

/// Returns the long values of the wanted columns whose bytes are stored unchanged in an object.
pub fn long_values(row: &Row, wanted: impl Fn(&str) -> bool) -> Vec<MdsValue> {
    let (shard_row, mut values) = (ShardRow::of(row), Vec::new());
    for (column, stored) in row.columns().all.iter().enumerate() {
        let length = row.len_of(column);
        if let Some(container) = stored.encoding.as_ref().and_then(container)
            && length >= DETACH_BYTES
            && wanted(&stored.name)
            && let Ok(length) = usize::try_from(length)
        {
            values.push(MdsValue { row: shard_row.clone(), column, container, length });
        }
    }
    values
}

/// A sample that is compressed as one piece. Its decompressed bytes are not a Python object, so any thread may drop
/// them.
pub struct PendingRow {
    dataset: Arc<MdsRows>,
    position: u64,
    bytes: usize,
    is_begun: AtomicBool,
    /// Set to `None` if the row cannot be read.
    row: OnceLock<Option<ShardRow>>,
    turn: Turn,
}

impl PendingRow {
    /// Creates the task for the sample at `position`, which has `bytes` decompressed bytes.
    pub fn new(dataset: Arc<MdsRows>, position: u64, bytes: usize) -> Self {
        let (is_begun, row) = (AtomicBool::new(false), OnceLock::new());
        Self { dataset, position, bytes, is_begun, row, turn: Turn::default() }
    }

    /// Returns the row. `None` if reading failed; a normal lookup then reports the error. Needs no GIL.
    pub fn wait(&self) -> Option<ShardRow> {
        self.run();
        self.turn.wait(|| self.row.get().is_none());
        self.row.get()?.clone()
    }

    /// Whether [`PendingRow::wait`] returns immediately.
    pub fn is_done(&self) -> bool {
        self.row.get().is_some()
    }
}

impl Work for PendingRow {
    fn run(&self) {
        if self.is_begun.swap(true, Ordering::Relaxed) {
            return;
        }
        /// Sets a result even after a panic, so that no thread waits forever.
        struct Finish<'r>(&'r OnceLock<Option<ShardRow>>);
        impl Drop for Finish<'_> {
            fn drop(&mut self) {
                let _ = self.0.set(None);
            }
        }
        let finish = Finish(&self.row);
        let row = self.dataset.directory.get().and_then(|directory| directory.row(self.position));
        let _ = finish.0.set(row.ok().map(|row| ShardRow::of(&row)));
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn is_final(&self) -> bool {
        false
    }

    fn turn(&self) -> &Turn {
        &self.turn
    }

    fn let_go(self: Arc<Self>) {}
}
