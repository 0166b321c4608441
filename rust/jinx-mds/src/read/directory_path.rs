//! The path of a directory of shards.

use crate::index_json::FileInfo;
use jinx_core::error::Result;
use jinx_core::io::{Access, Source, Store};
use std::path::Path;

/// A directory as given, and the directory from which a relative path starts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DirectoryPath<'f> {
    pub base: &'f Path,
    pub directory: &'f Path,
    /// Opens a directory at a URL.
    pub store: Option<&'f dyn Store>,
}

impl DirectoryPath<'_> {
    pub fn open(self, file: &FileInfo, access: Access) -> Result<Source> {
        Source::open_anywhere(self.store, self.base, &file.path(self.directory)?, access)
    }
}
