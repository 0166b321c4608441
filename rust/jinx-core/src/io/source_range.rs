//! A range of a file that is read when its bytes are needed, for values that may not fit into memory.

use super::local_file::LocalFile;
use super::{Identity, Source, Version};
use crate::checked_math::range_within;
use crate::error::Result;
use bytes::Bytes;
use std::hash::Hasher;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, absolute};
use std::sync::Arc;
use twox_hash::XxHash3_64;

const BLOCK_BYTES: u64 = 1 << 20;

/// Unchanging bytes of an open file. The file may grow.
#[derive(Debug, Clone)]
pub struct SourceRange {
    source: Arc<Source>,
    offset: u64,
    length: u64,
}

impl SourceRange {
    /// # Errors
    /// `Truncated` when the range lies outside the file.
    pub fn of(source: Arc<Source>, offset: u64, length: u64) -> Result<Self> {
        range_within(offset, length, source.len(), "a range")
            .map_err(|error| error.in_file(source.path()))?;
        Ok(Self { source, offset, length })
    }

    pub fn len(&self) -> u64 {
        self.length
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// At most `count` bytes from the start of the range.
    ///
    /// # Errors
    /// The errors of [`Source::read_vec`].
    pub fn head(&self, count: u64) -> Result<Vec<u8>> {
        self.source.read_vec(self.offset, count.min(self.length))
    }

    /// All bytes.
    ///
    /// # Errors
    /// The errors of [`Source::read_vec`].
    pub fn read(&self) -> Result<Bytes> {
        self.source.read_vec(self.offset, self.length).map(Bytes::from)
    }

    /// All bytes, in blocks of about a megabyte.
    ///
    /// # Errors
    /// The errors of [`Source::read_vec`] and of `take`.
    pub fn for_each_block(&self, mut take: impl FnMut(Bytes) -> Result<()>) -> Result<()> {
        let mut done = 0;
        while done < self.length {
            let count = BLOCK_BYTES.min(self.length - done);
            take(Bytes::from(self.source.read_vec(self.offset + done, count)?))?;
            done += count;
        }
        Ok(())
    }

    /// xxh3-64 of all bytes.
    ///
    /// # Errors
    /// The errors of [`Source::read_vec`].
    pub fn checksum(&self) -> Result<u64> {
        let mut hash = XxHash3_64::new();
        self.for_each_block(|block| {
            hash.write(&block);
            Ok(())
        })?;
        Ok(hash.finish())
    }
}

impl PartialEq for SourceRange {
    /// Whether both are the same bytes of the same opened file.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.source, &other.source) && (self.offset, self.length) == (other.offset, other.length)
    }
}

impl Source {
    /// Opens a local file that may grow while it is open, for [`SourceRange`]s of its current content. It is never
    /// mapped, and stays open.
    ///
    /// # Errors
    /// The errors of [`Source::open`].
    pub fn open_growing(path: &Path) -> Result<Self> {
        let place = absolute(path).unwrap_or_else(|_| path.to_owned());
        LocalFile::open_held(place)
            .map(|file| Self::of(Box::new(file), path))
            .map_err(|error| error.in_file(path))
    }

    /// Whether a path leads to this local file, which may have grown since it was opened.
    pub fn is_at(&self, path: &Path) -> bool {
        let Version::File(Identity { device, inode, .. }) = self.version() else { return false };
        path.metadata().is_ok_and(|found| (found.dev(), found.ino()) == (device, inode))
    }
}

/// The content of a value that is on its way from one file to another.
#[derive(Debug, Clone)]
pub enum Content {
    Memory(Bytes),
    Range(SourceRange),
}

impl Content {
    pub fn len(&self) -> u64 {
        match self {
            Self::Memory(data) => crate::checked_math::to_u64(data.len()),
            Self::Range(range) => range.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory that it takes.
    pub fn memory_bytes(&self) -> usize {
        match self {
            Self::Memory(data) => data.len(),
            Self::Range(_) => 0,
        }
    }
}

impl From<Bytes> for Content {
    fn from(data: Bytes) -> Self {
        Self::Memory(data)
    }
}
