//! Directories and shards, read at random or from the first sample to the last.

pub mod decode_ahead;
pub mod directory;
mod directory_path;
pub mod shard;
mod unpack;
