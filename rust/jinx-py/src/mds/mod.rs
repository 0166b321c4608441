//! MDS folders for Python: lazy samples, batches, columns, and single shards for other readers.

pub mod checks;
pub mod column;
pub mod iterate;
pub mod open;
pub mod row;
pub mod shard;
pub mod take;
pub mod value;
pub mod writer;
