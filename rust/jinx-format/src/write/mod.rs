//! Writing a dataset: rows are encoded on any thread and placed in order.

mod columns;
pub mod dataset;
pub mod encode;
mod journal;
pub mod options;
pub mod pair;
pub mod pair_files;
mod path_cache;
mod spool;
