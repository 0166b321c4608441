//! JINX shards as the rows of a dataset: opening, the columns of a row, footers, stored columns.

pub mod columns;
pub mod dataset;
pub mod filter;
pub mod footer;
pub mod footer_facts;
pub mod prefetch;
pub mod row;
pub mod rows;
pub mod sample;
pub mod shards;
pub mod summary;
pub mod value;
