//! Mosaic Data Shards: `spec/mds.md`.

pub mod columns;
mod compress;
pub mod compression;
pub mod emit;
pub mod encode;
pub mod encoding;
pub mod feed;
pub mod folder;
pub mod hash;
pub mod images;
pub mod index;
pub mod infer;
pub mod ndarray;
mod python_json;
pub mod shard;
mod unpack;
pub mod verify;
pub mod writer;
