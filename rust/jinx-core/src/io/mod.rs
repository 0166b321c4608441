//! Files: read at offsets without a shared position, and published so that a reader sees the old or the new one.
//!
//! Unix only (Linux and macOS): the guarantees rest on positioned reads, `flock`, hard links and atomic renames.

pub mod append;
mod contents;
mod dataset_lock;
pub mod directory;
mod directory_paths;
pub mod file;
pub mod links;
mod lock;
mod map;
mod mount;
pub mod names;
pub mod neighbours;
pub mod ops;
pub mod pair_names;
mod pair_paths;
pub mod pair_writer;
pub mod process_limits;
pub mod publish_file;
mod read_ahead;
mod scratch;
pub mod stream_out;
pub mod sweep;
mod uninit;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

pub use append::DirectoryAppend;
pub use contents::Contents;
pub use dataset_lock::{DirectoryLock, PairLock};
pub use directory::DirectoryWriter;
pub use file::{Access, Identity, Source, base_of};
pub use names::{plain_component, plain_path};
pub use neighbours::{other_owner, require_own_sidecar};
pub use ops::{FileOps, RealOps};
pub use pair_names::{PairIdentity, second_name, sidecar_path};
pub use pair_writer::PairWriter;
pub use publish_file::{publish_file, publish_on};
pub use read_ahead::{expect_reads, expect_writes};
pub use scratch::{Scratch, mark_unfinished, sweep_unfinished};
pub use stream_out::StreamOut;
pub use sweep::sweep;
pub use uninit::UninitSlice;
