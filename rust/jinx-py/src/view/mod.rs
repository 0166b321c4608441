//! Views for Python: columns held by Python, and their samples.

pub mod column_sample;
pub mod compose;
pub mod python_columns;
pub mod sample;
pub mod typed_columns;
