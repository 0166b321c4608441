//! The cache of a machine: chunks of objects as files, shared by all processes.
//!
//! ```text
//! DIR/v1/size                      bytes of all chunks, a little-endian u64
//! DIR/v1/<object>/lock             locked (shared) by the processes that have the object open
//! DIR/v1/<object>/00000012         a chunk, its length and its checksum
//! DIR/v1/<object>/.00000012.tmp    being written; locked by its writer, so a dead one keeps nobody waiting
//! ```
//! An object is named by the hash of its URL and version, so a replaced object is another one. A chunk that was damaged,
//! or lost half of its bytes in a power cut, is fetched again. So nothing is synced.

use crate::cache_size::Size;
use crate::chunk_file::{Claim, NewChunk, checked, size_of};
use crate::process::locked;
use crate::spans::ObjectId;
use bytes::Bytes;
use jinx_core::io::{Access, is_on_remote_disk};
use jinx_core::{Error, Result};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const VERSION: &str = "v1";
/// The time after which a cache that had no room is tried again.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// A directory of chunks.
#[derive(Debug)]
pub struct Cache {
    /// The directory, including the version.
    root: PathBuf,
    size: Size,
    /// Whether chunks are mapped. The environment is not read on other threads, while a program may change it.
    pub(crate) are_mapped: bool,
    /// The time when there was no room for a chunk, or it could not be written.
    refused: Mutex<Option<Instant>>,
}

/// The contents of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheContents {
    pub objects: u64,
    pub chunks: u64,
    pub bytes: u64,
    /// The maximum number of bytes in the cache.
    pub limit: u64,
}

/// The answer to a process that wants to fetch a chunk.
pub(crate) enum Claimed {
    Ours(Claim),
    /// Another process is writing it.
    Busy,
    /// There is no room, or writing fails: fetch the chunk without keeping it.
    Refused,
}

impl Cache {
    /// Opens the cache in a directory, and creates the directory if needed.
    ///
    /// # Errors
    /// `Invalid` for a directory of another user, or on a disk of another machine; `Io`.
    pub fn open(directory: &Path, limit: Option<u64>) -> Result<Self> {
        let root = directory.join(VERSION);
        let named = |error: io::Error| Error::io(directory, &error);
        DirBuilder::new().recursive(true).mode(0o700).create(&root).map_err(named)?;
        let handle = File::open(&root).map_err(named)?;
        let metadata = handle.metadata().map_err(named)?;
        if metadata.uid() != rustix::process::geteuid().as_raw() || metadata.mode() & 0o022 != 0 {
            let what = "other users may write into this cache directory; choose one of your own";
            return Err(Error::invalid(what).in_file(directory));
        }
        if is_on_remote_disk(&handle) {
            let what =
                "the cache must be on a disk of this machine; set JINX_CACHE or cache= to a local directory";
            return Err(Error::invalid(what).in_file(directory));
        }
        let size = Size::open(&root, limit).map_err(named)?;
        Ok(Self { root, size, are_mapped: Access::may_map(), refused: Mutex::default() })
    }

    fn object(&self, object: ObjectId) -> PathBuf {
        self.root.join(format!("{object:032x}"))
    }

    fn chunk(&self, object: ObjectId, number: u64) -> PathBuf {
        self.object(object).join(format!("{number:08}"))
    }

    /// Announces that this process reads an object, so that its chunks are kept as long as the file is open.
    pub(crate) fn keep(&self, object: ObjectId) -> io::Result<File> {
        let directory = self.object(object);
        DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
        let lock = private().create(true).truncate(false).open(directory.join("lock"))?;
        flock(&lock, FlockOperation::NonBlockingLockShared)?;
        // The modification time of the lock file is the time of the object's last use.
        lock.set_modified(std::time::SystemTime::now())?;
        Ok(lock)
    }

