//! Writing directories: inferring encodings, and the bytes that Streaming's own writer produces.

mod compress;
pub mod infer;
pub mod writer;
