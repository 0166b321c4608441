//! The options for one run.

use crate::filters::embed::EmbedOptions;
use jinx_core::cores::usable_cores;
use std::path::PathBuf;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConvertOptions {
    /// The number of rows after which to stop.
    pub limit: Option<u64>,
    /// Columns to keep, by their old names; all if `None`.
    pub columns: Option<Vec<String>>,
    /// Columns to leave out, by their old names.
    pub drop: Vec<String>,
    /// Old and new names of columns.
    pub rename: Vec<(String, String)>,
    /// The expression that selects rows; all if `None`.
    pub filter: Option<String>,
    /// Worker threads; 0 = one for each core.
    pub threads: usize,
    /// Strings that are paths of files to embed.
    pub embed: Option<EmbedOptions>,
    /// Leave out null members of nested dicts.
    pub drop_nulls: bool,
    /// Binary values go to files in this directory; rows contain their paths.
    pub media_dir: Option<PathBuf>,
    /// Leave out rows that cannot be read or written, and list them in this file.
    pub rejects: Option<PathBuf>,
    /// The number of rows at the beginning that an earlier run has written.
    pub skip: u64,
}

impl ConvertOptions {
    pub(crate) fn workers(&self) -> usize {
        match self.threads {
            0 => usable_cores(),
            threads => threads.min(256),
        }
    }

    /// Whether rows pass through unchanged.
    pub(crate) fn is_plain(&self) -> bool {
        self.embed.is_none()
            && !self.drop_nulls
            && self.media_dir.is_none()
            && self.rejects.is_none()
            && self.filter.is_none()
    }
}
