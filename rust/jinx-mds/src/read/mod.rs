//! Directories and shards, read at random or from first to last sample.

pub mod directory;
mod directory_path;
pub mod prefetch;
pub mod shard;
mod unpack;
