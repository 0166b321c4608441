//! Publishes a directory of shards in one step: it is built next to the target under a hidden name, then renamed.
//!
//! ```text
//! .NAME.tmp/        the work directory             .NAME.tmp.lock    held from begin to the end of commit
//! new               rename .NAME.tmp to NAME
//! replace           exchange .NAME.tmp and NAME, then remove .NAME.tmp, which is the old one now
//! ```
//! Where the file system cannot exchange two names, the old directory first moves to `.NAME.tmp.old`. NAME is
//! then absent for a moment or, after a crash, until the next writer begins: that case is not atomic. The
//! lock lies next to the work directory, not in it, because the exchange replaces the work directory. Only
//! the lock of a writer of `Contents::Anything` has content. With such a lock, a leftover work directory is
//! removed with everything in it.

use super::directory_contents::Contents;
use super::directory_paths::{DirectoryPaths, not_only_ours, remove_dataset, remove_marked_work};
use super::fs_calls::{FileOps, RealOps, if_there, is_unsupported, look};
use super::lock::Lock;
use super::pair_writer::{already_there, require_directory};
use crate::error::{Error, Result};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Writes a directory of shards and publishes it with [`DirectoryWriter::commit`].
///
/// Dropping it without `commit` removes the work directory and leaves what was there.
pub struct DirectoryWriter {
    ops: Arc<dyn FileOps>,
    paths: DirectoryPaths,
    contents: Contents,
    overwrite: bool,
    lock: Lock,
    /// Whether the work directory belongs to this writer, which removes it unless it is published.
    owns_work: bool,
}

/// What to do with the work directory that an interrupted writer left.
#[derive(Clone, Copy, PartialEq)]
enum Left {
    Remove,
    Keep,
}

impl DirectoryWriter {
    /// Starts to write the directory `target` of JINX shards.
    ///
    /// # Errors
    /// `Invalid` when the target is a file, when it exists, is not empty and `overwrite` is false, or when it holds
    /// files that are not part of a dataset; `Io` (`WouldBlock`) when another process is writing it.
    pub fn begin(target: &Path, overwrite: bool) -> Result<Self> {
        Self::begin_with(target, overwrite, Contents::Jinx)
    }

    /// Like [`DirectoryWriter::begin`], for another kind of dataset.
    pub fn begin_with(target: &Path, overwrite: bool, contents: Contents) -> Result<Self> {
        Self::begin_on(Arc::new(RealOps), target, overwrite, contents)
    }

    /// Like [`DirectoryWriter::begin`], but continues in the work directory of an interrupted writer, if there is one.
    ///
    /// # Errors
    /// The errors of [`DirectoryWriter::begin`].
    pub fn resume(target: &Path, overwrite: bool) -> Result<Self> {
        Self::resume_on(Arc::new(RealOps), target, overwrite)
    }

    /// Like [`DirectoryWriter::resume`], through `ops`.
    ///
    /// # Errors
    /// The errors of [`DirectoryWriter::begin`].
    pub fn resume_on(ops: Arc<dyn FileOps>, target: &Path, overwrite: bool) -> Result<Self> {
        Self::start(ops, target, overwrite, Contents::Jinx, Left::Keep)
    }

    /// Keeps the work directory when this is dropped without `commit`.
    pub fn keep_work(&mut self) {
        self.owns_work = false;
    }

    /// Like [`DirectoryWriter::begin_with`], through `ops`.
    ///
    /// # Errors
    /// The errors of [`DirectoryWriter::begin`].
    pub fn begin_on(
        ops: Arc<dyn FileOps>,
        target: &Path,
        overwrite: bool,
        contents: Contents,
    ) -> Result<Self> {
        Self::start(ops, target, overwrite, contents, Left::Remove)
    }

    fn start(
        ops: Arc<dyn FileOps>,
        target: &Path,
        overwrite: bool,
        contents: Contents,
        left: Left,
    ) -> Result<Self> {
        let paths = DirectoryPaths::of(target)?;
        require_directory(&paths.parent)?;
        require_free(&paths, overwrite, contents)?;
        let mut lock = Lock::take_kept(&ops, &paths.lock, &paths.target)?;
        paths.recover(&*ops)?;
        require_free(&paths, overwrite, contents)?;
        remove_dataset(&*ops, &paths.aside, contents)?;
        remove_marked_work(&*ops, &paths, &lock)?;
        mark(&mut lock, contents)?;
        if left == Left::Keep && paths.work.is_dir() {
            return Ok(Self { ops, paths, contents, overwrite, lock, owns_work: true });
        }
        remove_dataset(&*ops, &paths.work, contents)?;
        ops.create_directory(&paths.work).map_err(|error| Error::io(&paths.work, &error))?;
        Ok(Self { ops, paths, contents, overwrite, lock, owns_work: true })
    }

    /// The work directory; every file in it is published by `commit`.
    pub fn path(&self) -> &Path {
        &self.paths.work
    }

