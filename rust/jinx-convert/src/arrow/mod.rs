//! Arrow batches to and from rows.
//!
//! ```text
//! RecordBatch -> RowEmitter -> Sink events
//! Value rows  -> SchemaInference (or a kept schema) -> BatchBuilder -> RecordBatch
//! ```
//!
//! Each Arrow value has one text or binary form in a row, chosen so that the schema restores it exactly:
//! timestamps, dates and times are ISO 8601 strings with all digits of their unit, decimals are strings,
//! maps are lists of `[key, value]`, dictionaries are their values, durations are integers.

pub mod build;
pub mod calendar;
mod column;
mod decimal;
mod describe;
pub mod emit;
mod exact_numbers;
pub(crate) mod failure;
pub mod features;
pub(crate) mod first_pass;
pub mod infer;
mod iso_string;
mod json_string;
mod lengths;
pub(crate) mod nesting;
mod npy;
pub(crate) mod parquet_types;
pub(crate) mod project;
pub mod schema;
pub mod stream;
pub(crate) mod unify;

pub use build::BatchBuilder;
pub use emit::RowEmitter;
pub use features::{Features, MediaFeature, MediaPath, media_of};
pub use infer::{InferOptions, SchemaInference};
pub use lengths::{take_lengths, with_lengths};
pub use project::{common_schema, schema_text};
pub use schema::{decode_schema, encode_schema};
