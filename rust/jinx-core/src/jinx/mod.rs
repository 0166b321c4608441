//! The JINX format: `spec/jinx.md`, `spec/binx.md`, `spec/values.md`.

pub mod array;
mod column_build;
pub mod columns;
pub mod decode;
pub mod encode;
pub mod fields;
pub mod folder;
pub mod footer;
pub mod identity;
pub mod key;
pub mod manifest;
pub mod measure;
pub mod npy;
pub mod options;
mod pair_build;
pub mod plain;
pub mod scan;
pub mod shard;
pub mod sidecar;
pub mod sniff;
mod spool;
pub mod stored;
pub mod unique;
pub mod writer;
