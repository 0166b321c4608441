//! Datasets for Python: opening, iterating, taking, columns, Arrow streams.

pub mod arrow_stream;
pub mod batches;
pub mod columns;
pub mod decoders;
pub mod filter;
pub mod footer;
pub mod iterator;
pub mod reader;
pub mod state;
pub mod take;
