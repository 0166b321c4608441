//! Keeps writers away from a dataset that will be renamed.

use super::append::remove_unlisted;
use super::directory_contents::Contents;
use super::directory_paths::{DirectoryPaths, remove_dataset, remove_marked_work};
use super::fs_calls::{FileOps, if_there, look};
use super::lock::{Lock, wait_for_finisher};
use super::pair_names::PairIdentity;
use super::pair_paths::PairPaths;
use super::pair_writer::require_directory;
use super::publish_directory::mark;
use crate::error::{Error, Result};
use std::path::Path;
use std::sync::Arc;

/// A pair that none of our writers replaces until this is dropped.
pub struct PairLock {
    ops: Arc<dyn FileOps>,
    paths: PairPaths,
    _lock: Lock,
}

impl PairLock {
    /// Locks the pair of the main file `main`, and undoes an interrupted replacement.
    ///
    /// # Errors
    /// `Invalid` when the name is unsuitable or the directory is missing; `Io` (`WouldBlock`) when another process is
    /// writing the pair; `Unsupported` when the file system has no locks.
    pub fn take(ops: Arc<dyn FileOps>, main: &Path, identity: &dyn PairIdentity) -> Result<Self> {
        let paths = PairPaths::of(main)?;
        require_directory(&paths.directory)?;
        let lock = Lock::take(&ops, &paths.main_temp, &paths.main)?;
        wait_for_finisher(&paths.main)?;
        paths.recover(&*ops, identity)?;
        Ok(Self { ops, paths, _lock: lock })
    }

    /// The main file, absolute.
    pub fn main(&self) -> &Path {
        &self.paths.main
    }

    /// Removes the main file, if it still has this name, and then its sidecar.
    ///
    /// # Errors
    /// `Io` when the operating system refuses.
    pub fn remove(self, sidecar: Option<&Path>) -> Result<()> {
        for path in [Some(self.main()), sidecar].into_iter().flatten() {
            let failed = |error| Error::io(path, &error);
            if look(path).map_err(failed)?.is_some() {
                if_there(self.ops.remove(path)).map_err(failed)?;
            }
            // The order must survive a power cut.
            let directory = path.parent().unwrap_or(Path::new("/"));
            self.ops.sync_directory(directory).map_err(|error| Error::io(directory, &error))?;
        }
        Ok(())
    }
}

/// A directory of shards that none of our writers replaces or extends until this is dropped.
pub struct DirectoryLock {
    ops: Arc<dyn FileOps>,
    paths: DirectoryPaths,
    lock: Lock,
}

impl DirectoryLock {
    /// Locks the directory, and removes the shards that a dead writer was adding.
    ///
    /// # Errors
    /// `Invalid` when the parent directory is missing; `Io` (`WouldBlock`) when another process is writing it.
    pub fn take(ops: Arc<dyn FileOps>, directory: &Path, identity: &dyn PairIdentity) -> Result<Self> {
        let paths = DirectoryPaths::of(directory)?;
        require_directory(&paths.parent)?;
        let lock = Lock::take_kept(&ops, &paths.lock, &paths.target)?;
        paths.recover(&*ops)?;
        remove_unlisted(&*ops, &paths.target, &lock, identity)?;
        remove_marked_work(&*ops, &paths, &lock)?;
        Ok(Self { ops, paths, lock })
    }

    /// Removes the directory. It gets a hidden name first: without some of its shards it would be another dataset.
    ///
    /// # Errors
    /// `Invalid` when it holds files that are not part of a dataset; `Io` when the operating system refuses.
    pub fn remove(mut self) -> Result<()> {
        let DirectoryPaths { parent, target, work, .. } = &self.paths;
        Contents::Pairs.files_of(target)?;
        remove_dataset(&*self.ops, work, Contents::Pairs)?;
        mark(&mut self.lock, Contents::Anything)?;
        self.ops.rename(target, work).map_err(|error| Error::io(target, &error))?;
        self.ops.sync_directory(parent).map_err(|error| Error::io(parent, &error))?;
        let removed = remove_dataset(&*self.ops, work, Contents::Pairs);
        if removed.is_err() {
            // Files that have appeared in it since then are not ours.
            self.lock.clear()?;
        }
        removed
    }
}
