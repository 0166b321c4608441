//! Writes directories: infers encodings, and produces the same bytes as Streaming's own writer.

mod compress;
pub mod infer;
pub mod writer;
