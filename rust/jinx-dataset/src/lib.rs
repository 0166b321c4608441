//! Datasets of any kind, opened and read by position, without Python.
//!
//! ```text
//! Location ─▶ open ─▶ Dataset = positions over Rows
//!                                  ├ ShardRows   JINX shards, a directory of them, JSON lines
//!                                  ├ MdsRows     MDS directories
//!                                  ├ ColumnRows  the typed columns of a saved view
//!                                  ├ ViewRows    samples of other rows, with columns of the view's own
//!                                  └ ConcatRows  several rows as one sequence
//! ```
#![forbid(unsafe_code)]

mod arrow_arrays;
pub mod base_opener;
pub mod blocks_ahead;
pub mod browse;
mod column_data;
mod column_rows;
mod concat;
mod dataset;
mod files;
mod filter;
mod gather;
mod located;
mod location;
pub mod mds;
mod open;
mod projection;
mod remote;
mod rows;
mod saved_view;
mod schema;
pub mod shards;
mod touched;
mod upload;
mod view;

pub use arrow_arrays::ArrowColumn;
pub use column_data::ColumnData;
pub use column_rows::ColumnRows;
pub use concat::ConcatRows;
pub use dataset::Dataset;
pub use files::{Closable, Files};
pub use filter::{Chosen, filter, sample_by_sample};
pub use located::{Located, Walk};
pub use location::{Contents, Location, mds_directory};
pub use open::{Bases, FileIdentity, Options, open, open_files};
pub use projection::Projection;
pub use remote::verify_at;
pub use rows::{ArrowTypes, Roots, Rows};
pub use saved_view::over_bases;
pub use touched::Touched;
pub use upload::upload;
pub use view::{Positions, ViewRows};
