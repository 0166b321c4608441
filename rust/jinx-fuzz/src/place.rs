//! A temporary directory, in memory where possible, for the targets that need files.

use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Files by name.
pub(super) type Files = Vec<(String, Vec<u8>)>;

pub(super) struct Place(TempDir);

impl Place {
    /// `None` if the directory cannot be created; the targets do not test this.
    pub(super) fn new() -> Option<Self> {
        let memory = Path::new("/dev/shm");
        let directory = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        tempfile::Builder::new().prefix("jinx-fuzz-").tempdir_in(directory).ok().map(Self)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(super) fn put(&self, files: &Files) -> Option<()> {
        files.iter().try_for_each(|(name, bytes)| fs::write(self.path(name), bytes)).ok()
    }

    /// The files of the subdirectory `directory`; with an empty name, those of this directory.
    pub(super) fn files(&self, directory: &str) -> Files {
        let Ok(entries) = fs::read_dir(self.path(directory)) else { return Files::new() };
        let file = |path: PathBuf| Some((path.file_name()?.to_str()?.to_owned(), fs::read(&path).ok()?));
        let mut files: Files = entries.flatten().filter_map(|entry| file(entry.path())).collect();
        files.sort();
        files
    }
}
