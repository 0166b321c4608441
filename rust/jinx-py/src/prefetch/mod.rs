//! Reading ahead: values that are on their way before a sample asks for them.

pub mod iteration;
pub mod pending;
