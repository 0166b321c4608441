//! MDS directories as the rows of a dataset.

mod column;
mod decoding;
mod open;
mod rows;
mod sequential_read;

pub use column::length;
pub use open::{open, options};
pub use rows::{DecodeOptions, MdsRows, Pickles};
