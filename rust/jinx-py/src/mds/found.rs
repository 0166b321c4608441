//! Rows of MDS shards, for samples that may outlive the open files.

use jinx_mds::read::shard::{FoundColumns, Row, Shard};
use std::sync::{Arc, Weak};

/// Where the columns of a sample are. The open dataset keeps the file of its shard open, this does not.
#[derive(Clone)]
pub struct FoundRow {
    shard: HeldShard,
    columns: Arc<FoundColumns>,
}

#[derive(Clone)]
enum HeldShard {
    File(Weak<Shard>),
    /// Decoded from a compressed file; nobody else may have it any more.
    Memory(Arc<Shard>),
}

impl FoundRow {
    pub fn of(row: &Row) -> Self {
        let shard = row.shard();
        let shard = match shard.source() {
            Some(_) => HeldShard::File(Arc::downgrade(shard)),
            None => HeldShard::Memory(Arc::clone(shard)),
        };
        Self { shard, columns: Arc::clone(row.found()) }
    }

    /// The row, to be held while it is read; `None` when its shard is closed.
    pub fn row(&self) -> Option<Row> {
        let shard = match &self.shard {
            HeldShard::File(shard) => shard.upgrade()?,
            HeldShard::Memory(shard) => Arc::clone(shard),
        };
        Some(Row::again(shard, Arc::clone(&self.columns)))
    }

    /// Whether it holds the bytes of a sample that was decompressed as one piece.
    pub fn has_copy(&self) -> bool {
        self.columns.whole().is_some()
    }
}
