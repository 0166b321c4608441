//! Views that have columns of their own, and several datasets as one sequence.

pub mod compose;
pub mod concat;
pub mod gather;
pub mod memory;
pub mod rows;
pub mod sample;
