//! Files: read at offsets without a shared position, and published so that a reader sees the old or the new one.
//!
//! Unix only (Linux and macOS): positioned reads, `flock`, hard links and atomic renames carry the promises.

pub mod append;
pub mod atomic;
mod blank;
mod contents;
pub mod file;
pub mod folder;
mod lock;
mod map;
mod mount;
pub mod names;
pub mod neighbours;
mod ops;
pub mod pair;
pub mod publish;
mod scratch;
pub mod stream_out;
pub mod sweep;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

pub use append::FolderAppend;
pub use atomic::PairWriter;
pub use blank::Blank;
pub use contents::Contents;
pub use file::{Access, Identity, Source, base_of};
pub use folder::FolderWriter;
pub use names::plain_component;
pub use neighbours::{other_owner, require_own_sidecar};
pub use pair::{PairIdentity, second_name, sidecar_path};
pub use publish::publish_file;
pub use scratch::{Scratch, mark_unfinished, sweep_unfinished};
pub use stream_out::StreamOut;
pub use sweep::sweep;
