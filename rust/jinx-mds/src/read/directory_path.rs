//! The path of a directory of shards.

use crate::index_json::FileInfo;
use jinx_core::error::Result;
use jinx_core::io::{Access, Source};
use std::path::Path;

/// A directory as it was given, and the base of a relative one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DirectoryPath<'f> {
    pub base: &'f Path,
    pub directory: &'f Path,
}

impl DirectoryPath<'_> {
    pub fn open(self, file: &FileInfo, access: Access) -> Result<Source> {
        Source::open_from(self.base, file.path(self.directory)?, access)
    }
}
