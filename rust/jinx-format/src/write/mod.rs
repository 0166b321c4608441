//! Writing a dataset: rows are encoded on any thread and placed in order.

pub(crate) mod address_map;
pub(crate) mod array_hasher;
mod as_stored;
mod cells;
mod columns;
pub mod dataset;
mod directory_target;
mod early_sync;
pub mod encode;
mod fixed_layout;
pub mod footer_text;
pub mod inherit;
mod journal;
mod line_block;
pub mod numeric_rows;
pub mod options;
pub mod pair;
pub mod pair_files;
pub mod parallel;
mod path_cache;
pub mod plain_lines;
mod plain_row;
mod row_facts;
pub mod row_form;
mod sidecar_writer;
mod spool;
