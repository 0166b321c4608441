//! JINX: JSON lines a person can read, an index footer, and a binary sidecar.
//!
//! ```text
//! train.jinx   sample 0 \n ... sample n-1 \n  footer \n  footer offset \n
//! train.binx   64-byte header | values at 64-byte alignment | index, line hashes, columns
//! ```
//!
//! `spec/jinx.md`, `spec/binx.md` and `spec/values.md` are normative.

pub mod base_url;
mod chunk_checksums;
pub mod content_hash;
pub mod copy_files;
pub mod expression;
pub mod fields;
pub mod file_kind;
pub mod footer;
pub mod identity;
pub mod index;
pub mod key;
pub mod manifest;
pub mod merge;
pub mod meta;
mod metadata_digest;
pub mod move_files;
pub mod ordered_blocks;
pub mod own_columns;
pub mod read;
pub mod repair;
pub mod rewrite_bases;
pub mod sidecar;
pub mod verify;
pub mod view_footer;
pub mod write;
