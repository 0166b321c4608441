//! Content hashes of files and bytes, with which a view identifies bases without an id of their own.

use jinx_core::error::Result;
use jinx_core::interrupt;
use jinx_core::io::{Access, Source};
use std::path::Path;
use twox_hash::XxHash3_128;

/// The number of bytes of a file that are read at a time.
const BLOCK_BYTES: u64 = 4 << 20;

/// xxh3-128 of bytes, as 32 hex digits.
pub fn hash_bytes(data: &[u8]) -> String {
    format!("{:032x}", XxHash3_128::oneshot(data))
}

/// xxh3-128 of a file, as 32 hex digits.
///
/// # Errors
/// I/O errors.
pub fn hash_file(path: &Path) -> Result<String> {
    hash_source(&Source::open(path, Access::Pread)?, 0)
}

/// xxh3-128 of an open file from `start` on, as 32 hex digits.
///
/// # Errors
/// I/O errors.
pub fn hash_source(source: &Source, start: u64) -> Result<String> {
    let mut hash = XxHash3_128::new();
    each_block(source, start, source.len(), |block| {
        hash.write(block);
        Ok(())
    })?;
    Ok(format!("{:032x}", hash.finish_128()))
}

/// Passes the bytes of an open file from `start` to `end` to `take`, block by block.
pub(crate) fn each_block(
    source: &Source,
    start: u64,
    end: u64,
    mut take: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut at = start;
    while at < end {
        interrupt::check()?;
        let length = BLOCK_BYTES.min(end - at);
        take(&source.read_vec(at, length)?)?;
        at += length;
    }
    Ok(())
}
