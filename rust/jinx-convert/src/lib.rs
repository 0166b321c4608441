//! Converts rows from any format to any other, in order, on all cores, in bounded memory.
//!
//! ```text
//! RowSource (own thread) -> RowChunk -> workers: filters -> ChunkEncoder -> RowTarget (calling thread, in order)
//! ```
//! The output depends on the rows only, never on the number of threads.

pub mod arrow;
mod backpressure;
mod civil_date;
pub mod convert;
mod filters;
mod first_pass;
mod format;
pub mod inputs;
pub mod mds_copy;
pub mod msgpack;
pub mod options;
mod ordered_threads;
pub mod outputs;
mod rejects;
mod row_traits;
mod run;
mod run_options;
mod suggest;
mod tar_names;

pub use convert::{convert, convert_rows, stream_rows};
pub use filters::embed::{EmbedOptions, Missing};
pub use filters::select::{Select, Selection};
pub use first_pass::{Findings, Observer};
pub use format::Format;
pub use options::ConvertSpec;
pub use ordered_threads::{Commit, ordered};
pub use row_traits::{ChunkEncoder, OnRefused, RowChunk, RowSource, RowTarget, Summary};
pub use run::{Progress, run};
pub use run_options::ConvertOptions;
