//! Moves lines to their new places, through buckets on disk. A bucket is a contiguous part of the output, small enough
//! to be arranged in memory.
//!
//! ```text
//! input, part by part ──▶ pieces ──▶ bucket 0 | bucket 1 | ... ──▶ each bucket in its order ──▶ output
//! ```
//! The input is read in order, and each bucket is only appended to; only a few megabytes at a time are accessed at random.
//!
//! What is read: the lines, their cells and checksums once, the buckets once, and twice the index, since the sizes of
//! the buckets must be known first, and columns with missing values, which are counted. Cells are compared with the
//! checksums of their chunks when their part is moved. In the input, the disk is asked for the parts that threads take
//! next, and for nothing else. Its own read-ahead, up to megabytes in each of the arrays at once, would be dropped before
//! it is used where little memory is left for the cache.
//!
//! The buckets lie in the main file of the output, each with more room than its lines take. So the lines of all buckets
//! up to one end before the next bucket begins: written in order, they replace only what has been read.

use crate::order::Order;
use crate::records::{Piece, RecordForm};
use crate::rewrite::Rewrite;
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::cores::usable_cores;
use jinx_core::error::{Error, Result};
use jinx_core::interrupt;
use jinx_core::io::{expect_reads, expect_writes};
use jinx_core::threads;
use jinx_format::ordered_blocks::in_order;
use jinx_format::write::common_row_form::{LineArrays, RowForm};
use jinx_format::write::plain_lines::PlainLines;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The approximate size of a bucket, if memory allows it.
const BUCKET_BYTES: u64 = 8 << 20;
/// The approximate size of a part of the input.
const PART_BYTES: u64 = 4 << 20;
/// The minimum size of a piece in bytes. Its head is small in comparison.
const FEWEST_PIECE_BYTES: u64 = 512;
/// The number of rows whose lines are in the processor's cache at the same time.
const GATHERED_ROWS: u64 = 1024;
/// Arranging a bucket takes this many times its size: for its pieces, and for its lines and arrays in order.
const COPIES: u64 = 3;
/// The size in bytes of a place in the list of all places.
const PLACE_BYTES: u64 = 4;
/// The number of rows that are placed at a time.
const PLACED: u64 = 1 << 16;
/// The maximum number of buckets, because a part of the input has lines for every bucket.
const MOST_BUCKETS: u64 = 400;
/// The minimum number of rows in a bucket, so that its bits for missing values begin with a new byte.
const FEWEST_ROWS: u64 = 8;

/// How the output is divided into buckets, within a job's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Division {
    /// A bucket has two to the power of this many rows.
    shift: u32,
    threads: usize,
    /// The number of bytes of lines that each thread may hold at once.
    thread_bytes: u64,
}

impl Division {
    /// The division; `None` if even a single thread's buckets need more memory.
    fn of(rows: u64, bytes: u64, memory: u64, cores: usize) -> Option<Self> {
        if rows > u64::from(u32::MAX) || rows.saturating_mul(PLACE_BYTES) > memory / 2 {
            return None;
        }
        let mean = (bytes / rows.max(1)).max(1);
        // Half of the memory is for the places, and half for the buckets being arranged.
        let bucket_memory = memory / 2 / COPIES;
        let most_buckets_shift = u64::BITS - rows.div_ceil(MOST_BUCKETS).saturating_sub(1).leading_zeros();
        let smallest_shift = most_buckets_shift.max(FEWEST_ROWS.ilog2());
        let smallest_bucket = mean.saturating_mul(1 << smallest_shift);
        let threads = (bucket_memory / smallest_bucket).clamp(1, to_u64(cores.max(1)));
        let thread_bytes = bucket_memory / threads;
        let wanted_rows = (BUCKET_BYTES.min(thread_bytes) / mean).max(FEWEST_ROWS);
        let shift = smallest_shift.max(wanted_rows.ilog2());
        let threads = usize::try_from(threads).unwrap_or(cores);
        let fits = mean.saturating_mul(1 << shift) <= thread_bytes;
        fits.then_some(Self { shift, threads, thread_bytes })
    }

    fn count(self, rows: u64) -> u64 {
        rows.div_ceil(1 << self.shift)
    }
}

/// The lines of all buckets.
pub struct Buckets<'b> {
    lines: &'b PlainLines<'b>,
    form: &'b RowForm<'b>,
    record_form: RecordForm,
    rows: u64,
    division: Division,
    part_rows: u64,
    /// A piece is written when its records have this size.
    piece_bytes: u64,
    file: File,
    path: PathBuf,
    buckets: Vec<Bucket>,
}

/// A part of the file.
#[derive(Default)]
struct Bucket {
    start: u64,
    end: u64,
    used: AtomicU64,
}

/// The pieces that a thread fills, for all buckets.
type Pieces = Vec<Piece>;

