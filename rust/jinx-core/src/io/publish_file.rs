//! Publishes one small file, such as a manifest.

use super::fs_calls::{FileOps, RealOps};
use super::lock::Lock;
use super::pair_names::hidden;
use super::pair_writer::{mode_of, require_directory};
use crate::error::{Error, Result};
use std::io::Write;
use std::path::{Path, absolute};
use std::sync::Arc;

/// Writes `bytes` to `path` so that readers see the old or the new content: temporary file, fsync, rename, fsync of the
/// directory. An existing file is replaced; its permissions are kept.
///
/// # Errors
/// `Invalid` when the directory is missing or the path names no file; `Io` when the operating system refuses, also when
/// another process publishes the same file at this moment.
pub fn publish_file(path: &Path, bytes: &[u8]) -> Result<()> {
    publish_on(&(Arc::new(RealOps) as Arc<dyn FileOps>), path, bytes)
}

/// Like [`publish_file`], through `ops`.
///
/// # Errors
/// The errors of [`publish_file`].
pub fn publish_on(ops: &Arc<dyn FileOps>, path: &Path, bytes: &[u8]) -> Result<()> {
    let path = &absolute(path).map_err(|error| Error::io(path, &error))?;
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Error::invalid("this is not the name of a file").in_file(path));
    };
    require_directory(directory)?;
    let mut lock = Lock::take(ops, &directory.join(hidden(name, ".tmp")), path)?;
    let mode = mode_of(path)?;
    let written = lock.file_mut().write_all(bytes);
    written
        .and_then(|()| mode.map_or(Ok(()), |mode| ops.set_mode(lock.file(), lock.path(), mode)))
        .and_then(|()| ops.sync_file(lock.file(), lock.path()))
        .map_err(|error| Error::io(lock.path(), &error))?;
    lock.require_ours()?;
    ops.rename(lock.path(), path).map_err(|error| Error::io(path, &error))?;
    lock.set_published();
    ops.sync_directory(directory).map_err(|error| {
        let what = format!("published, but the directory could not be synced: {error}");
        Error::new(Error::from(&error).cause(), what).in_file(path)
    })
}
