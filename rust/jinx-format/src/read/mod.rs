//! Opens datasets, and reads rows, values and columns from them.

mod as_stored;
pub mod chunked;
pub mod column_view;
pub mod columns;
pub mod decode;
mod fetch;
pub mod find_paths;
pub mod json_lines;
pub mod key_cache;
mod keys;
mod lines;
pub mod locate;
pub mod marked_rows;
pub mod measure;
pub mod open;
pub mod opened_identity;
pub mod options;
mod plain_row;
pub mod pointer;
pub mod range_plan;
mod scalar;
pub mod shard;
pub mod stored;
