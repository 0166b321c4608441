//! The file of a chunk: its bytes, their number and their checksum.

use crate::cache::Cache;
use bytes::Bytes;
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::io::mapped;
use std::fs::{self, File};
use std::hash::Hasher;
use std::io::{self, IoSlice, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use twox_hash::XxHash3_64;

/// Length and checksum at the end of a chunk.
const TRAILER_BYTES: usize = 16;

/// The size of the file of a chunk of `length` bytes.
pub(crate) fn size_of(length: u64) -> u64 {
    length.saturating_add(to_u64(TRAILER_BYTES))
}

/// A chunk that this process may write. The file is removed if the chunk is not published.
pub(crate) struct Claim {
    /// Locked, so that others see that it is being written.
    pub(crate) file: File,
    pub(crate) temporary: PathBuf,
    pub(crate) target: PathBuf,
    pub(crate) is_published: bool,
}

impl Drop for Claim {
    fn drop(&mut self) {
        if !self.is_published {
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// A chunk that is being written, and counted in the size of the cache.
pub(crate) struct NewChunk {
    cache: Arc<Cache>,
    claim: Claim,
    length: u64,
    hash: Box<XxHash3_64>,
}

impl NewChunk {
    /// A chunk for which there is room.
    pub(crate) fn new(cache: Arc<Cache>, claim: Claim, length: u64) -> Self {
        Self { cache, claim, length, hash: Box::new(XxHash3_64::new()) }
    }

    /// Appends bytes.
    pub(crate) fn write(&mut self, parts: &[Bytes]) -> io::Result<()> {
        let mut slices: Vec<_> = parts.iter().map(|part| IoSlice::new(part)).collect();
        let mut rest = slices.as_mut_slice();
        while !rest.is_empty() {
            match (&self.claim.file).write_vectored(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => IoSlice::advance_slices(&mut rest, written),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        for part in parts {
            self.hash.write(part);
        }
        Ok(())
    }

    /// Publishes the chunk after all its bytes were written, and returns them.
    pub(crate) fn publish(mut self) -> io::Result<Bytes> {
        (&self.claim.file).write_all(&trailer(self.length, self.hash.finish()))?;
        fs::rename(&self.claim.temporary, &self.claim.target)?;
        self.claim.is_published = true;
        content(&self.claim.file, self.length)
    }
}

impl Drop for NewChunk {
    fn drop(&mut self) {
        if !self.claim.is_published {
            self.cache.subtract(size_of(self.length));
        }
    }
}

/// The bytes of a chunk whose file has the right size: a map, which is no copy, and no memory that the system could not
/// take back.
fn content(file: &File, length: u64) -> io::Result<Bytes> {
    let length = to_usize(length, "the length of a chunk").map_err(io::Error::other)?;
    mapped(file, length).or_else(|_| read(file, length))
}

fn read(file: &File, length: usize) -> io::Result<Bytes> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length)?;
    bytes.resize(length, 0);
    file.read_exact_at(&mut bytes, 0)?;
    Ok(Bytes::from(bytes))
}

/// The bytes of a chunk; its checksum is not compared again if `is_compared`.
///
/// # Errors
/// `InvalidData` for a damaged chunk; errors of the disk.
pub(crate) fn checked(file: &File, length: u64, is_compared: bool) -> io::Result<Bytes> {
    let damaged = || io::Error::from(io::ErrorKind::InvalidData);
    // Past the end of a shorter file, a map has no bytes.
    if file.metadata()?.len() != size_of(length) {
        return Err(damaged());
    }
    let bytes = content(file, length)?;
    if !is_compared {
        let mut found = [0; TRAILER_BYTES];
        file.read_exact_at(&mut found, length)?;
        if found != trailer(length, XxHash3_64::oneshot(&bytes)) {
            return Err(damaged());
        }
    }
    Ok(bytes)
}

fn trailer(length: u64, checksum: u64) -> [u8; TRAILER_BYTES] {
    let mut trailer = [0; TRAILER_BYTES];
    trailer[..8].copy_from_slice(&length.to_le_bytes());
    trailer[8..].copy_from_slice(&checksum.to_le_bytes());
    trailer
}
