//! Folders and shards, read at random or from the first sample to the last.

pub mod folder;
pub mod prefetch;
pub mod shard;
mod unpack;
