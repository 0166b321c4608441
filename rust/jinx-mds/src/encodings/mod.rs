//! Column encodings: their names, values as their bytes, and their bytes as values.

pub mod decode;
pub mod encode;
pub mod images;
pub mod names;
pub mod ndarray;
pub(crate) mod python_json;
