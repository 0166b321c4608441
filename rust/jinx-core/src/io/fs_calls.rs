//! The file-system calls that change a directory, behind a trait, so that tests can record them and make the N-th fail.
//!
//! Everything outside this file changes directories through it.

use rustix::fs::{CWD, Mode, OFlags, RenameFlags};
use rustix::io::retry_on_intr;
use std::fs::{self, DirBuilder, File, Metadata, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

/// One call, as [`FileOps::permit`] sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call<'a> {
    OpenLockable(&'a Path),
    Create(&'a Path),
    OpenEmpty(&'a Path),
    CreateDirectory(&'a Path),
    SetMode(&'a Path),
    Truncate(&'a Path),
    SyncFile(&'a Path),
    SyncDirectory(&'a Path),
    Link(&'a Path, &'a Path),
    Symlink(&'a Path, &'a Path),
    Rename(&'a Path, &'a Path),
    Exchange(&'a Path, &'a Path),
    Remove(&'a Path),
    RemoveDirectory(&'a Path),
    RemoveTree(&'a Path),
}

pub trait FileOps: Send + Sync {
    /// Called before every operation; if it returns an error, the operation does not run.
    fn permit(&self, _call: Call<'_>) -> io::Result<()> {
        Ok(())
    }

    /// Opens a file for reading and writing, and creates an empty one if there is none; does not follow links.
    fn open_lockable(&self, path: &Path) -> io::Result<File> {
        self.permit(Call::OpenLockable(path))?;
        open(path, OFlags::CREATE)
    }

    /// Creates a file that must not exist.
    fn create(&self, path: &Path) -> io::Result<File> {
        self.permit(Call::Create(path))?;
        open(path, OFlags::CREATE | OFlags::EXCL)
    }

    /// Creates a file, or empties an existing one. Follows links; a pipe or a device works too.
    fn open_empty(&self, path: &Path) -> io::Result<File> {
        self.permit(Call::OpenEmpty(path))?;
        again(|| File::create(path))
    }

    /// Writes a whole file, and replaces an existing one.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.open_empty(path)?.write_all(bytes)
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.permit(Call::CreateDirectory(path))?;
        again(|| fs::create_dir(path))
    }

    /// Creates a directory that only its owner can enter.
    fn create_private_directory(&self, path: &Path) -> io::Result<()> {
        self.permit(Call::CreateDirectory(path))?;
        again(|| DirBuilder::new().mode(0o700).create(path))
    }

    /// Creates a directory and its missing parents.
    fn create_directories(&self, path: &Path) -> io::Result<()> {
        self.permit(Call::CreateDirectory(path))?;
        again(|| fs::create_dir_all(path))
    }

    /// Sets the permission bits of an open file or directory.
    fn set_mode(&self, file: &File, path: &Path, mode: u32) -> io::Result<()> {
        self.permit(Call::SetMode(path))?;
        file.set_permissions(Permissions::from_mode(mode & 0o777))
    }

    fn truncate(&self, file: &File, path: &Path) -> io::Result<()> {
        self.permit(Call::Truncate(path))?;
        file.set_len(0)
    }

    fn sync_file(&self, file: &File, path: &Path) -> io::Result<()> {
        self.permit(Call::SyncFile(path))?;
        file.sync_all()
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.permit(Call::SyncDirectory(path))?;
        match File::open(path)?.sync_all() {
            // Some network and user-space file systems cannot sync a directory; they keep its changes in order
            // themselves.
            Err(error) if is_unsupported(&error) => Ok(()),
            done => done,
        }
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.permit(Call::Link(from, to))?;
        again(|| fs::hard_link(from, to))
    }

    /// Creates a symbolic link at `path` to `to`.
    fn symlink(&self, to: &Path, path: &Path) -> io::Result<()> {
        self.permit(Call::Symlink(to, path))?;
        again(|| std::os::unix::fs::symlink(to, path))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.permit(Call::Rename(from, to))?;
        again(|| fs::rename(from, to))
    }

    /// Swaps two names in one step.
    fn exchange(&self, first: &Path, second: &Path) -> io::Result<()> {
        self.permit(Call::Exchange(first, second))?;
        #[cfg(any(target_os = "linux", target_os = "macos"))]
        return Ok(retry_on_intr(|| {
            rustix::fs::renameat_with(CWD, first, CWD, second, RenameFlags::EXCHANGE)
        })?);
        #[cfg(not(any(target_os = "linux", target_os = "macos")))]
        Err(io::ErrorKind::Unsupported.into())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.permit(Call::Remove(path))?;
        again(|| fs::remove_file(path))
    }

    /// Removes an empty directory.
    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.permit(Call::RemoveDirectory(path))?;
        again(|| fs::remove_dir(path))
    }

    /// Removes a directory with everything in it.
    fn remove_tree(&self, path: &Path) -> io::Result<()> {
        self.permit(Call::RemoveTree(path))?;
        again(|| fs::remove_dir_all(path))
    }
}

/// The operating system, behind a function that is called before every operation.
impl<F: Fn(Call<'_>) -> io::Result<()> + Send + Sync> FileOps for F {
    fn permit(&self, call: Call<'_>) -> io::Result<()> {
        self(call)
    }
}

/// The operating system itself.
#[derive(Debug, Clone, Copy)]
pub struct RealOps;

impl FileOps for RealOps {}

fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    // 0666: the kernel removes the bits of the umask.
    let mode = Mode::from_raw_mode(0o666);
    let flags = flags | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(retry_on_intr(|| rustix::fs::open(path, flags, mode))?.into())
}

/// Network file systems may return EINTR when a signal arrives, even from calls that local file systems complete.
fn again<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Whether the file system does not support the call: EINVAL, ENOSYS or EOPNOTSUPP.
pub(crate) fn is_unsupported(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}

/// Treats a missing file as success, because there is nothing to remove.
pub fn if_there(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// The metadata of `path`, without following links; `None` if nothing is there.
pub(crate) fn look(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether two names, or a name and an open file, have the same inode.
pub(crate) fn is_same(left: &Metadata, right: &Metadata) -> bool {
    left.dev() == right.dev() && left.ino() == right.ino()
}
