//! One module for each input format; all of them produce rows.

pub mod arrow;
pub mod arrow_ipc;
mod chain;
pub(crate) mod filtered;
pub(crate) mod input_files;
mod jinx;
mod json_array;
mod json_lines;
mod mds;
mod msgpack;
pub mod parquet;
mod selected;
mod stream;
mod tar;

pub use arrow::{ArrowRows, FileRows};
pub use arrow_ipc::IpcSource;
pub use chain::{Chain, Opener};
pub use jinx::JinxRows;
pub use json_array::{JsonArray, json_rows};
pub use json_lines::JsonLines;
pub use mds::{MdsRows, mds_columns};
pub use msgpack::MessagePack;
pub use parquet::ParquetSource;
pub use selected::Selected;
pub use stream::{Input, STANDARD_STREAM};
pub use tar::TarSamples;
