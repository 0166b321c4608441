//! A temporary directory for the processes of one dataset, removed when they end or soon after.
//!
//! ```text
//! TMP/.jinx-decoded-0123456789abcdef/    locked, shared, by every process that has files in it
//! OUT/.jinx-order-0123456789abcdef/      next to an output: what is written before it
//! ```
//! The process that chose the name removes the directory. Forked workers use it too and end by `_exit`, without
//! removing anything; a process may be killed. So the process that makes the next such directory removes those that no
//! process has locked.

use super::fs_calls::{FileOps, RealOps, if_there, is_same, look};
use super::local_disk::is_remote;
use super::lock::try_flock;
use crate::error::{Error, Result};
use rustix::fs::{FlockOperation, Mode, OFlags};
use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf, absolute};
use std::process;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

const DECODED: &str = ".jinx-decoded-";
const ORDER: &str = ".jinx-order-";
const DIGITS: usize = 16;
/// The number of attempts to create a directory that other processes remove at the same time, and the pause between
/// them.
const ATTEMPTS: usize = 100;
const PAUSE: Duration = Duration::from_millis(2);
/// A file is created before it is locked, so a file younger than this may be about to be locked.
const UNLOCKED_FOR: Duration = Duration::from_secs(60);
/// On a network file system, locks of other machines may be invisible (Lustre with `localflock`, NFS with `nolock`), so
/// a directory counts as that of a dead process only if it has not changed for a day.
const REMOTE_IDLE: Duration = Duration::from_secs(24 * 60 * 60);

/// A directory that is created when it is needed, and removed when this is dropped.
pub struct Scratch {
    ops: Arc<dyn FileOps>,
    path: PathBuf,
    /// The process that chose the name.
    pid: u32,
    held: Mutex<Option<Arc<Held>>>,
}

/// The locked directory.
#[derive(Debug)]
struct Held {
    directory: File,
    /// The process that holds the lock: a forked child inherits it, but must not rely on it.
    pid: u32,
}

impl Scratch {
    /// Chooses a name in the system's temporary directory; creates nothing yet.
    pub fn new() -> Self {
        let parent = std::env::temp_dir();
        Self::inside(Arc::new(RealOps), &absolute(&parent).unwrap_or(parent))
    }

    /// Chooses a name next to `output`, on the same file system, and removes directories there whose processes have all
    /// ended; creates nothing yet.
    ///
    /// # Errors
    /// `Invalid` when `output` has no parent.
    pub fn next_to(output: &Path) -> Result<Self> {
        let parent = absolute(output).ok().and_then(|output| output.parent().map(Path::to_owned));
        let parent = parent.ok_or_else(|| Error::invalid("this is not a file name").in_file(output))?;
        remove_unlocked(&RealOps, &parent);
        Ok(Self::named(Arc::new(RealOps), &parent, ORDER))
    }

    fn inside(ops: Arc<dyn FileOps>, parent: &Path) -> Self {
        Self::named(ops, parent, DECODED)
    }

    fn named(ops: Arc<dyn FileOps>, parent: &Path, prefix: &str) -> Self {
        let pid = process::id();
        // A forked child has its parent's random numbers, and process ids are reused.
        let random = RandomState::new().hash_one((pid, SystemTime::now()));
        let path = parent.join(format!("{prefix}{random:0DIGITS$x}"));
        Self { ops, path, pid, held: Mutex::default() }
    }

    /// The directory, which is created if missing, and safe from other processes while this process lives.
    ///
    /// The process that chose the name may remove it at any time: a file in it may be gone.
    ///
    /// # Errors
    /// `Io` when it cannot be made.
    pub fn directory(&self) -> Result<&Path> {
        // Never hold the lock during disk access: a process that is forked meanwhile could never take it.
        let lock = || self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let held = lock().clone();
        if !held.is_some_and(|held| held.pid == process::id() && self.is_at_path(&held.directory)) {
            let directory = self.make().map_err(|error| Error::io(&self.path, &error))?;
            *lock() = Some(Arc::new(Held { directory, pid: process::id() }));
        }
        Ok(&self.path)
    }

    fn is_at_path(&self, directory: &File) -> bool {
        let statuses = look(&self.path).and_then(|named| Ok((named, directory.metadata()?)));
        statuses.is_ok_and(|(named, held)| named.is_some_and(|named| is_same(&named, &held)))
    }

