//! How a dataset is opened.

use jinx_core::codec::TextEncoding;
use jinx_core::error::{Error, Result};
use jinx_core::io::{Access, Source, Store};
use jinx_core::limits::Limits;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How much of the data is checked against its checksums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Verify {
    None,
    /// Check each line when it is read.
    Rows,
    /// Check each line and each value when it is read. A line that matches its checksum proves its offset.
    #[default]
    Full,
    /// Like `Full`, plus the whole index and all line checksums on opening: for `verify` and `repair`.
    Whole,
}

#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    pub access: Access,
    pub verify: Verify,
    pub limits: Limits,
    /// The text encoding of inline values, if a 1.0 footer does not state it.
    pub encoding: Option<TextEncoding>,
    /// Plain JSON Lines: every row contains markers, even if it does not declare them.
    pub markers: bool,
    /// The directory from which relative paths start; the working directory if empty.
    pub base: PathBuf,
    /// Plain JSON lines: the start of each line and the end of the last one, as little-endian u64, if known.
    pub line_offsets: Option<Arc<[u8]>>,
    /// Read only this many first bytes of files that the sidecar stores unchanged, such as images. Their checksums are
    /// not compared.
    pub value_head: Option<u64>,
    /// Open saved views too, as the rows of their own columns; the caller opens the bases.
    pub views: bool,
    /// Opens files at URLs; without it, URLs are refused.
    pub store: Option<Arc<dyn Store>>,
}

impl OpenOptions {
    pub(crate) fn source(&self, path: impl AsRef<Path>) -> Result<Source> {
        Source::open_anywhere(self.store.as_deref(), &self.base, path.as_ref(), self.access)
    }

    /// The store that opens URLs.
    ///
    /// # Errors
    /// `Unsupported` when these options open local files only.
    pub fn store(&self, url: &str) -> Result<&dyn Store> {
        let refused = || Error::unsupported("this is a URL; only local files are read here").in_file(url);
        self.store.as_deref().ok_or_else(refused)
    }
}
