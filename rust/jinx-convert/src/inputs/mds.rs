//! Rows of MDS directories: workers read uncompressed shards; shards compressed as files are decoded ahead in memory.

use crate::inputs::Opener;
use crate::{RowChunk, RowSource, Selection};
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::error::{Error, Result};
use jinx_core::row_events::Sink;
use jinx_mds::read::decode_ahead::ShardPrefetcher;
use jinx_mds::read::directory::{Directory, Hashes, Options};
use jinx_mds::read::shard::{Row, Shard};
use std::path::Path;
use std::sync::Arc;

/// The intended size of a chunk of rows, estimated from the shard's average.
const CHUNK_BYTES: u64 = 1 << 20;
const MAX_CHUNK_ROWS: u64 = 4096;

/// The rows of one directory.
pub struct MdsRows {
    directory: Arc<Directory>,
    feed: Option<ShardPrefetcher>,
    selection: Option<Arc<Selection>>,
    next: u64,
    bytes_read: u64,
}

impl MdsRows {
    /// # Errors
    /// The errors of [`Directory::open`].
    pub fn open(path: &Path) -> Result<Self> {
        // Check all hashes: the output gets new checksums, which must not hide damage.
        let options = Options { hashes: Hashes::All, ..Options::default() };
        let directory = Arc::new(Directory::open(vec![path.to_owned()], options)?);
        let feed = directory.has_packed().then(|| ShardPrefetcher::new(Arc::clone(&directory), 0));
        Ok(Self { directory, feed, selection: None, next: 0, bytes_read: 0 })
    }

    /// Returns an opener for a source that is opened when it is needed.
    pub fn opener(path: &Path) -> Opener {
        let path = path.to_owned();
        Box::new(move || Ok(Box::new(Self::open(&path)?)))
    }
}

/// Names and encodings of a directory's columns, and the number of bytes in its files.
///
/// # Errors
/// The errors of [`Directory::open`].
pub fn mds_columns(path: &Path) -> Result<(Vec<(String, String)>, u64)> {
    let directory = Directory::open(vec![path.to_owned()], Options::default())?;
    let bytes = |shard| directory.info(shard).map_or(0, |info| info.raw.bytes);
    let total = (0..directory.count()).map(bytes).sum();
    Ok((directory.columns(), total))
}

impl RowSource for MdsRows {
    fn next_chunk(&mut self) -> Result<Option<Box<dyn RowChunk>>> {
        if self.next >= self.directory.len() {
            return Ok(None);
        }
        let (at, index) = self.directory.place(self.next);
        let info = self.directory.info(at).ok_or_else(|| Error::invalid("no such shard"))?;
        let average = (info.raw.bytes / info.samples.max(1)).max(1);
        let piece = self.feed.as_mut().and_then(|feed| feed.piece(self.next));
        let (shard, index, left) = match piece {
            Some(piece) => {
                let skipped = self.next - piece.first;
                (Arc::clone(&piece.shard), piece.index + skipped, piece.count - skipped)
            }
            None => (self.directory.shard(at)?, index, info.samples - index),
        };
        let rows = (CHUNK_BYTES / average).clamp(1, MAX_CHUNK_ROWS).min(left);
        self.next += rows;
        self.bytes_read += rows * average;
        let selection = self.selection.clone();
        let count = to_usize(rows, "the rows of a chunk")?;
        Ok(Some(Box::new(MdsChunk { shard, first: index, count, bytes: rows * average, selection })))
    }

    fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    fn total_bytes(&self) -> Option<u64> {
        let bytes = |shard| self.directory.info(shard).map_or(0, |info| info.raw.bytes);
        Some((0..self.directory.count()).map(bytes).sum())
    }

    fn select(&mut self, selection: &Arc<Selection>) {
        self.selection = Some(Arc::clone(selection));
    }
}

struct MdsChunk {
    shard: Arc<Shard>,
    first: u64,
    count: usize,
    bytes: u64,
    selection: Option<Arc<Selection>>,
}

impl MdsChunk {
    fn row(&self, i: usize) -> Result<Row> {
        self.shard.row(self.first + to_u64(i))
    }
}

impl RowChunk for MdsChunk {
    fn len(&self) -> usize {
        self.count
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn emit(&self, i: usize, mut sink: &mut dyn Sink) -> Result<()> {
        let wants = |name: &str| self.selection.as_ref().is_none_or(|selection| selection.reads(name));
        self.row(i)?.emit(&wants, &mut sink)
    }

    fn locate(&self, i: usize, error: Error) -> Error {
        self.shard.here(error, self.first + to_u64(i))
    }
}
