//! Code that the extension modules `jinx._core` and `jinx_pipeline._kernels` share. Each has its own copy of
//! this crate's statics.

pub mod capsule;
pub mod errors;
pub mod signals;
