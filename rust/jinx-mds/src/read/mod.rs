//! Directories and shards, read at random or from first to last sample.

pub mod decode_ahead;
pub mod directory;
mod directory_path;
pub mod shard;
mod unpack;
