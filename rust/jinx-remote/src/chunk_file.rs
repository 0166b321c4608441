//! The file of a chunk: its bytes, their number and their checksum.

use crate::cache::{Cache, is_at};
use bytes::Bytes;
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::io::mapped;
use std::fs::{self, File};
use std::hash::Hasher;
use std::io::{self, IoSlice, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use twox_hash::XxHash3_64;

/// Length and checksum at the end of a chunk.
const TRAILER_BYTES: usize = 16;
/// The number of bytes that are read and hashed at once.
const PIECE_BYTES: usize = 256 << 10;

/// The size of the file of a chunk of `length` bytes.
pub(crate) fn size_of(length: u64) -> u64 {
    length.saturating_add(to_u64(TRAILER_BYTES))
}

/// A chunk that this process may write. The file is removed if the chunk is not published.
pub(crate) struct Claim {
    /// Locked, so that others see that it is being written.
    pub(crate) file: File,
    pub(crate) temporary: PathBuf,
    pub(crate) target: PathBuf,
    pub(crate) is_published: bool,
}

impl Claim {
    /// Removes the file, unless it was published, or the name is that of another process' file: somebody may have removed
    /// ours, if this process could not lock the object.
    pub(crate) fn remove(&self) -> bool {
        !self.is_published && self.has_name() && fs::remove_file(&self.temporary).is_ok()
    }

    fn has_name(&self) -> bool {
        is_at(&self.file, &self.temporary)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.remove();
    }
}

/// A chunk that is being written, and counted in the size of the cache.
pub(crate) struct NewChunk {
    cache: Arc<Cache>,
    pub(crate) claim: Claim,
    length: u64,
    hash: Box<XxHash3_64>,
}

impl NewChunk {
    /// A chunk for which there is room.
    pub(crate) fn new(cache: Arc<Cache>, claim: Claim, length: u64) -> Self {
        Self { cache, claim, length, hash: Box::new(XxHash3_64::new()) }
    }

    /// Appends bytes.
    pub(crate) fn write(&mut self, parts: &[Bytes]) -> io::Result<()> {
        let full = parts.iter().filter(|part| !part.is_empty());
        let mut slices: Vec<_> = full.map(|part| IoSlice::new(part)).collect();
        let mut rest = slices.as_mut_slice();
        while !rest.is_empty() {
            match (&self.claim.file).write_vectored(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => IoSlice::advance_slices(&mut rest, written),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        for part in parts {
            self.hash.write(part);
        }
        Ok(())
    }

    /// Publishes the chunk after all its bytes were written, and returns them.
    pub(crate) fn publish(mut self) -> io::Result<Bytes> {
        (&self.claim.file).write_all(&trailer(self.length, self.hash.finish()))?;
        if !self.claim.has_name() {
            return Err(io::ErrorKind::NotFound.into());
        }
        fs::rename(&self.claim.temporary, &self.claim.target)?;
        self.claim.is_published = true;
        content(&self.claim.file, self.length, self.cache.are_mapped)
    }
}

impl Drop for NewChunk {
    fn drop(&mut self) {
        if !self.claim.is_published {
            self.cache.give_up(&self.claim, self.length);
        }
    }
}

/// The bytes of a chunk whose file has the right size: a map, which is no copy, and no memory that the system could not
/// take back.
fn content(file: &File, length: u64, is_mapped: bool) -> io::Result<Bytes> {
    let length = to_usize(length, "the length of a chunk").map_err(io::Error::other)?;
    if is_mapped && let Ok(bytes) = mapped(file, length) {
        return Ok(bytes);
    }
    read(file, length)
}

fn read(file: &File, length: usize) -> io::Result<Bytes> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length)?;
    bytes.resize(length, 0);
    file.read_exact_at(&mut bytes, 0)?;
    Ok(Bytes::from(bytes))
}

/// The checksum of the first `length` bytes.
fn checksum(file: &File, length: u64) -> io::Result<u64> {
    let (mut hash, mut piece, mut at) = (XxHash3_64::new(), vec![0; PIECE_BYTES], 0);
    while at < length {
        let rest = usize::try_from(length - at).map_or(PIECE_BYTES, |rest| rest.min(PIECE_BYTES));
        file.read_exact_at(&mut piece[..rest], at)?;
        hash.write(&piece[..rest]);
        at += to_u64(rest);
    }
    Ok(hash.finish())
}

/// The bytes of a chunk; its checksum is not compared again if `is_compared`.
///
/// It is compared by reads, whose errors are errors: those of a map end the process. After that, the bytes are in the
/// page cache.
///
/// # Errors
/// `InvalidData` for a damaged chunk; errors of the disk.
pub(crate) fn checked(file: &File, length: u64, is_compared: bool, is_mapped: bool) -> io::Result<Bytes> {
    let damaged = || io::Error::from(io::ErrorKind::InvalidData);
    // Past the end of a shorter file, a map has no bytes.
    if file.metadata()?.len() != size_of(length) {
        return Err(damaged());
    }
    if !is_compared {
        let mut found = [0; TRAILER_BYTES];
        file.read_exact_at(&mut found, length)?;
        if found != trailer(length, checksum(file, length)?) {
            return Err(damaged());
        }
    }
    content(file, length, is_mapped)
}

fn trailer(length: u64, checksum: u64) -> [u8; TRAILER_BYTES] {
    let mut trailer = [0; TRAILER_BYTES];
    trailer[..8].copy_from_slice(&length.to_le_bytes());
    trailer[8..].copy_from_slice(&checksum.to_le_bytes());
    trailer
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::cache::Claimed;
    use std::fs::OpenOptions;
    use tempfile::TempDir;

    const LENGTH: u64 = 300_001;

    fn content() -> Bytes {
        (0..LENGTH).map(|i| (i * i % 251).to_le_bytes()[0]).collect()
    }

    fn new_chunk(cache: &Arc<Cache>) -> NewChunk {
        new_chunk_at(cache, 7)
    }

    fn new_chunk_at(cache: &Arc<Cache>, number: u64) -> NewChunk {
        match cache.claim(1, number) {
            Claimed::Ours(claim) => cache.reserve(claim, LENGTH).unwrap(),
            _ => panic!("nobody else claims it"),
        }
    }

    fn written() -> (TempDir, Arc<Cache>, Bytes) {
        let directory = tempfile::tempdir().unwrap();
        let cache = Arc::new(Cache::open(directory.path(), Some(1 << 20)).unwrap());
        drop(cache.keep(1).unwrap());
        let mut chunk = new_chunk(&cache);
        chunk.write(&[content().slice(..1000), Bytes::new(), content().slice(1000..2000)]).unwrap();
        chunk.write(&[Bytes::new()]).unwrap();
        chunk.write(&[content().slice(2000..)]).unwrap();
        let bytes = chunk.publish().unwrap();
        (directory, cache, bytes)
    }

    fn file_of(directory: &TempDir) -> PathBuf {
        directory.path().join("v1").join(format!("{:032x}", 1)).join("00000007")
    }

    #[test]
    fn a_published_chunk_is_found() {
        let (_directory, cache, bytes) = written();
        assert_eq!(bytes, content());
        assert_eq!(cache.find(1, 7, LENGTH, false).unwrap(), bytes);
        assert_eq!(cache.contents().unwrap().bytes, size_of(LENGTH));
        assert!(cache.find(1, 8, LENGTH, false).is_none() && cache.find(2, 7, LENGTH, false).is_none());
    }

    #[test]
    fn a_chunk_that_is_not_whole_is_removed() {
        let flip = |file: &File, at: u64| {
            let mut byte = [0];
            file.read_exact_at(&mut byte, at).unwrap();
            file.write_all_at(&[byte[0] ^ 1], at).unwrap();
        };
        let damages: [&dyn Fn(&File); 7] = [
            &|file| flip(file, 0),
            &|file| flip(file, LENGTH - 1),
            &|file| flip(file, LENGTH),
            &|file| flip(file, LENGTH + 15),
            &|file| file.set_len(1000).unwrap(),
            &|file| file.set_len(0).unwrap(),
            &|file| file.set_len(LENGTH + 17).unwrap(),
        ];
        for (number, damage) in damages.iter().enumerate() {
            let (directory, cache, _) = written();
            damage(&OpenOptions::new().read(true).write(true).open(file_of(&directory)).unwrap());
            assert!(cache.find(1, 7, LENGTH, false).is_none(), "damage {number}");
            assert!(!file_of(&directory).exists(), "damage {number}");
        }
        // A chunk of another length, as after a change of the format.
        let (_directory, cache, _) = written();
        assert!(cache.find(1, 7, LENGTH - 1, false).is_none());
    }

    #[test]
    fn a_checksum_is_compared_unless_it_was_before() {
        let (directory, cache, _) = written();
        let file = OpenOptions::new().write(true).open(file_of(&directory)).unwrap();
        file.write_all_at(&[255], 5).unwrap();
        assert_eq!(cache.find(1, 7, LENGTH, true).unwrap()[5], 255);
        assert!(cache.find(1, 7, LENGTH, false).is_none());
    }

    #[test]
    fn bytes_outlive_the_file() {
        let (directory, cache, published) = written();
        let found = cache.find(1, 7, LENGTH, false).unwrap();
        assert_eq!(cache.clear().unwrap(), size_of(LENGTH));
        assert!(!file_of(&directory).exists());
        assert_eq!((&published, &found), (&content(), &content()));
        // Another chunk of this name is another file.
        cache.keep(1).unwrap();
        let mut chunk = new_chunk(&cache);
        chunk.write(&[Bytes::from(vec![9; 300_001])]).unwrap();
        chunk.publish().unwrap();
        assert_eq!((published, found), (content(), content()));
        assert_eq!(cache.find(1, 7, LENGTH, false).unwrap()[0], 9);
    }

    #[test]
    fn a_chunk_that_is_given_up_leaves_nothing() {
        let (_directory, cache, _) = written();
        cache.remove(1, 7);
        let mut chunk = new_chunk(&cache);
        assert!(matches!(cache.claim(1, 7), Claimed::Busy));
        chunk.write(&[content()]).unwrap();
        assert!(cache.find(1, 7, LENGTH, false).is_none());
        drop(chunk);
        assert_eq!(cache.contents().unwrap().chunks, 0);
        for _ in 0..5 {
            let chunk = new_chunk(&cache);
            assert_eq!((cache.contents().unwrap().bytes, cache.counted()), (0, size_of(LENGTH)));
            drop(chunk);
            assert_eq!((cache.contents().unwrap().bytes, cache.counted()), (0, 0));
        }
    }

    #[test]
    fn a_chunk_that_others_removed_leaves_theirs_alone() {
        let (_directory, cache, _) = written();
        // Nobody holds the lock of the object.
        let mut first = new_chunk_at(&cache, 8);
        cache.clear().unwrap();
        drop(cache.keep(1).unwrap());
        let mut second = new_chunk_at(&cache, 8);
        first.write(&[content()]).unwrap();
        assert_eq!(first.publish().unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(cache.counted(), size_of(LENGTH));
        assert!(matches!(cache.claim(1, 8), Claimed::Busy));
        second.write(&[content()]).unwrap();
        second.publish().unwrap();
        assert_eq!(cache.find(1, 8, LENGTH, false).unwrap(), content());
        assert_eq!(cache.counted(), cache.contents().unwrap().bytes);
    }

    /// What a process leaves that is killed while it writes.
    fn leave_half(cache: &Arc<Cache>, number: u64) {
        let mut chunk = new_chunk_at(cache, number);
        chunk.write(&[content().slice(..1000)]).unwrap();
        let unlocked = File::open(&chunk.claim.temporary).unwrap();
        chunk.claim.file = unlocked;
        std::mem::forget(chunk);
    }

    #[test]
    fn what_a_dead_writer_left_is_counted_once_and_is_no_chunk() {
        let (_directory, cache, _) = written();
        let whole = size_of(LENGTH);
        leave_half(&cache, 8);
        assert_eq!((cache.contents().unwrap().chunks, cache.counted()), (1, 2 * whole));
        let mut chunk = new_chunk_at(&cache, 8);
        assert_eq!(cache.counted(), 2 * whole);
        chunk.write(&[content()]).unwrap();
        chunk.publish().unwrap();
        assert_eq!((cache.contents().unwrap().bytes, cache.counted()), (2 * whole, 2 * whole));
        // The cache is full with the third: a new count removes it.
        leave_half(&cache, 9);
        let chunk = new_chunk_at(&cache, 10);
        assert_eq!((cache.contents().unwrap().chunks, cache.counted()), (2, 3 * whole));
        drop(chunk);
        assert_eq!((cache.contents().unwrap().bytes, cache.counted()), (2 * whole, 2 * whole));
    }

    #[test]
    fn a_disk_that_cannot_be_read_is_an_error() {
        // There is no memory at address 0.
        let unreadable = File::open("/proc/self/mem").unwrap();
        assert!(checksum(&unreadable, LENGTH).is_err());
    }
}
