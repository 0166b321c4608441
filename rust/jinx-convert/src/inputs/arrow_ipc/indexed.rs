//! Arrow files, read with the index at their end, which says where batches are.

use super::message::{BatchBlock, FILE_MARK, MAX_METADATA_BYTES, damaged, ends_early};
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::{Block, root_as_footer};
use arrow_schema::SchemaRef;
use jinx_core::checked_math::{range_within, to_u64, to_usize};
use jinx_core::error::{Error, Result};
use jinx_core::limits::FIRST_RESERVATION_BYTES;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const END_MARK: &[u8] = b"ARROW1";
/// The length of the index, and the magic.
const TRAILER_BYTES: u64 = 10;
const CONTINUES: [u8; 4] = [0xff; 4];

/// The messages in an index: dictionaries, then batches.
pub(crate) struct Indexed {
    file: File,
    len: u64,
    blocks: std::vec::IntoIter<Block>,
    pub(crate) read: Arc<AtomicU64>,
}

impl Indexed {
    /// `None` for a file without an index: a stream, or a file that is compressed or truncated.
    ///
    /// # Errors
    /// `Io`; `Corrupt` for a damaged index.
    pub(crate) fn open(path: &Path) -> Result<Option<(Self, SchemaRef)>> {
        let file = File::open(path).map_err(|error| Error::io(path, &error))?;
        let metadata = file.metadata().map_err(|error| Error::io(path, &error))?;
        let len = metadata.len();
        let Some(end) = len.checked_sub(TRAILER_BYTES).filter(|_| metadata.is_file()) else {
            return Ok(None);
        };
        let mut indexed = Self { file, len, blocks: Vec::new().into_iter(), read: Arc::default() };
        let trailer = indexed.bytes(end, TRAILER_BYTES)?;
        let Some((length, END_MARK)) = trailer.split_first_chunk() else { return Ok(None) };
        if indexed.bytes(0, to_u64(FILE_MARK.len()))? != FILE_MARK {
            return Ok(None);
        }
        let length = u64::from(u32::from_le_bytes(*length));
        let start = end.checked_sub(length).filter(|_| length <= MAX_METADATA_BYTES);
        let start =
            start.ok_or_else(|| Error::corrupt("the index of the Arrow file has an impossible length"))?;
        let bytes = indexed.bytes(start, length)?;
        let footer =
            root_as_footer(&bytes).map_err(|_| Error::corrupt("the index of the Arrow file is damaged"))?;
        let schema = footer.schema().ok_or_else(|| Error::corrupt("the Arrow file has no schema"))?;
        let schema = Arc::new(try_fb_to_schema(schema).map_err(damaged)?);
        let lists = [footer.dictionaries(), footer.recordBatches()];
        let blocks: Vec<Block> = lists.iter().flatten().flatten().copied().collect();
        indexed.blocks = blocks.into_iter();
        Ok(Some((indexed, schema)))
    }

    /// The next message; `None` after the last one.
    pub(crate) fn next(&mut self) -> Result<Option<BatchBlock>> {
        let Some(block) = self.blocks.next() else { return Ok(None) };
        let (Ok(offset), Ok(metadata), Ok(body)) = (
            u64::try_from(block.offset()),
            u64::try_from(block.metaDataLength()),
            u64::try_from(block.bodyLength()),
        ) else {
            return Err(Error::corrupt("the index of the Arrow file has a negative offset"));
        };
        let mut head = self.bytes(offset, metadata)?;
        let length_bytes = if head.starts_with(&CONTINUES) { 8 } else { 4 };
        head.drain(..length_bytes.min(head.len()));
        let body = self.bytes(offset.saturating_add(metadata), body)?;
        Ok(Some(BatchBlock { metadata: head, body: Buffer::from_vec(body) }))
    }

    /// Bytes of the file.
    fn bytes(&mut self, offset: u64, length: u64) -> Result<Vec<u8>> {
        range_within(offset, length, self.len, "an Arrow message")?;
        let mut bytes =
            Vec::with_capacity(to_usize(length.min(FIRST_RESERVATION_BYTES), "an Arrow message")?);
        self.file.seek(SeekFrom::Start(offset))?;
        (&mut self.file).take(length).read_to_end(&mut bytes)?;
        self.read.fetch_add(to_u64(bytes.len()), Ordering::Relaxed);
        if to_u64(bytes.len()) < length { Err(ends_early()) } else { Ok(bytes) }
    }
}
