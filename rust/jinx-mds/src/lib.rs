//! Mosaic Data Shards: `spec/mds.md`.

pub mod columns;
pub mod compression;
pub mod encodings;
pub mod hash;
pub mod index_json;
pub mod read;
pub mod verify;
pub mod write;
