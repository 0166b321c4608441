//! An object that is read like a file.

use crate::access_pattern::{AccessPattern, CHUNK_BYTES, GAP_BYTES, planned};
use crate::cache::Cache;
use crate::chunk::CachedChunk;
use crate::failure::failure;
use crate::fetcher::{Origin, Pinned, Target, fetch_span};
use crate::process::{Process, locked};
use crate::spans::{ObjectId, Span};
use crate::statistics::{COUNTERS, Counters};
use crate::store::wait_for;
use bytes::Bytes;
use jinx_core::checked_math::to_usize;
use jinx_core::io::runs::runs;
use jinx_core::io::{Blocks, Density, Version};
use jinx_core::{Error, Result};
use object_store::ObjectStoreExt;
use std::fs::File;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// An object in remote storage, opened for reading. It holds no connection, so that it survives forks.
#[derive(Debug)]
pub(crate) struct RemoteObject {
    target: Target,
    pinned: Arc<Pinned>,
    id: ObjectId,
    pattern: AccessPattern,
    /// The first and last bytes of the object, as far as they are kept: they are read often.
    ends: [(u64, Bytes); 2],
    /// False once a checksum has shown that `ends` are damaged.
    are_ends_good: AtomicBool,
    cache: Option<Arc<Cache>>,
    /// Keeps the object's chunks in the cache.
    kept: OnceLock<Option<Arc<File>>>,
}

/// A part of a read that is being fetched.
type Part = (Arc<Span>, Range<u64>);

impl RemoteObject {
    pub(crate) fn new(
        target: Target,
        pinned: Pinned,
        head: Bytes,
        tail: (u64, Bytes),
        cache: Option<Arc<Cache>>,
    ) -> Self {
        let id = pinned.id(&target.url);
        Self {
            target,
            pinned: Arc::new(pinned),
            id,
            pattern: AccessPattern::default(),
            ends: [(0, head), tail],
            are_ends_good: AtomicBool::new(true),
            cache,
            kept: OnceLock::new(),
        }
    }

    fn at_end(&self, range: &Range<u64>) -> Option<Bytes> {
        if !self.are_ends_good.load(Ordering::Relaxed) {
            return None;
        }
        self.ends.iter().find_map(|(start, bytes)| {
            let first = usize::try_from(range.start.checked_sub(*start)?).ok()?;
            let last = usize::try_from(range.end.checked_sub(*start)?).ok()?;
            (last <= bytes.len()).then(|| bytes.slice(first..last))
        })
    }

    /// The span that covers `wanted`, or a new span for `range`, which must cover it.
    fn span(&self, process: &'static Process, wanted: &Range<u64>, range: Range<u64>) -> Arc<Span> {
        let limit = self.target.settings.memory_bytes;
        let (span, is_new) = process.spans.find_or_add(self.id, wanted, range, limit);
        if is_new {
            match Origin::new(process, &self.target, &self.pinned) {
                Ok(origin) => fetch_span(origin, Arc::clone(&span), self.cached_chunk(process, &span.range)),
                Err(error) => span.finish(Err(error)),
            }
        }
        span
    }

    fn cached_chunk(&self, process: &'static Process, range: &Range<u64>) -> Option<CachedChunk> {
        let cache = self.cache.as_ref().filter(|_| CachedChunk::is_one(range, self.pinned.size))?;
        // Without the lock, other processes may remove the chunks; then they are fetched again.
        let kept = self.kept.get_or_init(|| cache.keep(self.id).ok().map(Arc::new)).clone();
        let cache = Arc::clone(cache);
        Some(CachedChunk { process, cache, object: self.id, range: range.clone(), _kept: kept })
    }

    fn chunk_of(&self, range: &Range<u64>) -> Range<u64> {
        let start = range.start / CHUNK_BYTES * CHUNK_BYTES;
        start..(start + CHUNK_BYTES).min(self.pinned.size)
    }

    /// What to fetch for `range`, if `expected` is worth fetching: the whole chunk if it is in the cache, or if so much
    /// of it was read that the rest is worth keeping.
    fn widened(&self, process: &Process, range: &Range<u64>, expected: Range<u64>) -> Range<u64> {
        let chunk = self.chunk_of(range);
        let Some(cache) = self.cache.as_ref().filter(|_| range.end <= chunk.end) else { return expected };
        let (number, length) = (CachedChunk::number(&chunk), chunk.end - chunk.start);
        let bytes = range.end - range.start;
        let is_wanted =
            cache.has(self.id, number) || locked(&process.chunks).is_promoted(self.id, number, bytes, length);
        if is_wanted && expected.end <= chunk.end { chunk } else { expected }
    }

