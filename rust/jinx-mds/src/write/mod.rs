//! Writing folders: which encodings fit, and the bytes that Streaming's own writer gives.

mod compress;
pub mod infer;
pub mod writer;
