//! Samples of MDS directories for Python, and single shards for other readers.

pub mod checks;
pub mod open;
pub mod prefetch;
pub mod sample;
pub mod shard;
pub mod shard_row;
pub mod value;
pub mod writer;
