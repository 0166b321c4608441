//! Opening a dataset and reading rows, values and columns from it.

pub mod columns;
pub mod decode;
pub mod find_paths;
pub mod json_lines;
pub mod known_keys;
pub mod locate;
pub mod measure;
pub mod open;
mod scalar;
pub mod shard;
pub mod stored;
