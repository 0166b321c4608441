//! Views with their own columns, and concatenated datasets.

pub mod compose;
pub mod concat;
pub mod gather;
pub mod python_columns;
pub mod rows;
pub mod sample;
