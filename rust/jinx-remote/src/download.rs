//! Copies objects to local files.

use crate::access_pattern::CHUNK_BYTES;
use jinx_core::io::{Blocks, Density};
use jinx_core::{Error, Result};
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// The number of chunks that are downloaded at the same time.
const CHUNKS_AT_ONCE: u64 = 8;

/// Copies an object to a new file, which is complete or removed.
///
/// # Errors
/// `Io` for the file; errors of the network and of the store.
pub(crate) fn download(blocks: &dyn Blocks, path: &Path) -> Result<()> {
    let named = |error: std::io::Error| Error::io(path, &error);
    let mut file = File::create_new(path).map_err(named)?;
    let copied = copy(blocks, &mut file, path);
    if copied.is_err() {
        let _ = std::fs::remove_file(path);
    }
    copied
}

fn copy(blocks: &dyn Blocks, file: &mut File, path: &Path) -> Result<()> {
    let length = blocks.len();
    let chunk = |start: u64| start..start.saturating_add(CHUNK_BYTES).min(length);
    let mut start = 0;
    while start < length {
        let ahead = (1..CHUNKS_AT_ONCE).map(|count| chunk(start.saturating_add(count * CHUNK_BYTES)));
        let ahead: Vec<_> = ahead.filter(|range| range.start < range.end).collect();
        blocks.will_need(&ahead, Density::Sparse);
        let range = chunk(start);
        start = range.end;
        file.write_all(&blocks.read(range)?).map_err(|error| Error::io(path, &error))?;
    }
    Ok(())
}
