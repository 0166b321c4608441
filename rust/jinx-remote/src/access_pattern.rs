//! Predicts from the reads of an object what will be read next.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of bytes that are fetched at once from objects that are read in order. One connection needs about a tenth
/// of a second.
pub(crate) const CHUNK_BYTES: u64 = 8 << 20;
/// Reading over a gap of at most this size takes less time than another request.
pub(crate) const GAP_BYTES: u64 = 128 << 10;
/// Reads of at most this many bytes are entries of an array, whose neighbours will probably be read next.
const ENTRY_BYTES: u64 = 64;
/// The part of an array that is fetched for one entry.
const PAGE_BYTES: u64 = 64 << 10;
/// Reads of several threads that read ahead are out of order by up to this many bytes.
const DISORDER_BYTES: u64 = 1 << 20;
/// After this many reads in order, more reads in order are expected: a window takes little longer than a single read.
const FEW_READS: u64 = 2;
const FIRST_WINDOW_BYTES: u64 = 512 << 10;
/// After this many reads in order, the rest of the object is expected to be read.
const MANY_READS: u64 = 8;
/// The maximum number of chunks that are fetched before they are read: as many as use a network fully.
const MAX_CHUNKS_AHEAD: u64 = 16;

/// The last reads of an object. It is only a guess, so threads update it without a lock.
#[derive(Debug, Default)]
pub(crate) struct AccessPattern {
    end: AtomicU64,
    in_order: AtomicU64,
}

/// What to fetch for a read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    /// A range that covers the read.
    pub(crate) range: Range<u64>,
    /// Ranges after the read that will probably be read next.
    pub(crate) ahead: Vec<Range<u64>>,
}

impl AccessPattern {
    /// Records a read of an object of `length` bytes, and returns what to fetch. What is fetched before it is read takes
    /// at most half of `memory` bytes: less than a chunk is nothing.
    pub(crate) fn see(&self, read: &Range<u64>, length: u64, memory: u64) -> Expected {
        if read.end - read.start <= ENTRY_BYTES {
            return Expected { range: page(read, length), ahead: Vec::new() };
        }
        let end = self.end.load(Ordering::Relaxed);
        let is_next = read.start <= end.saturating_add(GAP_BYTES) && end <= read.start + DISORDER_BYTES;
        // Reading the same again is no progress.
        let progress = u64::from(read.end > end);
        let reads = if is_next { self.in_order.load(Ordering::Relaxed) + progress } else { 1 };
        self.in_order.store(reads, Ordering::Relaxed);
        self.end.store(if is_next { end.max(read.end) } else { read.end }, Ordering::Relaxed);
        if reads < FEW_READS {
            return Expected { range: read.clone(), ahead: Vec::new() };
        }
        if reads < MANY_READS {
            let window = read.end.max(read.start + FIRST_WINDOW_BYTES).min(length);
            return Expected { range: read.start..window, ahead: Vec::new() };
        }
        let chunk = |number: u64| number * CHUNK_BYTES..((number + 1) * CHUNK_BYTES).min(length);
        let (first, last) = (read.start / CHUNK_BYTES, (read.end - 1) / CHUNK_BYTES);
        let ahead = (reads / MANY_READS).min(MAX_CHUNKS_AHEAD).min(memory / 2 / CHUNK_BYTES);
        Expected {
            range: chunk(first).start..chunk(last).end,
            ahead: (last + 1..=last + ahead).map(chunk).filter(|chunk| chunk.start < chunk.end).collect(),
        }
    }
}

/// What to fetch for a planned read.
pub(crate) fn planned(read: &Range<u64>, length: u64) -> Range<u64> {
    if read.end - read.start <= ENTRY_BYTES { page(read, length) } else { read.clone() }
}

fn page(read: &Range<u64>, length: u64) -> Range<u64> {
    let start = read.start / PAGE_BYTES * PAGE_BYTES;
    start..read.end.max(start + PAGE_BYTES).min(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: u64 = 200 << 20;
    const MEMORY: u64 = 512 << 20;

    #[test]
    fn single_reads_fetch_what_they_need() {
        let pattern = AccessPattern::default();
        for start in [50 << 20, 3 << 20, 70 << 20, 20 << 20, 60 << 20] {
            let read = start..start + 47_000;
            assert_eq!(pattern.see(&read, LENGTH, MEMORY), Expected { range: read.clone(), ahead: vec![] });
        }
        let entry = 70_000..70_016;
        assert_eq!(pattern.see(&entry, LENGTH, MEMORY).range, 65_536..131_072);
        assert_eq!(pattern.see(&(65_530..65_546), LENGTH, MEMORY).range, 0..65_546);
        assert_eq!(planned(&(LENGTH - 8..LENGTH), LENGTH).end, LENGTH);
    }

    #[test]
    fn reading_the_same_again_fetches_nothing_ahead() {
        let pattern = AccessPattern::default();
        let read = 331_648..361_651;
        for _ in 0..40 {
            assert_eq!(pattern.see(&read, LENGTH, MEMORY), Expected { range: read.clone(), ahead: vec![] });
        }
    }

    #[test]
    fn reads_in_order_fetch_ahead() {
        let pattern = AccessPattern::default();
        let mut bytes = 0;
        for i in 0..400_u64 {
            let read = i * 47_000..(i + 1) * 47_000;
            let expected = pattern.see(&read, LENGTH, MEMORY);
            assert!(expected.range.start <= read.start && expected.range.end >= read.end);
            bytes = expected.range.end - expected.range.start;
        }
        assert_eq!(bytes, CHUNK_BYTES);
        let last = pattern.see(&(400 * 47_000..401 * 47_000), LENGTH, MEMORY);
        assert_eq!(last.ahead.len() as u64, MAX_CHUNKS_AHEAD);
        // More would be dropped from memory before it is read.
        for (memory, chunks) in [(64 << 20, 4), (16 << 20, 1), (15 << 20, 0)] {
            let next = pattern.see(&(401 * 47_000..402 * 47_000), LENGTH, memory);
            assert_eq!(next.ahead.len(), chunks);
        }
        let end = pattern.see(&(LENGTH - 100..LENGTH), LENGTH, MEMORY);
        assert!(end.ahead.is_empty() && end.range == (LENGTH - 100..LENGTH));
    }
}
