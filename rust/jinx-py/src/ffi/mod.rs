//! Everything in the binding that needs `unsafe`.

pub mod ascii;
pub mod capsule;
pub mod uninit_bytes;