    /// The chunk, which has `length` bytes; `None` if it does not exist or is damaged; a damaged chunk is removed. Its
    /// checksum is not compared again if `is_compared`.
    pub(crate) fn find(
        &self,
        object: ObjectId,
        number: u64,
        length: u64,
        is_compared: bool,
    ) -> Option<Bytes> {
        let file = File::open(self.chunk(object, number)).ok()?;
        match checked(&file, length, is_compared, self.are_mapped) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == io::ErrorKind::OutOfMemory => None,
            Err(_) => {
                self.remove(object, number);
                None
            }
        }
    }

    /// Removes a chunk.
    pub(crate) fn remove(&self, object: ObjectId, number: u64) {
        let path = self.chunk(object, number);
        self.size.subtract(|| remove_file(&path));
    }

    /// Part of a chunk that was already compared with its checksum.
    pub(crate) fn part(&self, object: ObjectId, number: u64, range: Range<u64>) -> Option<Bytes> {
        let file = File::open(self.chunk(object, number)).ok()?;
        let mut bytes = vec![0; usize::try_from(range.end - range.start).ok()?];
        file.read_exact_at(&mut bytes, range.start).ok()?;
        Some(Bytes::from(bytes))
    }

    /// Whether a chunk exists; it may be damaged.
    pub(crate) fn has(&self, object: ObjectId, number: u64) -> bool {
        self.chunk(object, number).exists()
    }

    /// Whether a chunk would probably be kept.
    pub(crate) fn has_room(&self) -> bool {
        locked(&self.refused).is_none_or(|time| time.elapsed() > LOOK_AGAIN)
    }

    /// Claims a chunk in order to write it.
    pub(crate) fn claim(&self, object: ObjectId, number: u64) -> Claimed {
        let target = self.chunk(object, number);
        let temporary = self.object(object).join(format!(".{number:08}.tmp"));
        let Ok(file) = private().create(true).truncate(false).open(&temporary) else {
            return Claimed::Refused;
        };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Claimed::Busy,
            Err(_) => return Claimed::Refused,
        }
        // The previous holder of the lock may have renamed the file before we locked it.
        if !is_at(&file, &temporary) {
            return Claimed::Busy;
        }
        let left = || file.metadata().map_or(0, |metadata| metadata.len());
        if left() > 0 {
            // A writer that ended has left it, and it is still counted.
            self.size.subtract(|| {
                let bytes = left();
                file.set_len(0).map_or(0, |()| bytes)
            });
        }
        Claimed::Ours(Claim { file, temporary, target, is_published: false })
    }

    /// Makes room for a claimed chunk of `length` bytes; `None` if there is none.
    pub(crate) fn reserve(self: &Arc<Self>, claim: Claim, length: u64) -> Option<NewChunk> {
        if self.size.reserve(size_of(length), &claim.file) {
            return Some(NewChunk::new(Arc::clone(self), claim, length));
        }
        self.refuse();
        None
    }

    /// Keeps no chunks for a while.
    pub(crate) fn refuse(&self) {
        *locked(&self.refused) = Some(Instant::now());
    }

    /// Removes a chunk that was not published, and gives back its room unless another process has removed it.
    pub(crate) fn give_up(&self, claim: &Claim, length: u64) {
        self.size.subtract(|| if claim.remove() { size_of(length) } else { 0 });
    }

    /// The size of the cache according to its processes.
    #[cfg(test)]
    pub(crate) fn counted(&self) -> u64 {
        self.size.counted()
    }

    /// Returns the contents of the cache.
    ///
    /// # Errors
    /// `Io`.
    pub fn contents(&self) -> Result<CacheContents> {
        let named = |error: io::Error| Error::io(&self.root, &error);
        let (mut objects, mut chunks, mut bytes) = (0, 0, 0);
        for object in objects_in(&self.root).map_err(named)? {
            objects += 1;
            let found = chunks_in(&object).map_err(named)?.into_iter();
            for chunk in found.filter(|path| !is_temporary(path)) {
                chunks += 1;
                bytes += chunk.metadata().map_or(0, |metadata| metadata.len());
            }
        }
        Ok(CacheContents { objects, chunks, bytes, limit: self.size.limit() })
    }

    /// Removes all chunks that no process uses, and returns the number of freed bytes.
    ///
    /// # Errors
    /// `Io`.
    pub fn clear(&self) -> Result<u64> {
        let named = |error: io::Error| Error::io(&self.root, &error);
        let mut freed = 0;
        for object in objects_in(&self.root).map_err(named)? {
            freed += remove_unused(&object);
        }
        self.size.count_again().map_err(named)?;
        Ok(freed)
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options
}

/// The directories of objects, least recently used first.
pub(crate) fn objects_in(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut objects = Vec::new();
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        if path.is_dir() {
            let used = fs::metadata(path.join("lock")).and_then(|metadata| metadata.modified());
            objects.push((used.unwrap_or(std::time::UNIX_EPOCH), path));
        }
    }
    objects.sort();
    Ok(objects.into_iter().map(|(_, path)| path).collect())
}

pub(crate) fn chunks_in(object: &Path) -> io::Result<Vec<PathBuf>> {
    let mut chunks = Vec::new();
    for entry in fs::read_dir(object)? {
        let path = entry?.path();
        if path.file_name().is_some_and(|name| name != "lock") {
            chunks.push(path);
        }
    }
    Ok(chunks)
}

/// Whether the file is a chunk that is being written, or was when its writer ended.
pub(crate) fn is_temporary(chunk: &Path) -> bool {
    chunk.extension().is_some_and(|extension| extension == "tmp")
}

/// Removes a chunk that no process is writing any more; returns `false` if one is.
pub(crate) fn remove_if_unlocked(temporary: &Path) -> bool {
    let Ok(file) = private().open(temporary) else { return false };
    flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
        && is_at(&file, temporary)
        && fs::remove_file(temporary).is_ok()
}

/// Whether an open file is the one that has this name now.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(held), Ok(named)) => held.ino() == named.ino() && held.dev() == named.dev(),
        _ => false,
    }
}

/// Removes a file, and returns its size in bytes; 0 if it was not removed.
fn remove_file(path: &Path) -> u64 {
    let bytes = fs::metadata(path).map_or(0, |metadata| metadata.len());
    fs::remove_file(path).map_or(0, |()| bytes)
}

/// Removes the chunks of an object unless a process has it open, and returns their size in bytes.
pub(crate) fn remove_unused(object: &Path) -> u64 {
    let Ok(lock) = private().open(object.join("lock")) else { return 0 };
    if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        return 0;
    }
    let freed = chunks_in(object).unwrap_or_default().iter().map(|chunk| remove_file(chunk)).sum();
    // A process that opens the object now creates both again.
    let _ = fs::remove_file(object.join("lock"));
    let _ = fs::remove_dir(object);
    freed
}
