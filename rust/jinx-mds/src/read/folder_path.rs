//! The path of a folder of shards.

use crate::index::FileInfo;
use jinx_core::error::Result;
use jinx_core::io::{Access, Source};
use std::path::Path;

/// A folder as it was given, and the base of a relative one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FolderPath<'f> {
    pub base: &'f Path,
    pub folder: &'f Path,
}

impl FolderPath<'_> {
    pub fn open(self, file: &FileInfo, access: Access) -> Result<Source> {
        Source::open_from(self.base, file.path(self.folder)?, access)
    }
}
