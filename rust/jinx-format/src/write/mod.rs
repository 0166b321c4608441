//! Writing a dataset: rows are encoded on any thread and placed in order.

mod as_stored;
mod columns;
pub mod dataset;
pub mod encode;
mod facts;
pub mod footer_text;
pub mod inherit;
mod journal;
pub mod options;
pub mod pair;
pub mod pair_files;
pub mod parallel;
mod path_cache;
mod spool;