impl<'b> Buckets<'b> {
    /// Creates buckets for all lines of a job in the empty main file of the output; `None` if they need more memory
    /// than the job has.
    pub fn create(
        job: &Rewrite<'_>,
        lines: &'b PlainLines<'b>,
        form: &'b RowForm<'b>,
        (file, path): (File, PathBuf),
    ) -> Option<Self> {
        let rows = form.rows();
        let division = Division::of(rows, job.bytes, job.memory, usable_cores())?;
        let mean = (job.bytes / rows.max(1)).max(1);
        let count = division.count(rows);
        Some(Self {
            lines,
            form,
            record_form: RecordForm::new(&form.array_bits()),
            rows,
            division,
            part_rows: (PART_BYTES.min(division.thread_bytes) / mean).max(1),
            piece_bytes: (division.thread_bytes / count.max(1)).max(FEWEST_PIECE_BYTES),
            file,
            path,
            buckets: (0..count).map(|_| Bucket::default()).collect(),
        })
    }

    pub fn count(&self) -> u64 {
        to_u64(self.buckets.len())
    }

    /// How many threads may arrange buckets at once.
    pub fn threads(&self) -> usize {
        self.division.threads
    }

    /// Reads all lines, and moves each one to its bucket. Calls `tell` with the number of lines of each part. Returns
    /// false and moves none if the lines of a bucket or of a part do not fit in memory: if long ones are next to each
    /// other.
    ///
    /// # Errors
    /// Errors of reading, of writing and of `tell`; `Interrupted`.
    pub fn fill(&mut self, order: &Order, tell: &mut dyn FnMut(u64) -> Result<()>) -> Result<bool> {
        let places = self.places(order)?;
        let (largest, sizes) = self.line_bytes(&places)?;
        // Buckets of about the same size still differ a little.
        let most = self.division.thread_bytes;
        if largest > most + most / 4 {
            return Ok(false);
        }
        let mut start = 0;
        for (number, size) in sizes.into_iter().enumerate() {
            let end = start + self.most_bytes(to_u64(number), size);
            self.buckets[number].start = start;
            self.buckets[number].end = end;
            start = end;
        }
        expect_writes(&self.file, start);
        let free: Mutex<Vec<Pieces>> = Mutex::default();
        let taken = || free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let at_once = to_u64(self.threads());
        let read_ahead =
            |part: u64| if part < self.parts() { self.lines.read_ahead(self.rows_of(part)) } else { Ok(()) };
        self.lines.set_read_ahead(false);
        let move_part = |part: u64, tell: &mut dyn FnMut(u64) -> Result<()>| {
            interrupt::check()?;
            if part < at_once {
                read_ahead(part)?;
            }
            read_ahead(part + at_once)?;
            let mut pieces =
                taken().unwrap_or_else(|| self.buckets.iter().map(|_| Piece::default()).collect());
            let rows = self.rows_of(part);
            self.move_rows(rows.clone(), &places, &mut pieces)?;
            free.lock().unwrap_or_else(PoisonError::into_inner).push(pieces);
            tell(rows.end - rows.start)
        };
        let moved =
            threads::report(self.threads(), self.parts(), "a thread that moves lines", &move_part, tell);
        self.lines.set_read_ahead(true);
        moved?;
        for mut pieces in free.into_inner().unwrap_or_else(PoisonError::into_inner) {
            for (bucket, piece) in self.buckets.iter().zip(&mut pieces) {
                self.write_piece(bucket, piece)?;
            }
        }
        Ok(true)
    }

    /// The number of parts of the input.
    fn parts(&self) -> u64 {
        self.rows.div_ceil(self.part_rows)
    }

    fn rows_in(&self, bucket: u64) -> u64 {
        let shift = self.division.shift;
        self.rows.saturating_sub(bucket << shift).min(1 << shift)
    }

    fn rows_of(&self, part: u64) -> Range<u64> {
        let start = part * self.part_rows;
        start..self.rows.min(start + self.part_rows)
    }

    /// The maximum total size in bytes of the pieces of a bucket. Only a thread's last piece may be small.
    fn most_bytes(&self, bucket: u64, line_bytes: u64) -> u64 {
        let rows = self.rows_in(bucket);
        let records = self.record_form.most_bytes(rows, line_bytes, 0);
        let pieces = records / self.piece_bytes + to_u64(self.threads());
        self.record_form.most_bytes(rows, line_bytes, pieces)
    }

    /// The bucket for a place in the output, and the place within that bucket.
    fn split(&self, place: &AtomicU32) -> (usize, u32) {
        let place = place.load(Ordering::Relaxed);
        let bucket = usize::try_from(place >> self.division.shift).unwrap_or(usize::MAX);
        (bucket, place & ((1u32 << self.division.shift) - 1))
    }

    /// The number of bytes of lines in the largest bucket or part, and in each bucket.
    fn line_bytes(&self, places: &[AtomicU32]) -> Result<(u64, Vec<u64>)> {
        let bytes_of = |part: usize| {
            let mut sizes = vec![0; self.buckets.len()];
            for row in self.rows_of(to_u64(part)) {
                let (bucket, _) = self.split(&places[to_usize(row, "a sample")?]);
                sizes[bucket] += self.lines.line_bytes(row)?;
            }
            Ok(sizes)
        };
        let mut sizes = vec![0; self.buckets.len()];
        let mut largest = 0;
        in_order(to_usize(self.parts(), "the number of parts")?, bytes_of, |of_part: Vec<u64>| {
            largest = largest.max(of_part.iter().sum());
            sizes.iter_mut().zip(of_part).for_each(|(size, more)| *size += more);
            false
        })?;
        Ok((sizes.iter().copied().fold(largest, u64::max), sizes))
    }

