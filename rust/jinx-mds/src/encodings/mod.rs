//! Column encodings: their names, encoding values as bytes, and decoding them.

pub mod decode;
pub mod encode;
pub mod images;
pub mod names;
pub mod ndarray;
pub(crate) mod python_json;