    /// The operations with which files in the work directory are made.
    pub fn ops(&self) -> &Arc<dyn FileOps> {
        &self.ops
    }

    /// Where the directory will be, absolute.
    pub fn target(&self) -> &Path {
        &self.paths.target
    }

    /// Makes every file durable and puts the directory in its place.
    ///
    /// # Errors
    /// `Invalid` when the work directory holds a subdirectory, or foreign files have appeared in the target; `Io` when
    /// the operating system refuses a step. The old directory then stays, except when only the last sync failed; both
    /// directories are kept in that case.
    pub fn commit(mut self) -> Result<()> {
        self.lock.require_ours()?;
        // Check again: a program that takes no lock may have written here.
        require_free(&self.paths, self.overwrite, self.contents)?;
        let old = look(&self.paths.target).map_err(|error| Error::io(&self.paths.target, &error))?;
        self.sync_work(old.as_ref().map(|metadata| metadata.permissions().mode()))?;
        let leftover = match old {
            None => self.move_in().map(|()| None),
            Some(_) => self.exchange(),
        }
        .map_err(|error| Error::io(&self.paths.target, &error))?;
        self.owns_work = false;
        self.ops.sync_directory(&self.paths.parent).map_err(|error| {
            let what = format!("published, but its parent directory could not be synced: {error}");
            Error::new(Error::from(&error).cause(), what).in_file(&self.paths.target)
        })?;
        if let Some(leftover) = leftover {
            // The new dataset is published; if the old one cannot be removed now, it is removed later.
            let _ = remove_dataset(&*self.ops, &leftover, self.contents);
        }
        Ok(())
    }

    fn sync_work(&self, mode: Option<u32>) -> Result<()> {
        let work = &self.paths.work;
        self.sync_files_in(work)?;
        let set = mode.map_or(Ok(()), |mode| self.ops.set_mode(&File::open(work)?, work, mode));
        set.and_then(|()| self.ops.sync_directory(work)).map_err(|error| Error::io(work, &error))
    }

    fn sync_files_in(&self, directory: &Path) -> Result<()> {
        for entry in fs::read_dir(directory).map_err(|error| Error::io(directory, &error))? {
            let path = entry.map_err(|error| Error::io(directory, &error))?.path();
            if !path.is_dir() {
                let synced = File::open(&path).and_then(|file| self.ops.sync_file(&file, &path));
                synced.map_err(|error| Error::io(&path, &error))?;
            } else if self.contents == Contents::Anything {
                self.sync_files_in(&path)?;
                self.ops.sync_directory(&path).map_err(|error| Error::io(&path, &error))?;
            } else {
                return Err(Error::invalid("a directory of shards cannot hold directories").in_file(path));
            }
        }
        Ok(())
    }

    fn move_in(&self) -> io::Result<()> {
        self.ops.rename(&self.paths.work, &self.paths.target)
    }

    /// Puts the new directory in place of the old one, and returns where the old one is now.
    fn exchange(&self) -> io::Result<Option<PathBuf>> {
        match self.ops.exchange(&self.paths.work, &self.paths.target) {
            Ok(()) => Ok(Some(self.paths.work.clone())),
            Err(error) if is_unsupported(&error) => self.step_aside(),
            Err(error) => Err(error),
        }
    }

    fn step_aside(&self) -> io::Result<Option<PathBuf>> {
        self.ops.rename(&self.paths.target, &self.paths.aside)?;
        if let Err(error) = self.move_in() {
            // If this fails too, the next writer moves the old directory back.
            let _ = self.ops.rename(&self.paths.aside, &self.paths.target);
            return Err(error);
        }
        Ok(Some(self.paths.aside.clone()))
    }
}

impl Drop for DirectoryWriter {
    fn drop(&mut self) {
        if self.owns_work && self.lock.is_own_process() && self.lock.is_ours().unwrap_or(false) {
            let _ = if_there(self.ops.remove_tree(&self.paths.work));
        }
    }
}

/// Records in the lock whether the work directory may contain anything; if so, all of it is removed if this writer
/// dies.
pub(crate) fn mark(lock: &mut Lock, contents: Contents) -> Result<()> {
    lock.clear()?;
    if contents == Contents::Anything {
        let written = lock.file_mut().write_all(b"anything");
        written.map_err(|error| Error::io(lock.path(), &error))?;
    }
    Ok(())
}

fn require_free(paths: &DirectoryPaths, overwrite: bool, contents: Contents) -> Result<()> {
    let target = &paths.target;
    let failed = |error: io::Error| Error::io(target, &error);
    match look(target).map_err(failed)? {
        None => Ok(()),
        Some(metadata) if !metadata.is_dir() => {
            Err(Error::invalid("this exists and is not a directory").in_file(target))
        }
        Some(_) => match contents.list(target).map_err(failed)? {
            Ok(files) if files.is_empty() || overwrite => Ok(()),
            Ok(_) => Err(already_there(target)),
            Err(foreign) if overwrite => Err(not_only_ours(target, &foreign)),
            Err(_) => Err(already_there(target)),
        },
    }
}
