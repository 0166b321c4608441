//! Everything in the binding that needs `unsafe`.

pub mod json_text;
pub mod shared_bytes;
pub mod uninit_bytes;
