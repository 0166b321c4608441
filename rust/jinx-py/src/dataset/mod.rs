//! Datasets for Python: opening, iterating, taking, columns, Arrow streams. All sources of samples implement
//! [`rows::Rows`].

pub mod arrow_stream;
pub mod batches;
pub mod columns;
pub mod files;
pub mod filter;
pub mod handle;
pub mod iterator;
pub mod measures;
pub mod open;
pub mod projection;
pub mod reader;
pub mod rows;
pub mod take;
pub mod view;
