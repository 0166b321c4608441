//! Ensures one writer at a time: a lockable file with a fixed name, whose lock ends with its process.

use super::fs_calls::{FileOps, if_there, is_same, look};
use crate::error::{Cause, Error, Result};
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// The number of attempts to open a name that other processes create and remove at the same time.
const ATTEMPTS: usize = 100;
/// The number of attempts to wait for a writer that has published and is cleaning up, and the pause between them.
const FINISH_ATTEMPTS: usize = 100;
const FINISH_PAUSE: Duration = Duration::from_millis(20);

/// An exclusively locked file. Dropping it removes the file, unless it was renamed to its final name.
pub(crate) struct Lock {
    file: File,
    path: PathBuf,
    ops: Arc<dyn FileOps>,
    /// The process that owns the lock: a forked child inherits the descriptor, but the file and its lock stay the
    /// parent's.
    pid: u32,
    published: bool,
}

impl Lock {
    /// Creates and locks `path`, empty; `target` is what is being written, for messages.
    ///
    /// An existing file that can be locked was left by a dead writer; it is emptied and reused.
    pub(crate) fn take(ops: &Arc<dyn FileOps>, path: &Path, target: &Path) -> Result<Self> {
        Self::try_take(ops, path)?.ok_or_else(|| held(target))
    }

    /// Like [`Lock::take`], but an existing file keeps its content.
    pub(crate) fn take_kept(ops: &Arc<dyn FileOps>, path: &Path, target: &Path) -> Result<Self> {
        Self::try_take_kept(ops, path)?.ok_or_else(|| held(target))
    }

    /// Like [`Lock::take`], but returns `None` if a living writer holds it.
    pub(crate) fn try_take(ops: &Arc<dyn FileOps>, path: &Path) -> Result<Option<Self>> {
        let lock = Self::try_take_kept(ops, path)?;
        lock.as_ref().map_or(Ok(()), Self::clear)?;
        Ok(lock)
    }

    /// Like [`Lock::try_take`], but an existing file keeps its content.
    pub(crate) fn try_take_kept(ops: &Arc<dyn FileOps>, path: &Path) -> Result<Option<Self>> {
        let failed = |error: &io::Error| Error::io(path, error);
        for _ in 0..ATTEMPTS {
            let file = ops.open_lockable(path).map_err(|error| failed(&error))?;
            let metadata = file.metadata().map_err(|error| failed(&error))?;
            if !metadata.is_file() {
                return Err(
                    Error::invalid("this name is needed for a temporary file; remove it").in_file(path)
                );
            }
            match try_flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(error) => {
                    if metadata.len() == 0 {
                        let _ = ops.remove(path);
                    }
                    return Err(no_lock(path, &error));
                }
            }
            // Between opening and locking, the previous holder may have renamed or removed the file.
            let lock = Self {
                file,
                path: path.to_owned(),
                ops: Arc::clone(ops),
                pid: process::id(),
                published: false,
            };
            if !lock.is_ours()? {
                continue;
            }
            if metadata.nlink() > 1 {
                // This file now has another name, which owns the content.
                drop(lock);
                continue;
            }
            return Ok(Some(lock));
        }
        Err(Error::new(Cause::Io(io::ErrorKind::WouldBlock), "other processes keep replacing this file")
            .in_file(path))
    }

    /// Empties the file.
    pub(crate) fn clear(&self) -> Result<()> {
        let failed = |error: &io::Error| Error::io(&self.path, error);
        if self.file.metadata().map_err(|error| failed(&error))?.len() > 0 {
            self.ops.truncate(&self.file, &self.path).map_err(|error| failed(&error))?;
        }
        Ok(())
    }

    /// Whether something was written into the file, by this writer or by the dead one that left it.
    pub(crate) fn has_content(&self) -> Result<bool> {
        let metadata = self.file.metadata().map_err(|error| Error::io(&self.path, &error))?;
        Ok(metadata.len() > 0)
    }

    /// Whether the name still leads to the locked file.
    pub(crate) fn is_ours(&self) -> Result<bool> {
        let named = look(&self.path).map_err(|error| Error::io(&self.path, &error))?;
        let held = self.file.metadata().map_err(|error| Error::io(&self.path, &error))?;
        Ok(named.is_some_and(|named| is_same(&named, &held)))
    }

    /// Fails if the name no longer leads to this file: what is there now must not be published.
    pub(crate) fn require_ours(&self) -> Result<()> {
        if self.is_ours()? {
            return Ok(());
        }
        Err(Error::invalid("this temporary file was removed while it was written; write again")
            .in_file(&self.path))
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn file_mut(&mut self) -> &mut File {
        &mut self.file
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Records that the file now has its final name: the lock is kept until dropped, and the old name is free.
    pub(crate) fn set_published(&mut self) {
        self.published = true;
    }

    /// False in a process forked from the one that took the lock.
    pub(crate) fn is_own_process(&self) -> bool {
        self.pid == process::id()
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if !self.is_own_process() {
            return;
        }
        if !self.published && self.is_ours().unwrap_or(false) {
            // A file that remains only costs space; the next writer removes it.
            let _ = if_there(self.ops.remove(&self.path));
        }
        // Unlock explicitly: a forked child's copy of the descriptor would keep the lock.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// Waits a moment for a writer that has renamed its locked file to `published` and is still cleaning up.
pub(crate) fn wait_for_finisher(published: &Path) -> Result<()> {
    // Otherwise, opening a pipe would block forever.
    if !published.is_file() {
        return Ok(());
    }
    let Ok(file) = File::open(published) else {
        return Ok(());
    };
    for _ in 0..FINISH_ATTEMPTS {
        // If the file system has no locks, no writer holds one.
        if try_flock(&file, FlockOperation::NonBlockingLockShared).unwrap_or(true) {
            return Ok(());
        }
        thread::sleep(FINISH_PAUSE);
    }
    Err(Error::new(Cause::Io(io::ErrorKind::WouldBlock), "another process is writing this; try again")
        .in_file(published))
}

fn held(target: &Path) -> Error {
    Error::new(
        Cause::Io(io::ErrorKind::WouldBlock),
        "another process is writing this; wait until it has finished, or write to another name",
    )
    .in_file(target)
}

/// False if another process holds a conflicting lock.
pub(super) fn try_flock(file: &File, operation: FlockOperation) -> io::Result<bool> {
    match rustix::io::retry_on_intr(|| flock(file, operation)) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn no_lock(path: &Path, error: &io::Error) -> Error {
    let advice =
        "the file system has no file locks; write to a local directory and copy the result here (cp)";
    Error::unsupported(format!("{advice} ({error})")).in_file(path)
}
