//! Parquet and Arrow files and Arrow batches to and from JINX rows.
//!
//! ```text
//! files      -> convert -> file, or JINX folder
//! Parquet file -> ParquetSource -> RecordBatch -> RowEmitter -> Sink events     (Arrow file: IpcSource)
//! Value rows   -> SchemaInference (or a kept schema) -> BatchBuilder -> RecordBatch -> ParquetSink
//! ```
//!
//! Each Arrow value has one text or binary form in a row, chosen so that the schema restores it exactly:
//! timestamps, dates and times are ISO 8601 texts with all digits of their unit, decimals are texts,
//! maps are lists of `[key, value]`, dictionaries are their values, durations are integers.

pub mod build;
pub mod convert;
pub mod emit;
pub mod features;
pub mod infer;
pub mod ipc_in;
pub mod parquet_in;
pub mod parquet_out;
pub mod rows_in;
pub mod rows_out;
pub mod schema;
pub mod spec;
pub mod stream;

mod calendar;
mod column;
mod decimal;
mod failure;
mod iso_text;
mod json_text;
mod npy;
mod observe;
mod origin;
mod parquet_types;
mod project;
mod unify;

pub use build::BatchBuilder;
pub use convert::{convert, convert_rows, stream_rows};
pub use emit::RowEmitter;
pub use features::{Features, MediaFeature, MediaPath, media_of};
pub use infer::{InferOptions, SchemaInference};
pub use ipc_in::IpcSource;
pub use parquet_in::ParquetSource;
pub use parquet_out::{ParquetCompression, ParquetOptions, ParquetSink};
pub use rows_in::{ArrowRows, FileRows};
pub use rows_out::ParquetTarget;
pub use schema::{decode_schema, encode_schema};
pub use spec::ConvertSpec;
