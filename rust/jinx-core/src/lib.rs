//! The basis of all JINX formats: errors, limits, files and how they are published, codecs, JSON, values and events.
//!
//! ```text
//! a row in one format -> Sink events -> a row in another
//! ```
//!
//! This crate knows no format of a dataset, no Python and no network, and prints nothing.

pub mod checked_math;
pub mod codec;
pub mod cores;
pub mod error;
pub mod fingerprint;
pub mod interrupt;
pub mod io;
pub mod json;
pub mod key_set;
pub mod limits;
pub mod npy;
pub mod panics;
pub mod permutation;
pub mod problem;
pub mod row_events;
pub mod sample_size;
pub mod threads;
pub mod value;
pub mod value_pool;

pub use error::{Cause, Error, Result};
