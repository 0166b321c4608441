//! Views for Python: columns that Python holds, and their samples.

pub mod compose;
pub mod python_columns;
pub mod sample;