    fn make(&self) -> io::Result<File> {
        for _ in 0..ATTEMPTS {
            let is_new = match self.ops.create_private_directory(&self.path) {
                Ok(()) => true,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
                Err(error) => return Err(error),
            };
            match open(&self.path) {
                Ok(directory) => {
                    // Without file locks, no process removes unlocked directories.
                    let is_locked =
                        try_flock(&directory, FlockOperation::NonBlockingLockShared).unwrap_or(true);
                    if is_locked && self.is_at_path(&directory) {
                        if is_new && let Some(parent) = self.path.parent() {
                            remove_unlocked(&*self.ops, parent);
                        }
                        return Ok(directory);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            thread::sleep(PAUSE);
        }
        Err(io::Error::new(io::ErrorKind::WouldBlock, "other processes keep removing this directory"))
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scratch").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.pid == process::id() {
            // Leftovers are removed later.
            let _ = if_there(remove(&*self.ops, &self.path));
        }
    }
}

/// Opens a directory; a link is an error.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::io::retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty()))?.into())
}

/// Removes a directory of files.
fn remove(ops: &dyn FileOps, directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        if_there(ops.remove(&entry?.path()))?;
    }
    ops.remove_directory(directory)
}

/// Removes the directories in `parent` whose processes have all ended; returns their paths.
pub(super) fn remove_unlocked(ops: &dyn FileOps, parent: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(parent) else { return Vec::new() };
    let ours = entries.flatten().filter(|entry| is_ours(&entry.file_name())).map(|entry| entry.path());
    // Other directories belong to another user or are in use.
    ours.filter(|path| remove_dead(ops, path).unwrap_or(false)).collect()
}

fn is_ours(name: &OsStr) -> bool {
    let bare = |name| [DECODED, ORDER].into_iter().find_map(|prefix| str::strip_prefix(name, prefix));
    name.to_str()
        .and_then(bare)
        .is_some_and(|digits| digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Removes a directory if its processes are dead; returns whether it did.
fn remove_dead(ops: &dyn FileOps, path: &Path) -> io::Result<bool> {
    let directory = open(path)?;
    let is_dead = is_dead(&directory, path, is_remote(&directory))?;
    if is_dead {
        remove(ops, path)?;
    }
    Ok(is_dead)
}

fn is_dead(directory: &File, path: &Path, is_remote: bool) -> io::Result<bool> {
    let is_own = directory.metadata()?.uid() == rustix::process::geteuid().as_raw();
    Ok(is_own
        && (!is_remote || is_unchanged_for(path, REMOTE_IDLE)?)
        && try_flock(directory, FlockOperation::NonBlockingLockExclusive)?)
}

/// Whether a directory and its files were last changed before that time.
fn is_unchanged_for(directory: &Path, time: Duration) -> io::Result<bool> {
    let mut newest = fs::symlink_metadata(directory)?.modified()?;
    for entry in fs::read_dir(directory)? {
        newest = newest.max(entry?.metadata()?.modified()?);
    }
    Ok(newest.elapsed().unwrap_or_default() > time)
}

/// Marks a new file as being written by a living process, if the file system has locks.
pub fn mark_unfinished(file: &File) {
    let _ = try_flock(file, FlockOperation::NonBlockingLockExclusive);
}

/// Removes the files in `directory` that [`mark_unfinished`] marked, whose names `is_unfinished` accepts, and whose
/// processes have ended.
pub fn sweep_unfinished(ops: &dyn FileOps, directory: &Path, is_unfinished: impl Fn(&str) -> bool) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_str().is_some_and(&is_unfinished) {
            let _ = remove_unfinished(ops, &entry.path());
        }
    }
}

