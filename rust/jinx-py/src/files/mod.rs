//! Functions over whole files.

pub mod checks;
pub mod tools;
pub mod views;
