//! JINX: JSON lines a person can read, an index footer, and a binary sidecar.
//!
//! ```text
//! train.jinx   sample 0 \n ... sample n-1 \n  footer \n  footer offset \n
//! train.binx   64-byte header | values at 64-byte alignment | index, line hashes, columns
//! ```
//!
//! This crate knows no Python, no network and no global state, and prints nothing.

pub mod codec;
pub mod convert;
pub mod error;
#[doc(hidden)]
pub mod fuzzing;
pub mod interrupt;
pub mod io;
pub mod jinx;
pub mod json;
pub mod limits;
pub mod mds;
pub mod msgpack;
pub mod num;
pub mod panics;
pub mod sink;
pub mod value;

pub use error::{Cause, Error, Result};