    /// Bytes from a chunk in the cache that was already compared with its checksum.
    fn in_cache(&self, process: &Process, range: &Range<u64>) -> Option<Bytes> {
        let (cache, chunk) = (self.cache.as_ref()?, self.chunk_of(range));
        let number = CachedChunk::number(&chunk);
        if range.end > chunk.end || !locked(&process.chunks).is_whole(self.id, number) {
            return None;
        }
        let bytes = cache.part(self.id, number, range.start - chunk.start..range.end - chunk.start);
        match &bytes {
            Some(bytes) => {
                Counters::add(&COUNTERS.cached_bytes, jinx_core::checked_math::to_u64(bytes.len()))
            }
            None => locked(&process.chunks).forget(self.id, number),
        }
        bytes
    }

    /// Begins to fetch those pieces of a range that are neither in memory nor requested.
    fn begin(&self, process: &'static Process, range: &Range<u64>) -> Vec<Part> {
        pieces(range).map(|piece| (self.span(process, &piece, piece.clone()), piece)).collect()
    }

    /// The parts of `range` that are being fetched as parts of `fetched`.
    fn covering(&self, process: &'static Process, range: &Range<u64>, fetched: Range<u64>) -> Vec<Part> {
        let is_one = fetched.start / CHUNK_BYTES == (fetched.end - 1) / CHUNK_BYTES;
        if is_one || fetched.end - fetched.start <= CHUNK_BYTES {
            return vec![(self.span(process, range, fetched), range.clone())];
        }
        let inside = |piece: Range<u64>| piece.start.max(range.start)..piece.end.min(range.end);
        let parts = self.begin(process, &fetched).into_iter().map(|(span, piece)| (span, inside(piece)));
        parts.filter(|(_, part)| part.start < part.end).collect()
    }

    /// What to request for planned reads: neighbouring ranges are joined into one request.
    fn planned(&self, process: &Process, ranges: &[Range<u64>]) -> Vec<Range<u64>> {
        let is_missing = |range: &&Range<u64>| {
            range.start < range.end
                && self.at_end(range).is_none()
                && process.spans.find(self.id, range).is_none()
        };
        let wanted = ranges.iter().filter(is_missing);
        let wanted: Vec<_> =
            wanted.map(|range| self.widened(process, range, planned(range, self.pinned.size))).collect();
        runs(&wanted, GAP_BYTES, CHUNK_BYTES).into_iter().map(|run| run.range).collect()
    }

    /// What to request if most bytes between the ranges are read, too: large pieces, which are whole chunks if the
    /// cache keeps them for later reads, and otherwise only what is needed now.
    fn planned_densely(&self, process: &Process, ranges: &[Range<u64>]) -> Vec<Range<u64>> {
        let wanted = ranges.iter().filter(|range| range.start < range.end && self.at_end(range).is_none());
        let wanted: Vec<_> = wanted.map(|range| planned(range, self.pinned.size)).collect();
        let runs = runs(&wanted, GAP_BYTES, u64::MAX).into_iter();
        let mut planned: Vec<Range<u64>> = Vec::new();
        for piece in runs.flat_map(|run| pieces(&run.range)) {
            if process.spans.find(self.id, &piece).is_some() {
                continue;
            }
            let chunk = self.chunk_of(&piece);
            let number = CachedChunk::number(&chunk);
            let range = match &self.cache {
                Some(_) if locked(&process.chunks).is_whole(self.id, number) => continue,
                Some(cache) if cache.has_room() || cache.has(self.id, number) => chunk,
                _ => piece,
            };
            if planned.last() != Some(&range) {
                planned.push(range);
            }
        }
        planned
    }

    /// The bytes of a range that extends over several spans or chunks, if all of them are in memory, requested, or in
    /// the cache.
    fn in_pieces(&self, process: &'static Process, range: &Range<u64>) -> Result<Option<Bytes>> {
        let mut bytes = Vec::new();
        for piece in pieces(range) {
            let found = match process.spans.find(self.id, &piece) {
                Some(span) => span.part(&piece)?,
                None => match self.in_cache(process, &piece) {
                    Some(found) => found,
                    None => return Ok(None),
                },
            };
            if found.len() == to_usize(range.end - range.start, "a length")? {
                return Ok(Some(found));
            }
            bytes.extend_from_slice(&found);
        }
        Ok(Some(Bytes::from(bytes)))
    }

