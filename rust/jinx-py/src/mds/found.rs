//! Rows of MDS shards, for samples that may outlive the open files.

use jinx_mds::read::shard::{FoundColumns, Row, Shard};
use std::sync::{Arc, Weak};

/// The location of the columns of a sample. It does not keep the file of the shard open; only the open dataset does.
#[derive(Clone)]
pub struct FoundRow {
    shard: HeldShard,
    columns: Arc<FoundColumns>,
}

#[derive(Clone)]
enum HeldShard {
    File(Weak<Shard>),
    /// Decoded from a compressed file. This may be the only reference to it.
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

    /// Returns the row; `None` if its shard is closed. Keep the row while you read it.
    pub fn row(&self) -> Option<Row> {
        let shard = match &self.shard {
            HeldShard::File(shard) => shard.upgrade()?,
            HeldShard::Memory(shard) => Arc::clone(shard),
        };
        Some(Row::again(shard, Arc::clone(&self.columns)))
    }

    /// Whether this holds the bytes of a sample that was decompressed as one piece.
    pub fn has_copy(&self) -> bool {
        self.columns.whole().is_some()
    }
}
