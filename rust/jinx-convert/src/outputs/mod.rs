//! One module for each output format; all of them take encoded rows in order.

mod jinx;
mod mds;
pub(crate) mod media;
pub mod parquet;
pub(crate) mod parquet_target;
mod stream;
mod tar;

pub use jinx::JinxTarget;
pub use mds::MdsTarget;
pub use parquet::{ParquetCompression, ParquetOptions, ParquetSink};
pub use parquet_target::ParquetTarget;
pub use stream::{StreamTarget, json_lines, message_pack};
pub use tar::{TarTarget, tar_samples};
