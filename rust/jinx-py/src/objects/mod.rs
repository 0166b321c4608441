//! Stored values and JSON text as Python objects.

pub mod build;
pub mod image;
pub mod names;
pub mod parse;
pub mod short_text;
pub mod values;
