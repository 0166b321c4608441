//! How a dataset is opened.

use jinx_core::codec::TextEncoding;
use jinx_core::error::Result;
use jinx_core::io::{Access, Source};
use jinx_core::limits::Limits;
use std::path::{Path, PathBuf};

/// How much of what is read is checked against its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Verify {
    None,
    /// Each line when it is first touched.
    Rows,
    /// Each line, and each value when it is read. A line that matches its checksum came from a sound index.
    #[default]
    Full,
    /// All of that, and index and line checksums as a whole when the file is opened: for `verify` and `repair`.
    Whole,
}

#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    pub access: Access,
    pub verify: Verify,
    pub limits: Limits,
    /// Text encoding of inline values where a 1.0 footer does not say it.
    pub encoding: Option<TextEncoding>,
    /// Plain JSON lines: every row holds markers, also one that does not say so.
    pub markers: bool,
    /// What relative paths count from; the working directory if empty.
    pub base: PathBuf,
}

impl OpenOptions {
    pub(crate) fn source(&self, path: impl AsRef<Path>) -> Result<Source> {
        Source::open_from(&self.base, path, self.access)
    }
}
