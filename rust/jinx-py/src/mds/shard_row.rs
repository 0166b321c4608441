//! A row of an MDS shard, for samples that may outlive the open files.

use jinx_mds::read::shard::{ColumnSpans, Row, Shard};
use std::sync::{Arc, Weak};

/// The location of the columns of a sample. It does not keep the file of the shard open; only the open dataset does.
#[derive(Clone)]
pub struct ShardRow {
    shard: HeldShard,
    spans: Arc<ColumnSpans>,
}

#[derive(Clone)]
enum HeldShard {
    File(Weak<Shard>),
    /// Decoded from a compressed file. This may be the only reference to it.
    Memory(Arc<Shard>),
}

impl ShardRow {
    pub fn of(row: &Row) -> Self {
        let shard = row.shard();
        let shard = match shard.source() {
            Some(_) => HeldShard::File(Arc::downgrade(shard)),
            None => HeldShard::Memory(Arc::clone(shard)),
        };
        Self { shard, spans: Arc::clone(row.spans()) }
    }

    /// Returns the row; `None` if its shard is closed. Keep the row while you read it.
    pub fn row(&self) -> Option<Row> {
        let shard = match &self.shard {
            HeldShard::File(shard) => shard.upgrade()?,
            HeldShard::Memory(shard) => Arc::clone(shard),
        };
        Some(Row::from_parts(shard, Arc::clone(&self.spans)))
    }

    /// Whether this holds the decompressed bytes of a sample that was compressed as one piece.
    pub fn has_copy(&self) -> bool {
        self.spans.whole().is_some()
    }
}
