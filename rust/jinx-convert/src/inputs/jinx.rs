//! Rows of JINX datasets, which workers read.

use crate::inputs::Opener;
use crate::{RowChunk, RowSource, Selection};
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::error::{Error, Result};
use jinx_core::row_events::Sink;
use jinx_format::read::open::{ShardRef, resolve};
use jinx_format::read::shard::{OpenOptions, Shard};
use std::path::Path;
use std::sync::Arc;

/// The intended size of a chunk of rows in both files, estimated from the dataset's average.
const CHUNK_BYTES: u64 = 1 << 20;
const MAX_CHUNK_ROWS: u64 = 4096;

/// The rows of one pair.
pub struct JinxRows {
    shard: Arc<Shard>,
    selection: Option<Arc<Selection>>,
    next: u64,
    rows_per_chunk: u64,
    total: u64,
}

impl JinxRows {
    pub fn new(shard: Arc<Shard>) -> Self {
        let side = shard.sidecar().map_or(0, jinx_core::io::Source::len);
        let total = shard.main().len() + side;
        let average = total / shard.len().max(1);
        let rows_per_chunk = (CHUNK_BYTES / average.max(1)).clamp(1, MAX_CHUNK_ROWS);
        Self { shard, selection: None, next: 0, rows_per_chunk, total }
    }

    /// Openers for all shards of `path`, which is a pair or a directory.
    ///
    /// # Errors
    /// The errors of [`resolve`].
    pub fn openers(path: &Path, options: &OpenOptions) -> Result<Vec<Opener>> {
        let opener = |shard: ShardRef| -> Opener {
            let options = options.clone();
            Box::new(move || Ok(Box::new(Self::new(Arc::new(shard.open(&options)?)))))
        };
        Ok(resolve(path)?.into_iter().map(opener).collect())
    }

    fn bytes_of(&self, rows: u64) -> u64 {
        let share = u128::from(self.total) * u128::from(rows) / u128::from(self.shard.len().max(1));
        u64::try_from(share).unwrap_or(self.total)
    }
}

impl RowSource for JinxRows {
    fn next_chunk(&mut self) -> Result<Option<Box<dyn RowChunk>>> {
        let end = (self.next + self.rows_per_chunk).min(self.shard.len());
        if self.next >= end {
            return Ok(None);
        }
        let (first, count) = (self.next, end - self.next);
        self.next = end;
        Ok(Some(Box::new(JinxChunk {
            shard: Arc::clone(&self.shard),
            selection: self.selection.clone(),
            bytes: self.bytes_of(count),
            first,
            count: to_usize(count, "the rows of a chunk")?,
        })))
    }

    fn bytes_read(&self) -> u64 {
        self.bytes_of(self.next)
    }

    fn total_bytes(&self) -> Option<u64> {
        Some(self.total)
    }

    fn select(&mut self, selection: &Arc<Selection>) {
        self.selection = Some(Arc::clone(selection));
    }
}

struct JinxChunk {
    shard: Arc<Shard>,
    selection: Option<Arc<Selection>>,
    first: u64,
    count: usize,
    bytes: u64,
}

impl RowChunk for JinxChunk {
    fn len(&self) -> usize {
        self.count
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn emit(&self, i: usize, mut sink: &mut dyn Sink) -> Result<()> {
        let row = self.first + to_u64(i);
        let Some(selection) = &self.selection else {
            return self.shard.emit_row(row, &mut sink);
        };
        let line = self.shard.line(row)?;
        self.shard
            .emit_line(&line, &|name| selection.reads(name), &mut sink)
            .map_err(|error| self.shard.here(error, row))
    }

    fn locate(&self, i: usize, error: Error) -> Error {
        self.shard.here(error, self.first + to_u64(i))
    }
}
