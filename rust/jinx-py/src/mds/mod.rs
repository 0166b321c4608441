//! MDS directories as the rows of a dataset, and single shards for other readers.

pub mod checks;
pub mod column;
pub mod dataset;
pub mod decoding;
pub mod open;
pub mod prefetch;
pub mod rows;
pub mod sample;
pub mod sequential_read;
pub mod shard;
pub mod shard_row;
pub mod value;
pub mod writer;