    fn gathered(parts: &[Part]) -> Result<Bytes> {
        if let [(span, range)] = parts {
            return span.part(range);
        }
        let length: u64 = parts.iter().map(|(_, range)| range.end - range.start).sum();
        let mut bytes = Vec::new();
        let no_memory = |_| Error::limit(format!("no memory for {length} bytes"));
        bytes.try_reserve_exact(to_usize(length, "a length")?).map_err(no_memory)?;
        for (span, range) in parts {
            bytes.extend_from_slice(&span.part(range)?);
        }
        Ok(Bytes::from(bytes))
    }
}

/// Enough memory for what an epoch by blocks reads at the same time.
const DENSE_BYTES: u64 = 384 << 20;

fn is_one_piece(range: &Range<u64>) -> bool {
    range.start / CHUNK_BYTES == (range.end - 1) / CHUNK_BYTES
}

/// Splits a range into pieces that are requested at the same time; all are whole chunks, except at the ends.
fn pieces(range: &Range<u64>) -> impl Iterator<Item = Range<u64>> + use<> {
    let (mut start, end) = (range.start, range.end);
    std::iter::from_fn(move || {
        let piece = start..((start / CHUNK_BYTES + 1) * CHUNK_BYTES).min(end);
        start = piece.end;
        (piece.start < piece.end).then_some(piece)
    })
}

impl Blocks for RemoteObject {
    fn len(&self) -> u64 {
        self.pinned.size
    }

    fn version(&self) -> Version {
        Version::Tag(self.pinned.version())
    }

    fn require_unchanged(&self) -> Result<()> {
        let process = Process::here()?;
        let (client, key) = (self.target.client(process)?, self.target.key.clone());
        let meta =
            wait_for(process, async move { client.head(&key).await.map_err(|error| failure(&error)) })?;
        self.pinned.check(&meta)
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        Counters::add(&COUNTERS.read_bytes, range.end - range.start);
        if range.start == range.end {
            return Ok(Bytes::new());
        }
        if let Some(bytes) = self.at_end(&range) {
            return Ok(bytes);
        }
        let process = Process::here()?;
        // All objects share the memory.
        let memory = self.target.settings.memory_bytes / process.spans.recent_objects();
        let expected = self.pattern.see(&range, self.pinned.size, memory);
        let parts = match process.spans.find(self.id, &range) {
            Some(span) => vec![(span, range)],
            None if !is_one_piece(&range)
                && let Some(bytes) = self.in_pieces(process, &range)? =>
            {
                return Ok(bytes);
            }
            None => {
                // Sequential reads use whole chunks.
                if !CachedChunk::is_one(&expected.range, self.pinned.size)
                    && let Some(bytes) = self.in_cache(process, &range)
                {
                    return Ok(bytes);
                }
                self.covering(process, &range, self.widened(process, &range, expected.range))
            }
        };
        for chunk in &expected.ahead {
            self.begin(process, chunk);
        }
        Self::gathered(&parts)
    }

    fn read_many(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        // Adjacent ranges share a request, and all requests are sent before waiting for the first.
        self.will_need(ranges, Density::Sparse);
        ranges.iter().map(|range| self.read(range.clone())).collect()
    }

    fn is_cached(&self, offset: u64) -> bool {
        let byte = offset..offset + 1;
        self.at_end(&byte).is_some()
            || Process::here().is_ok_and(|process| process.spans.find(self.id, &byte).is_some())
    }

    fn will_need(&self, ranges: &[Range<u64>], density: Density) {
        let Ok(process) = Process::here() else { return };
        // Without a cache, bytes fetched for later reads would be dropped before they are read.
        let is_dense = density == Density::Dense
            && (self.cache.is_some() || self.target.settings.memory_bytes >= DENSE_BYTES);
        let planned = match is_dense {
            true => self.planned_densely(process, ranges),
            false => self.planned(process, ranges),
        };
        for range in planned {
            self.begin(process, &range);
        }
    }

    fn forget(&self, range: Range<u64>) {
        let Ok(process) = Process::here() else { return };
        self.are_ends_good.store(false, Ordering::Relaxed);
        process.spans.forget(self.id, &range);
        let Some(cache) = &self.cache else { return };
        for chunk in pieces(&range) {
            let number = CachedChunk::number(&chunk);
            locked(&process.chunks).forget(self.id, number);
            cache.remove(self.id, number);
        }
    }

    fn as_mapped(&self) -> Option<Bytes> {
        None
    }
}
