//! Chunks of objects that are read through the cache on disk.

use crate::access_pattern::CHUNK_BYTES;
use crate::body::InCache;
use crate::cache::{Cache, Claimed};
use crate::chunk_file::NewChunk;
use crate::fetcher::Origin;
use crate::process::{Process, locked};
use crate::spans::ObjectId;
use crate::statistics::{COUNTERS, Counters};
use bytes::Bytes;
use jinx_core::checked_math::to_u64;
use jinx_core::{Error, Result};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// The pause between two checks of a chunk that another process is fetching.
const PAUSE: Duration = Duration::from_millis(5);
/// The number of checks of such a chunk before this process fetches it itself: about half a minute.
const LOOKS: usize = 6_000;
/// If this fraction of a chunk was read, the whole chunk is fetched.
const PROMOTED_PART: u64 = 4;

/// What this process knows about the chunks of objects.
#[derive(Debug, Default)]
pub(crate) struct ChunksSeen {
    /// Chunks in the cache that this process has written, or compared with their checksums.
    whole: HashSet<(ObjectId, u64)>,
    /// The number of bytes read from other chunks.
    read: HashMap<(ObjectId, u64), u64>,
}

/// One chunk, and the cache that keeps it.
pub(crate) struct CachedChunk {
    pub(crate) process: &'static Process,
    pub(crate) cache: Arc<Cache>,
    pub(crate) object: ObjectId,
    pub(crate) range: Range<u64>,
    /// Keeps what is being written, also after the object is closed.
    pub(crate) _kept: Option<Arc<File>>,
}

/// The result of a lookup in the cache.
enum Found {
    Bytes(Bytes),
    /// It is not there: fetch it into this one.
    New(NewChunk),
    /// Another process is fetching it.
    Busy,
    /// There is no room, or writing fails: fetch it without keeping it.
    Refused,
}

impl CachedChunk {
    pub(crate) fn number(range: &Range<u64>) -> u64 {
        range.start / CHUNK_BYTES
    }

    /// Whether a range of an object of `size` bytes is exactly one chunk.
    pub(crate) fn is_one(range: &Range<u64>, size: u64) -> bool {
        range.start.is_multiple_of(CHUNK_BYTES) && range.end == (range.start + CHUNK_BYTES).min(size)
    }

    /// The bytes of the chunk: from the cache, or from `origin` (and then put into the cache), or from the cache after
    /// another process fetched them.
    pub(crate) async fn get(self, origin: Origin) -> Result<Bytes> {
        for _ in 0..LOOKS {
            match self.look().await? {
                Found::Bytes(bytes) => return Ok(bytes),
                Found::New(chunk) => return self.fetch_into(chunk, origin).await,
                Found::Busy => tokio::time::sleep(PAUSE).await,
                Found::Refused => break,
            }
        }
        origin.fetch(self.range).await
    }

    /// Files are read and written on other threads, not on the network thread.
    async fn look(&self) -> Result<Found> {
        let (process, cache, object) = (self.process, Arc::clone(&self.cache), self.object);
        let (number, length) = (Self::number(&self.range), self.range.end - self.range.start);
        let look = move || {
            let find = || {
                let is_compared = locked(&process.chunks).is_whole(object, number);
                let bytes = cache.find(object, number, length, is_compared)?;
                locked(&process.chunks).whole.insert((object, number));
                Counters::add(&COUNTERS.cached_bytes, to_u64(bytes.len()));
                Some(bytes)
            };
            if let Some(bytes) = find() {
                return Found::Bytes(bytes);
            }
            if !cache.has_room() {
                return Found::Refused;
            }
            match cache.claim(object, number) {
                // The previous owner of the chunk may have finished just before.
                Claimed::Ours(claim) => match find() {
                    Some(bytes) => Found::Bytes(bytes),
                    // It cannot be read now, as without memory, and counts already.
                    None if cache.has(object, number) => Found::Refused,
                    None => cache.reserve(claim, length).map_or(Found::Refused, Found::New),
                },
                Claimed::Busy => Found::Busy,
                Claimed::Refused => Found::Refused,
            }
        };
        let ended = |_| Error::new(jinx_core::Cause::Internal, "a thread for the cache has ended");
        tokio::task::spawn_blocking(look).await.map_err(ended)
    }

    /// Fetches the chunk into the cache, and returns the bytes that are there. They were in memory only on their way to
    /// the disk, so a disk that is slower than the network slows it down, and memory does not fill with what is still to
    /// be written.
    async fn fetch_into(self, chunk: NewChunk, origin: Origin) -> Result<Bytes> {
        let mut body = InCache::new(chunk);
        let received = match origin.receive(self.range.clone(), &mut body).await {
            Ok(()) => body.publish().await,
            Err(error) => Err(error),
        };
        if received.is_ok() {
            let number = Self::number(&self.range);
            locked(&self.process.chunks).whole.insert((self.object, number));
            return received;
        }
        let has_disk_failed = body.has_failed();
        body.give_up().await;
        if !has_disk_failed {
            return received;
        }
        self.cache.refuse();
        origin.fetch(self.range).await
    }
}

impl ChunksSeen {
    /// Whether a chunk in the cache was already compared with its checksum.
    pub(crate) fn is_whole(&self, object: ObjectId, number: u64) -> bool {
        self.whole.contains(&(object, number))
    }

    /// Forgets a chunk that is no longer in the cache.
    pub(crate) fn forget(&mut self, object: ObjectId, number: u64) {
        self.whole.remove(&(object, number));
    }

    /// Counts a read of part of a chunk; returns `true` once so much was read that the rest is worth fetching.
    pub(crate) fn is_promoted(&mut self, object: ObjectId, number: u64, bytes: u64, length: u64) -> bool {
        let read = self.read.entry((object, number)).or_default();
        *read += bytes;
        let is_promoted = *read >= length / PROMOTED_PART;
        if is_promoted {
            self.read.remove(&(object, number));
        }
        is_promoted
    }
}
