//! Objects in stores, read like files: `s3://`, `gs://`, `az://` and `https://`.
//!
//! ```text
//! RemoteStore ─▶ RemoteObject: Blocks ─▶ Spans (bytes in memory, or on their way) ─▶ Cache (on disk) ─▶ object_store
//! ```
//! All calls wait, and none holds Python's lock. One thread of each process talks to the network ([`process`]).
#![forbid(unsafe_code)]

mod access_pattern;
mod aws_profile;
mod body;
mod cache;
mod cache_size;
mod chunk;
mod chunk_file;
mod client;
mod download;
mod failure;
mod fetcher;
mod http;
mod location;
mod mark;
mod object;
mod objects;
mod process;
mod settings;
mod spans;
mod statistics;
mod store;
mod tls;
mod turns;
mod upload;

pub use cache::{Cache, CacheContents};
pub use jinx_core::io::Condition;
pub use location::ObjectUrl;
pub use objects::ObjectState;
pub use settings::{CachePlace, Settings};
pub use statistics::Statistics;
pub use store::{RemoteStore, statistics};
