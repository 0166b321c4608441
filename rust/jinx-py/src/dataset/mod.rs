//! Datasets for Python: opening, iterating, taking, columns, Arrow streams. Their rows are [`jinx_dataset::Rows`].

pub mod arrow_stream;
pub mod batches;
pub mod browse;
pub mod columns;
pub mod handle;
pub mod iterator;
pub mod measures;
pub mod open;
pub mod python_rows;
pub mod reader;
pub mod roots;
pub mod take;
