//! Opens MDS directories.

use crate::mds::rows::{DecodeOptions, MdsRows};
use jinx_core::Result;
use jinx_format::read::shard::{OpenOptions, Verify};
use jinx_mds::read::directory::{Directory, Hashes, Options};
use std::path::PathBuf;

/// The options of MDS directories that correspond to those of shards. `verify` checks only the hashes of shards that are
/// compressed as files.
pub fn options(open: &OpenOptions) -> Options {
    let hashes = if open.verify >= Verify::Full { Hashes::Packed } else { Hashes::None };
    Options {
        access: open.access,
        limits: open.limits,
        hashes,
        store: open.store.clone(),
        ..Options::default()
    }
}

/// Opens directories as one sequence; reads only their indexes.
///
/// # Errors
/// Errors of the indexes.
pub fn open(paths: Vec<PathBuf>, open: &OpenOptions) -> Result<MdsRows> {
    Ok(MdsRows::new(Directory::open(paths, options(open))?, DecodeOptions::default()))
}
