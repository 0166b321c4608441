//! Rows of JINX shards as samples for Python: the columns of a row, and its prefetched values.

pub mod prefetch;
pub mod row;
pub mod sample;
pub mod summary;
pub mod value;
