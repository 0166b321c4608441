//! Hashes an array of the sidecar while it is written.

use crate::chunk_checksums::chunk_bytes;
use crate::footer::ArrayRef;
use crate::write::sidecar_writer::inline_array;
use jinx_core::checked_math::to_u64;
use jinx_core::error::Result;
use std::hash::Hasher as _;
use twox_hash::XxHash3_64;

/// The checksum of an array, and those of its chunks.
#[derive(Clone)]
pub(crate) struct ArrayHasher {
    whole: XxHash3_64,
    chunks: Option<ChunkHasher>,
}

#[derive(Clone)]
struct ChunkHasher {
    /// The size of a chunk in bytes.
    size: u64,
    current: XxHash3_64,
    /// The number of bytes missing from the current chunk.
    missing: u64,
    /// The checksums of complete chunks.
    sums: Vec<u8>,
}

impl ArrayHasher {
    /// Creates a hasher for an array of `length` bytes.
    pub(crate) fn new(length: u64) -> Self {
        Self::with_chunk(chunk_bytes(length))
    }

    pub(crate) fn with_chunk(size: Option<u64>) -> Self {
        let chunks = size.map(|size| ChunkHasher {
            size,
            current: XxHash3_64::new(),
            missing: size,
            sums: Vec::new(),
        });
        Self { whole: XxHash3_64::new(), chunks }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.whole.write(bytes);
        if let Some(chunks) = &mut self.chunks {
            chunks.write(bytes);
        }
    }

    /// The array's entry in the footer.
    ///
    /// # Errors
    /// The errors of [`inline_array`].
    pub(crate) fn pointer(self, offset: u64, length: u64) -> Result<ArrayRef> {
        let chunk = self.chunks.as_ref().map(|chunks| chunks.size);
        let xs = self.chunks.map(|chunks| inline_array(&chunks.finish()).map(Box::new)).transpose()?;
        let x = Some(format!("{:016x}", self.whole.finish()));
        Ok(ArrayRef::Sidecar { offset, length, x, chunk, xs })
    }
}

impl ChunkHasher {
    fn write(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let take = usize::try_from(self.missing).map_or(bytes.len(), |missing| missing.min(bytes.len()));
            let (now, later) = bytes.split_at(take);
            self.current.write(now);
            self.missing -= to_u64(take);
            if self.missing == 0 {
                self.end_chunk();
            }
            bytes = later;
        }
    }

    fn end_chunk(&mut self) {
        let done = std::mem::replace(&mut self.current, XxHash3_64::new());
        self.sums.extend_from_slice(&done.finish().to_le_bytes());
        self.missing = self.size;
    }

    fn finish(mut self) -> Vec<u8> {
        if self.missing < self.size {
            self.end_chunk();
        }
        self.sums
    }
}
