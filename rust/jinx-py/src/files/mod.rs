//! Functions on whole files.

pub mod checks;
pub mod copy_move_remove;
pub mod detect;
pub mod directory;
pub mod json_text;
pub mod merge_clean;
pub mod object_store;
pub mod remote;
pub mod views;
