//! Files: read at offsets without a shared position, and published so that readers see the old or the new one.
//!
//! Unix only (Linux and macOS): the guarantees depend on positioned reads, `flock`, hard links and atomic
//! renames.

mod access;
pub mod append;
mod blocks;
mod dataset_lock;
mod directory_contents;
mod directory_paths;
pub mod fs_calls;
mod kernel_advice;
pub mod links;
mod local_disk;
mod local_file;
mod lock;
mod map;
pub mod pair_names;
mod pair_paths;
pub mod pair_writer;
pub mod pipes;
pub mod process_limits;
pub mod publish_directory;
pub mod publish_file;
pub mod remove_leftovers;
pub mod runs;
mod scratch_directory;
pub mod sidecar_owner;
mod source;
mod source_range;
mod store;
pub mod stream_out;
mod uninit;
pub mod untrusted_paths;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::cast_possible_truncation)]
mod tests;

pub use access::Access;
pub use append::DirectoryAppend;
pub use blocks::{Blocks, Density, Version};
pub use dataset_lock::{DirectoryLock, PairLock};
pub use directory_contents::Contents;
pub use fs_calls::{FileOps, RealOps};
pub use kernel_advice::{expect_reads, expect_writes};
pub use local_disk::is_remote as is_on_remote_disk;
pub use local_file::Identity;
pub use map::mapped;
pub use pair_names::{PairIdentity, second_name, sidecar_path};
pub use pair_writer::PairWriter;
pub use publish_directory::DirectoryWriter;
pub use publish_file::{publish_file, publish_on};
pub use remove_leftovers::remove_leftovers;
pub use scratch_directory::{Scratch, mark_unfinished, sweep_unfinished};
pub use sidecar_owner::{other_owner, require_own_sidecar};
pub use source::{Source, base_of};
pub use source_range::{Content, SourceRange};
pub use store::{Condition, Store, joined, url_of};
pub use stream_out::StreamOut;
pub use uninit::UninitSlice;
pub use untrusted_paths::{plain_component, plain_path};
