//! Functions over whole files.

pub mod checks;
pub mod folder;
pub mod tools;
pub mod views;
