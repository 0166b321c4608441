//! Functions on whole files.

pub mod checks;
pub mod directory;
pub mod tools;
pub mod views;
