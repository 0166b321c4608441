//! What every format of JINX stands on: errors, limits, files and their publishing, codecs, JSON, values and events.
//!
//! ```text
//! a row in one format -> Sink events -> a row in another
//! ```
//!
//! This crate knows no format of a dataset, no Python and no network, and prints nothing.

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
pub mod num;
pub mod panics;
pub mod permutation;
pub mod problem;
pub mod sink;
pub mod sizes;
pub mod threads;
pub mod value;
pub mod value_pool;

pub use error::{Cause, Error, Result};
