//! The location of a dataset and its files.

use crate::remote::contents_at;
use jinx_core::io::url_of;
use jinx_core::{Error, Result};
use jinx_format::manifest;
use jinx_format::read::open::{ShardRef, resolve};
use jinx_format::read::shard::OpenOptions;
use jinx_mds::index_json::INDEX_NAME;
use std::path::{Path, PathBuf};

/// Suffixes of JSON lines files.
const PLAIN: [&str; 4] = [".jsonl", ".ndjson", ".jsonlines", ".json"];

/// The location of a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// A `.jinx` file, which may be a saved view; a file of JSON lines; a directory of shards; or an MDS directory.
    Path(PathBuf),
    /// Several of these as one sequence, but no saved views.
    List(Vec<PathBuf>),
}

impl From<&Path> for Location {
    fn from(path: &Path) -> Self {
        Self::Path(path.to_owned())
    }
}

impl From<Vec<PathBuf>> for Location {
    fn from(paths: Vec<PathBuf>) -> Self {
        Self::List(paths)
    }
}

/// The files or directories of a dataset, all of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contents {
    Shards(Vec<ShardRef>),
    JsonLines(Vec<PathBuf>),
    Mds(Vec<PathBuf>),
}

impl Location {
    /// The files at this location. With `split`, a directory is replaced by its subdirectory of that name, if
    /// it exists.
    ///
    /// # Errors
    /// `Io` for a missing file; `Mismatch` for a directory without data; `Invalid` for files of several kinds.
    pub fn contents(&self, split: Option<&str>, options: &OpenOptions) -> Result<Contents> {
        let paths = match self {
            Self::Path(path) => std::slice::from_ref(path),
            Self::List(paths) => paths,
        };
        let mut all = paths.iter().map(|path| contents_of(path, split, options));
        let first =
            all.next().ok_or_else(|| Error::invalid("nothing to open: the list of paths is empty"))??;
        all.try_fold(first, |all, more| all.with(more?))
    }

    /// The manifest of a single local directory; if it is replaced, the directory was replaced or extended.
    pub(crate) fn manifest(&self) -> Option<PathBuf> {
        match self {
            Self::Path(path) if url_of(path).is_none() => Some(path.join(manifest::NAME)),
            Self::Path(_) | Self::List(_) => None,
        }
    }
}

impl Contents {
    fn with(self, more: Self) -> Result<Self> {
        match (self, more) {
            (Self::Shards(all), Self::Shards(more)) => Ok(Self::Shards([all, more].concat())),
            (Self::JsonLines(all), Self::JsonLines(more)) => Ok(Self::JsonLines([all, more].concat())),
            (Self::Mds(all), Self::Mds(more)) => Ok(Self::Mds([all, more].concat())),
            (Self::Mds(_), _) | (_, Self::Mds(_)) => Err(Error::invalid(
                "MDS directories and other files cannot be opened together; convert one kind first",
            )),
            _ => Err(Error::invalid(
                "JINX files and plain JSON lines cannot be opened together; convert the latter first",
            )),
        }
    }
}

fn contents_of(path: &Path, split: Option<&str>, options: &OpenOptions) -> Result<Contents> {
    if let Some(url) = url_of(path) {
        return contents_at(url, split, options);
    }
    if let Some(directory) = mds_directory(path, split) {
        return Ok(Contents::Mds(vec![directory]));
    }
    let metadata = path.metadata().map_err(|error| Error::io(path, &error))?;
    if metadata.is_dir() {
        let inner = split.map(|split| path.join(split)).filter(|inner| inner.is_dir());
        return resolve(inner.as_deref().unwrap_or(path)).map(Contents::Shards);
    }
    if is_plain(path) {
        return Ok(Contents::JsonLines(vec![path.to_owned()]));
    }
    Ok(Contents::Shards(vec![ShardRef::alone(path.to_owned())]))
}

/// Whether a file has the name of a JSON lines file.
pub(crate) fn is_plain(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    PLAIN.iter().any(|ending| name.ends_with(ending))
}

/// The MDS directory for a path: itself, its subdirectory for a split, or the directory of an `index.json`.
pub fn mds_directory(path: &Path, split: Option<&str>) -> Option<PathBuf> {
    let is_index = path.file_name().is_some_and(|name| name == INDEX_NAME) && path.is_file();
    let directory = if is_index { path.parent()? } else { path };
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    if !directory.is_dir() || directory.join(manifest::NAME).exists() {
        return None;
    }
    let inner = split.map_or_else(|| directory.to_owned(), |split| directory.join(split));
    inner.join(INDEX_NAME).is_file().then_some(inner)
}