    /// For each row of the input, its place in the output.
    fn places(&self, order: &Order) -> Result<Vec<AtomicU32>> {
        let places: Vec<AtomicU32> =
            (0..to_usize(self.rows, "the number of samples")?).map(|_| AtomicU32::new(0)).collect();
        let place_block = |number: usize| {
            let start = to_u64(number) * PLACED;
            let mut rows = Vec::new();
            order.read(start..self.rows.min(start + PLACED), &mut rows)?;
            for (place, row) in (start..).zip(&rows) {
                let slot = usize::try_from(*row).ok().and_then(|row| places.get(row));
                let slot = slot.ok_or_else(|| Error::invalid(format!("sample {row} of {}", self.rows)))?;
                let place =
                    u32::try_from(place).map_err(|_| Error::invalid("a place of more than 32 bits"))?;
                slot.store(place, Ordering::Relaxed);
            }
            Ok(())
        };
        in_order(to_usize(self.rows.div_ceil(PLACED), "the number of blocks")?, place_block, |()| false)?;
        Ok(places)
    }

    /// Adds rows of the input to the pieces of their buckets, and writes those pieces that are large enough.
    fn move_rows(&self, rows: Range<u64>, places: &[AtomicU32], pieces: &mut Pieces) -> Result<()> {
        let mut start = rows.start;
        while start < rows.end {
            let end = rows.end.min(start + GATHERED_ROWS);
            let gathered = self.lines.gather_range(start..end, self.form)?;
            let places = &places[to_usize(start, "a sample")?..to_usize(end, "a sample")?];
            for (i, place) in places.iter().enumerate() {
                let (bucket, place) = self.split(place);
                let piece = &mut pieces[bucket];
                piece.push(&self.record_form, place, &gathered, i)?;
                if to_u64(piece.record_bytes()) >= self.piece_bytes {
                    self.write_piece(&self.buckets[bucket], piece)?;
                }
            }
            start = end;
        }
        Ok(())
    }

    /// Appends a piece to its bucket, and empties it.
    fn write_piece(&self, bucket: &Bucket, piece: &mut Piece) -> Result<()> {
        if piece.is_empty() {
            return Ok(());
        }
        let bytes = piece.finished();
        let length = to_u64(bytes.len());
        let at = bucket.start + bucket.used.fetch_add(length, Ordering::Relaxed);
        if at + length > bucket.end {
            return Err(Error::invalid("more lines than there is room for in their part of the output"));
        }
        self.file.write_all_at(bytes, at).map_err(|error| Error::io(&self.path, &error))?;
        piece.clear();
        Ok(())
    }

    /// The lines of a bucket, in their order.
    ///
    /// # Errors
    /// Errors of reading; `Corrupt` for a damaged file.
    pub fn arrange(&self, number: u64) -> Result<LineArrays> {
        let at = to_usize(number, "a bucket")?;
        let rows = to_usize(self.rows_in(number), "the lines of a bucket")?;
        if let Some(next) = self.buckets.get(at + self.threads()) {
            expect_reads(&self.file, next.start..next.start + next.used.load(Ordering::Relaxed));
        }
        let bucket = &self.buckets[at];
        let mut pieces = vec![0; to_usize(bucket.used.load(Ordering::Relaxed), "the size of a bucket")?];
        self.file.read_exact_at(&mut pieces, bucket.start).map_err(|error| Error::io(&self.path, &error))?;
        self.record_form.arrange(&pieces, rows)
    }

    /// The size of all pieces.
    pub fn stored_bytes(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.used.load(Ordering::Relaxed)).sum()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    #[test]
    fn memory_bounds_the_threads_and_not_the_data() {
        let rows = 10_000_000;
        let divided = |ratio: u64, cores| Division::of(rows, ratio * 256 * MB, 256 * MB, cores);
        for cores in [1, 2, 16, 64, 1000] {
            for ratio in [1, 2, 4, 16, 30] {
                let division = divided(ratio, cores).unwrap();
                let held = to_u64(division.threads) * division.thread_bytes * COPIES;
                assert!(division.threads >= 1 && held <= 128 * MB, "{cores} {ratio}: {division:?}");
                assert!(division.count(rows) <= MOST_BUCKETS);
            }
        }
        assert_eq!(divided(4, 2).unwrap().threads, 2);
        assert!(divided(4, 64).unwrap().threads >= 8);
        assert_eq!(divided(1000, 64), None);
        // The rows' places alone would take more than half of the memory.
        assert_eq!(Division::of(40_000_000, 1024 * MB, 256 * MB, 2), None);
    }
}
