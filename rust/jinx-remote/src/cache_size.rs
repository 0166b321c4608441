//! The size of a cache in bytes, shared by its processes.

use crate::cache::{chunks_in, is_temporary, objects_in, remove_if_unlocked, remove_unused};
use rustix::fs::{FlockOperation, flock, statvfs};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// One part in this many of the disk is left free.
const FREE_PART: u64 = 20;
/// A full cache is counted again at most this often: a process that was killed may have left a wrong sum.
const COUNT_AGAIN: Duration = Duration::from_secs(10);

/// The sum of the sizes of all chunks, in a file that only one process changes at a time.
#[derive(Debug)]
pub(crate) struct Size {
    /// The directory of the cache.
    root: PathBuf,
    limit: u64,
    counted: Mutex<Option<Instant>>,
}

impl Size {
    /// Opens the sum; the default limit is half of the free space, including what the cache contains.
    pub(crate) fn open(root: &Path, limit: Option<u64>) -> io::Result<Self> {
        let mut size = Self { root: root.to_owned(), limit: 0, counted: Mutex::new(None) };
        size.limit = match limit {
            Some(limit) => limit,
            None => (size.free()?.0 + size.locked(|used| (used, used))?) / 2,
        };
        Ok(size)
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Removes something, and subtracts its bytes, which `remove` returns, in the same step: a new count has either both
    /// or neither. Returns the bytes.
    pub(crate) fn subtract(&self, remove: impl FnOnce() -> u64) -> u64 {
        let subtract = |used: u64| {
            let bytes = remove();
            (bytes, used.saturating_sub(bytes))
        };
        self.locked(subtract).unwrap_or_default()
    }

    /// Makes room for a chunk and counts it; returns `false` if there is no room.
    ///
    /// The chunk's file gets its length in the same step, so a new count includes chunks being written.
    ///
    /// Only objects that no process has open make room. A dataset in use keeps the chunks that came first: an epoch reads
    /// each chunk once, so a chunk removed for a new one would be needed again before the new one.
    pub(crate) fn reserve(&self, bytes: u64, chunk: &File) -> bool {
        if self.try_reserve(bytes, chunk) {
            return true;
        }
        let Ok(mut counted) = self.counted.lock() else { return false };
        // Another thread may have made room since the first attempt.
        if self.try_reserve(bytes, chunk) {
            return true;
        }
        if counted.is_some_and(|last| last.elapsed() < COUNT_AGAIN) {
            return false;
        }
        *counted = Some(Instant::now());
        self.count_again().is_ok() && (self.try_reserve(bytes, chunk) || self.make_room(bytes, chunk))
    }

    fn try_reserve(&self, bytes: u64, chunk: &File) -> bool {
        let is_free = self.free().is_ok_and(|(free, total)| free > bytes + total / FREE_PART);
        let take = |used: u64| match used.checked_add(bytes).filter(|sum| *sum <= self.limit) {
            Some(sum) if chunk.set_len(bytes).is_ok() => (true, sum),
            _ => (false, used),
        };
        is_free && self.locked(take).unwrap_or(false)
    }

    fn make_room(&self, bytes: u64, chunk: &File) -> bool {
        for object in objects_in(&self.root).unwrap_or_default() {
            let freed = self.subtract(|| remove_unused(&object));
            if freed > 0 && self.try_reserve(bytes, chunk) {
                return true;
            }
        }
        false
    }

    /// Sets the sum to the actual size, and removes what writers that ended have left.
    pub(crate) fn count_again(&self) -> io::Result<()> {
        let count = || {
            let mut sum = 0;
            for object in objects_in(&self.root)? {
                for chunk in chunks_in(&object).unwrap_or_default() {
                    if is_temporary(&chunk) && remove_if_unlocked(&chunk) {
                        continue;
                    }
                    sum += chunk.metadata().map_or(0, |metadata| metadata.len());
                }
            }
            io::Result::Ok(sum)
        };
        self.locked(|used| ((), count().unwrap_or(used)))
    }

    /// The sum.
    #[cfg(test)]
    pub(crate) fn counted(&self) -> u64 {
        self.locked(|used| (used, used)).unwrap_or_default()
    }

    /// Opens the file each time: threads and forked processes that share a descriptor also share its lock.
    fn locked<T>(&self, change: impl FnOnce(u64) -> (T, u64)) -> io::Result<T> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(self.root.join("size"))?;
        flock(&file, FlockOperation::LockExclusive)?;
        let before = read(&file);
        let (answer, after) = change(before);
        if after != before {
            file.write_all_at(&after.to_le_bytes(), 0)?;
        }
        Ok(answer)
    }

    /// The free bytes and the total bytes of the disk.
    fn free(&self) -> io::Result<(u64, u64)> {
        let disk = statvfs(&self.root)?;
        Ok((disk.f_bavail.saturating_mul(disk.f_frsize), disk.f_blocks.saturating_mul(disk.f_frsize)))
    }
}

fn read(file: &File) -> u64 {
    let mut bytes = [0; 8];
    file.read_exact_at(&mut bytes, 0).map_or(0, |()| u64::from_le_bytes(bytes))
}
