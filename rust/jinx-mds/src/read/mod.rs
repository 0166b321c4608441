//! Folders and shards, read at random or from the first sample to the last.

pub mod folder;
mod folder_path;
pub mod prefetch;
pub mod shard;
mod unpack;