fn remove_unfinished(ops: &dyn FileOps, path: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(path)?;
    let age = metadata.modified()?.elapsed().unwrap_or_default();
    if metadata.is_file()
        && age > UNLOCKED_FOR
        && try_flock(&File::open(path)?, FlockOperation::NonBlockingLockExclusive)?
    {
        ops.remove(path)?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::fs_calls::Call;
    use super::*;

    fn names(directory: &Path) -> Vec<PathBuf> {
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    #[test]
    fn a_directory_goes_with_its_owner_and_comes_again_when_it_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        let scratch = Scratch::inside(Arc::new(RealOps), parent.path());
        assert!(names(parent.path()).is_empty());
        for _ in 0..2 {
            let directory = scratch.directory().unwrap();
            fs::write(directory.join("a"), b"a").unwrap();
            assert_eq!(names(parent.path()), [directory]);
            remove(&RealOps, directory).unwrap();
        }
        fs::write(scratch.directory().unwrap().join("a"), b"a").unwrap();
        drop(scratch);
        assert!(names(parent.path()).is_empty());
    }

    #[test]
    fn a_directory_that_cannot_be_made_or_removed_harms_nobody() {
        let parent = tempfile::tempdir().unwrap();
        let refuse = |name: &'static str| {
            Arc::new(move |call: Call<'_>| match format!("{call:?}").starts_with(name) {
                true => Err(io::Error::other("injected")),
                false => Ok(()),
            })
        };
        let error = Scratch::inside(refuse("CreateDirectory"), parent.path()).directory().unwrap_err();
        assert!(error.to_string().contains("injected"));
        for name in ["Remove(", "RemoveDirectory"] {
            let scratch = Scratch::inside(refuse(name), parent.path());
            fs::write(scratch.directory().unwrap().join("a"), b"a").unwrap();
        }
        assert_eq!(names(parent.path()).len(), 2, "they are left to the next sweep");
        Scratch::inside(Arc::new(RealOps), parent.path()).directory().unwrap();
        assert!(names(parent.path()).is_empty());
    }

    #[test]
    fn only_directories_that_nobody_has_locked_are_swept() {
        let parent = tempfile::tempdir().unwrap();
        let (living, dead) = (
            Scratch::inside(Arc::new(RealOps), parent.path()),
            Scratch::inside(Arc::new(RealOps), parent.path()),
        );
        fs::write(living.directory().unwrap().join("a"), b"a").unwrap();
        fs::write(dead.directory().unwrap().join("a"), b"a").unwrap();
        *dead.held.lock().unwrap() = None;
        let foreign =
            [".jinx-decoded-mine", "jinx-decoded-0123456789abcdef", ".jinx-decoded-0123456789abcdeF0"];
        for name in foreign {
            fs::create_dir(parent.path().join(name)).unwrap();
        }
        let third = Scratch::inside(Arc::new(RealOps), parent.path());
        third.directory().unwrap();
        assert!(living.path.join("a").exists());
        assert!(!dead.path.exists());
        assert_eq!(names(parent.path()).len(), 2 + foreign.len());
    }

    #[test]
    fn a_directory_next_to_an_output_removes_those_of_killed_processes() {
        let parent = tempfile::tempdir().unwrap();
        let output = parent.path().join("out.jinx");
        let (living, dead) = (Scratch::next_to(&output).unwrap(), Scratch::next_to(&output).unwrap());
        for scratch in [&living, &dead] {
            fs::write(scratch.directory().unwrap().join("a"), b"a").unwrap();
        }
        *dead.held.lock().unwrap() = None;
        // Nothing needs to be created: looking is enough.
        let next = Scratch::next_to(&output).unwrap();
        assert_eq!(names(parent.path()), [&*living.path]);
        drop((next, dead, living));
        assert!(names(parent.path()).is_empty());
        assert!(Scratch::next_to(Path::new("/")).is_err());
    }

    #[test]
    fn on_a_network_file_system_a_directory_without_a_lock_may_be_in_use() {
        let parent = tempfile::tempdir().unwrap();
        let scratch = Scratch::inside(Arc::new(RealOps), parent.path());
        let path = scratch.directory().unwrap();
        let file = File::create(path.join("a")).unwrap();
        *scratch.held.lock().unwrap() = None;
        let directory = open(path).unwrap();
        let is_dead = |is_remote| is_dead(&directory, path, is_remote).unwrap();
        assert!(is_dead(false) && !is_dead(true));
        let old = SystemTime::now() - 2 * REMOTE_IDLE;
        directory.set_modified(old).unwrap();
        assert!(!is_dead(true), "its file is new");
        file.set_modified(old).unwrap();
        assert!(is_dead(true));
    }

    #[test]
    fn unfinished_files_are_swept_when_they_are_old_and_nobody_has_locked_them() {
        let parent = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let old = now - 2 * UNLOCKED_FOR;
        let make = |name: &str, modified| {
            let file = File::create(parent.path().join(name)).unwrap();
            file.set_modified(modified).unwrap();
            file
        };
        let living = make(".living.tmp", old);
        mark_unfinished(&living);
        for (name, modified) in [(".dead.tmp", old), (".young.tmp", now), ("other", old)] {
            drop(make(name, modified));
        }
        sweep_unfinished(&RealOps, parent.path(), |name| name.ends_with(".tmp"));
        let mut left: Vec<_> =
            names(parent.path()).iter().map(|path| path.file_name().unwrap().to_owned()).collect();
        left.sort();
        assert_eq!(left, [".living.tmp", ".young.tmp", "other"]);
    }
}
