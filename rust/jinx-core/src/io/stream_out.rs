//! Publishes one file of any length, or writes to a pipe.

use super::fs_calls::{FileOps, RealOps};
use super::lock::Lock;
use super::pair_names::hidden;
use super::pair_writer::{already_there, mode_of, require_directory};
use super::pipes;
use crate::checked_math::to_u64;
use crate::error::{Error, Result};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;

/// The suffix of the temporary file's name. Programs of any kind write `.NAME.tmp`; this one is ours.
pub(crate) const TEMPORARY: &str = ".jinx-tmp";

/// A file that appears under its name when it is complete: temporary file, fsync, rename, fsync of the directory.
///
/// Dropping it without [`StreamOut::commit`] removes the temporary and leaves what was there. Standard output, pipes
/// and devices are written as they are.
pub struct StreamOut {
    to: To,
    path: PathBuf,
    written: u64,
}

enum To {
    File { lock: Lock, overwrite: bool },
    Pipe(File),
}

impl StreamOut {
    /// Starts to write `path`; `-` is standard output.
    ///
    /// # Errors
    /// `Invalid` when the directory is missing, or the target is a directory or exists and `overwrite` is false; `Io`,
    /// `WouldBlock` when another process writes the same file.
    pub fn create(path: &Path, overwrite: bool) -> Result<Self> {
        if path == Path::new("-") {
            let stdout = io::stdout().as_fd().try_clone_to_owned();
            let path = PathBuf::from("<standard output>");
            let file = stdout.map_err(|error| Error::io(&path, &error))?.into();
            return Ok(Self { to: To::Pipe(file), path, written: 0 });
        }
        let given = path;
        let path = absolute(path).map_err(|error| Error::io(path, &error))?;
        if is_pipe(&path)? {
            return Ok(Self { to: To::Pipe(pipes::open_to_write(&path)?), path, written: 0 });
        }
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Error::invalid("this is not the name of a file").in_file(given));
        };
        require_directory(directory)?;
        require_free(given, overwrite)?;
        let ops: Arc<dyn FileOps> = Arc::new(RealOps);
        let lock = Lock::take(&ops, &directory.join(hidden(name, TEMPORARY)), given)?;
        require_free(given, overwrite)?;
        Ok(Self { to: To::File { lock, overwrite }, path, written: 0 })
    }

    /// Where the file will be, absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.written
    }

    /// Makes the file durable and visible; returns its bytes.
    ///
    /// # Errors
    /// `Io` when the operating system refuses a step; what was there before stays.
    pub fn commit(mut self) -> Result<u64> {
        self.flush().map_err(|error| Error::io(&self.path, &error))?;
        let To::File { mut lock, overwrite } = self.to else {
            return Ok(self.written);
        };
        let (ops, path) = (RealOps, &self.path);
        if let Some(mode) = mode_of(path)? {
            ops.set_mode(lock.file(), lock.path(), mode).map_err(|error| Error::io(lock.path(), &error))?;
        }
        ops.sync_file(lock.file(), lock.path()).map_err(|error| Error::io(lock.path(), &error))?;
        lock.require_ours()?;
        require_free(path, overwrite)?;
        ops.rename(lock.path(), path).map_err(|error| Error::io(path, &error))?;
        lock.set_published();
        let directory = path.parent().unwrap_or(Path::new("/"));
        ops.sync_directory(directory).map_err(|error| Error::io(directory, &error))?;
        Ok(self.written)
    }
}

impl Write for StreamOut {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let count = match &mut self.to {
            To::File { lock, .. } => lock.file_mut().write(buf)?,
            To::Pipe(file) => file.write(buf)?,
        };
        self.written += to_u64(count);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            To::File { lock, .. } => lock.file_mut().flush(),
            To::Pipe(file) => file.flush(),
        }
    }
}

/// Whether this is neither a file nor a directory; links such as `/dev/stdout` are followed.
fn is_pipe(path: &Path) -> Result<bool> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(!metadata.is_file() && !metadata.is_dir()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::io(path, &error)),
    }
}

/// The target must not be a directory; a file may be there only if it may be replaced.
fn require_free(path: &Path, overwrite: bool) -> Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            Err(Error::invalid("this is a directory; a file is needed").in_file(path))
        }
        Ok(_) if !overwrite => Err(already_there(path)),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io(path, &error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn old_content_stays_until_the_commit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.jsonl");
        fs::write(&path, "old").unwrap();
        assert!(StreamOut::create(&path, false).is_err());
        let mut out = StreamOut::create(&path, true).unwrap();
        out.write_all(b"new").unwrap();
        assert!(StreamOut::create(&path, true).is_err());
        drop(out);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        let mut out = StreamOut::create(&path, true).unwrap();
        out.write_all(b"newer").unwrap();
        assert_eq!(out.commit().unwrap(), 5);
        assert_eq!(fs::read(&path).unwrap(), b"newer");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn directories_are_refused_and_devices_written() {
        let directory = tempfile::tempdir().unwrap();
        assert!(StreamOut::create(directory.path(), true).is_err());
        assert!(StreamOut::create(&directory.path().join("no/a"), true).is_err());
        let mut out = StreamOut::create(Path::new("/dev/null"), false).unwrap();
        out.write_all(b"gone").unwrap();
        assert_eq!(out.commit().unwrap(), 4);
    }
}
