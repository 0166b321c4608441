//! JINX shards and files of JSON lines as the rows of a dataset.

mod columns;
mod facts;
mod fetch;
mod filter;
mod footer;
mod rows;
mod shard_list;

pub use columns::common_type;
pub use rows::ShardRows;
pub use shard_list::Shards;
