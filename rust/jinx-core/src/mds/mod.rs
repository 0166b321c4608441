//! Mosaic Data Shards: `spec/mds.md`.

pub mod columns;
pub mod compression;
pub mod emit;
pub mod encoding;
pub mod feed;
pub mod folder;
pub mod hash;
pub mod images;
pub mod index;
pub mod ndarray;
pub mod shard;
mod unpack;
