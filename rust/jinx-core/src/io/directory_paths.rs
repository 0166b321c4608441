//! The paths around one directory of shards, and what a dead writer left there.

use super::directory_contents::Contents;
use super::fs_calls::{FileOps, if_there, look};
use super::lock::Lock;
use super::pair_names::hidden;
use crate::error::{Error, Result};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf, absolute};

/// Every path that is touched when one directory is published.
pub(crate) struct DirectoryPaths {
    pub parent: PathBuf,
    pub target: PathBuf,
    pub work: PathBuf,
    pub lock: PathBuf,
    pub aside: PathBuf,
}

impl DirectoryPaths {
    pub(crate) fn of(target: &Path) -> Result<Self> {
        let failed = |error: io::Error| Error::io(target, &error);
        // Follow a link to a directory, which is usually on a larger disk: its target is replaced.
        let is_link = look(target).map_err(failed)?.is_some_and(|metadata| metadata.is_symlink());
        let whole = if is_link { target.canonicalize() } else { absolute(target) }.map_err(failed)?;
        match (whole.parent(), whole.file_name()) {
            (Some(parent), Some(name)) => Ok(Self::inside(parent, name)),
            _ => {
                Err(Error::invalid("this is not the name of a directory that can be written").in_file(target))
            }
        }
    }

    pub(crate) fn inside(parent: &Path, name: &OsStr) -> Self {
        Self {
            parent: parent.to_owned(),
            target: parent.join(name),
            work: parent.join(hidden(name, ".tmp")),
            lock: parent.join(hidden(name, ".tmp.lock")),
            aside: parent.join(hidden(name, ".tmp.old")),
        }
    }

    /// Moves back an old directory that a dead writer set aside. Only under the lock.
    pub(crate) fn recover(&self, ops: &dyn FileOps) -> Result<()> {
        let exists = |path: &Path| look(path).map(|found| found.is_some());
        let back = || {
            if exists(&self.target)? || !exists(&self.aside)? {
                return Ok(());
            }
            ops.rename(&self.aside, &self.target).and_then(|()| ops.sync_directory(&self.parent))
        };
        back().map_err(|error: io::Error| Error::io(&self.target, &error))
    }
}

/// Removes a directory file by file, if it contains nothing but a dataset. Only under the lock.
pub(crate) fn remove_dataset(ops: &dyn FileOps, directory: &Path, contents: Contents) -> Result<()> {
    let failed = |error: io::Error| Error::io(directory, &error);
    if look(directory).map_err(failed)?.is_none() {
        return Ok(());
    }
    match contents.list(directory).map_err(failed)? {
        Err(foreign) => Err(not_only_ours(directory, &foreign)),
        Ok(files) => {
            for file in files {
                if_there(ops.remove(&file)).map_err(|error| Error::io(&file, &error))?;
            }
            ops.remove_directory(directory).map_err(failed)
        }
    }
}

/// Removes the work directory of a dead writer whose lock says that it may contain anything; returns whether it did.
pub(crate) fn remove_marked_work(ops: &dyn FileOps, paths: &DirectoryPaths, lock: &Lock) -> Result<bool> {
    let failed = |error: io::Error| Error::io(&paths.work, &error);
    if !lock.has_content()? || look(&paths.work).map_err(failed)?.is_none() {
        return Ok(false);
    }
    if_there(ops.remove_tree(&paths.work)).map_err(failed)?;
    Ok(true)
}

pub(crate) fn not_only_ours(directory: &Path, foreign: &OsStr) -> Error {
    let name = foreign.to_string_lossy();
    Error::invalid(format!(
        "the directory holds {name:?}, which is not part of a dataset; nothing is removed"
    ))
    .in_file(directory)
}
