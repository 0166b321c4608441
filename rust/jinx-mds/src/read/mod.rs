//! Directories and shards, read at random or from the first sample to the last.

pub mod directory;
mod directory_path;
pub mod prefetch;
pub mod shard;
mod unpack;
