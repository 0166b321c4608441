//! Which files a directory dataset consists of.

use super::directory_paths::not_only_ours;
use super::pair_names::{hidden_stem, split_second_name};
use crate::error::{Error, Result};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A kind of directory dataset, by its files; no other files are ever removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contents {
    /// `jinx.json`, `shard-*` with `.jinx`, `.binx` or `.jinx.json`, and our hidden temporary files.
    Jinx,
    /// `index.json` and `shard.*.mds*`.
    Mds,
    /// `jinx.json` and pairs with any names, as a copied directory may contain.
    Pairs,
    /// Like `Pairs` for a directory that is replaced; while writing, files and directories with any names.
    Anything,
}

impl Contents {
    fn includes(self, name: &OsStr) -> bool {
        let Some(text) = name.to_str() else {
            return false;
        };
        let shard = |prefix: &str| text.strip_prefix(prefix);
        let is_of_pair = || [".jinx", ".binx", ".jinx.json"].iter().any(|end| text.ends_with(end));
        match self {
            Self::Jinx => {
                text == "jinx.json" || (shard("shard-").is_some() && is_of_pair()) || is_hidden_of_ours(name)
            }
            Self::Pairs | Self::Anything => {
                text == "jinx.json" || (!text.starts_with('.') && is_of_pair()) || is_hidden_of_ours(name)
            }
            Self::Mds => text == "index.json" || shard("shard.").is_some_and(|rest| rest.contains(".mds")),
        }
    }

    /// The files of `directory`, or the first name that is not ours.
    pub(crate) fn list(self, directory: &Path) -> io::Result<std::result::Result<Vec<PathBuf>, OsString>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            if !self.includes(&entry.file_name()) || entry.file_type()?.is_dir() {
                return Ok(Err(entry.file_name()));
            }
            files.push(entry.path());
        }
        files.sort();
        Ok(Ok(files))
    }

    /// The files of `directory`.
    ///
    /// # Errors
    /// `Invalid` when it holds another file or a directory; `Io`.
    pub fn files_of(self, directory: &Path) -> Result<Vec<PathBuf>> {
        let listed = self.list(directory).map_err(|error| Error::io(directory, &error))?;
        listed.map_err(|foreign| not_only_ours(directory, &foreign))
    }

    /// Whether a directory contains files of one kind of dataset: at least one, and no others.
    pub(crate) fn of_any_kind(directory: &Path) -> bool {
        [Self::Jinx, Self::Mds]
            .iter()
            .any(|kind| matches!(kind.list(directory), Ok(Ok(files)) if !files.is_empty()))
    }
}

fn is_hidden_of_ours(name: &OsStr) -> bool {
    let temporary =
        [".jinx.tmp", ".binx.tmp", ".json.tmp"].iter().any(|end| hidden_stem(name, end).is_some());
    temporary || split_second_name(name).is_some()
}
