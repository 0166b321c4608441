//! MDS directories as the rows of a dataset, and single shards for other readers.

pub mod checks;
pub mod column;
pub mod dataset;
pub mod decoding;
pub mod found;
pub mod open;
pub mod prefetch;
pub mod rows;
pub mod sample;
pub mod shard;
pub mod value;
pub mod walk;
pub mod writer;
