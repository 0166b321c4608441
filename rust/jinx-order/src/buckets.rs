//! Moves lines to their new places through buckets on disk. A bucket is a contiguous part of the output, small enough to
//! be arranged in memory.
//!
//! ```text
//! input, part by part ──▶ pieces ──▶ bucket 0 | bucket 1 | ... ──▶ each bucket in its order ──▶ output
//! ```
//! The input is read in order, and each bucket is only appended to; only a few megabytes at a time are accessed at random.
//!
//! The buckets lie in the main file of the output, each with more room than its lines take. So the lines of all buckets
//! up to one end before the next bucket begins: written in order, they replace only what has been read.

use crate::order::Order;
use crate::pieces::{Piece, arranged, most_bytes};
use crate::rewrite::Rewrite;
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::cores::usable_cores;
use jinx_core::error::{Error, Result};
use jinx_core::interrupt;
use jinx_core::io::{expect_reads, expect_writes};
use jinx_core::panics::caught;
use jinx_core::threads;
use jinx_format::ordered_blocks::in_order;
use jinx_format::write::plain_lines::PlainLines;
use jinx_format::write::row_form::{LineArrays, RowForm};
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread;

/// The approximate size of a bucket.
const BUCKET_BYTES: u64 = 8 << 20;
/// The approximate size of a part of the input.
const PART_BYTES: u64 = 4 << 20;
/// A bucket that is arranged takes its size this many times: its bytes, its pieces, and its lines in order.
const COPIES: u64 = 4;
/// Bytes of a place in the list of all.
const PLACE_BYTES: u64 = 4;
/// Rows to place at once.
const PLACED: u64 = 1 << 16;
/// A part of the input has lines for every bucket; about as many of them at the most.
const MOST_BUCKETS: u64 = 400;

/// The lines of all buckets.
pub struct Buckets<'b> {
    lines: &'b PlainLines<'b>,
    form: &'b RowForm<'b>,
    rows: u64,
    /// A bucket has 2 to the power of this many rows.
    shift: u32,
    part_rows: u64,
    /// Bytes of lines that a thread may hold at once.
    most: u64,
    threads: usize,
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

impl<'b> Buckets<'b> {
    /// Buckets for all lines of a job, in the empty main file of the output; `None` if they need more memory than the job
    /// has.
    pub fn create(
        job: &Rewrite<'_>,
        lines: &'b PlainLines<'b>,
        form: &'b RowForm<'b>,
        (file, path): (File, PathBuf),
    ) -> Option<Self> {
        let (rows, memory) = (form.rows(), job.memory);
        let threads = usable_cores();
        let mean = (job.bytes / rows.max(1)).max(1);
        // Half of the memory is for the places, the other half for the buckets that are being arranged.
        let most = memory / 2 / COPIES / to_u64(threads);
        let wanted = BUCKET_BYTES.min(most).max(job.bytes.div_ceil(MOST_BUCKETS)) / mean;
        let mut shift = wanted.max(8).ilog2();
        if rows.div_ceil(1 << shift) > MOST_BUCKETS {
            shift += 1;
        }
        let fits = rows.saturating_mul(PLACE_BYTES) <= memory / 2 && mean << shift <= most;
        if !fits || rows > u64::from(u32::MAX) {
            return None;
        }
        let buckets = (0..rows.div_ceil(1 << shift)).map(|_| Bucket::default()).collect();
        let part_rows = (PART_BYTES.min(most) / mean).max(1);
        Some(Self { lines, form, rows, shift, part_rows, most, threads, file, path, buckets })
    }

    pub fn count(&self) -> u64 {
        to_u64(self.buckets.len())
    }

    /// Reads all lines, and moves each to its bucket. Calls `tell` with the number of lines of each part. Returns false
    /// and moves none if the lines of a bucket or of a part do not fit in memory: if long ones are next to each other.
    ///
    /// # Errors
    /// Errors of reading, of writing and of `tell`; `Interrupted`.
    pub fn fill(&mut self, order: &Order, tell: &mut dyn FnMut(u64) -> Result<()>) -> Result<bool> {
        let places = self.places(order)?;
        // Buckets of about the same size differ a little.
        let (largest, sizes) = self.sizes(&places)?;
        if largest > self.most + self.most / 4 {
            return Ok(false);
        }
        let mut start = 0;
        for (bucket, size) in self.buckets.iter_mut().zip(sizes) {
            (bucket.start, bucket.end) = (start, start + size);
            start = bucket.end;
        }
        expect_writes(&self.file, start);
        self.in_threads(self.parts(), &|part| self.move_part(part, &places), tell)?;
        Ok(true)
    }

    /// The number of parts of the input.
    fn parts(&self) -> u64 {
        self.rows.div_ceil(self.part_rows)
    }

    fn rows_in(&self, bucket: u64) -> u64 {
        self.rows.saturating_sub(bucket << self.shift).min(1 << self.shift)
    }

    fn rows_of(&self, part: u64) -> Range<u64> {
        let start = part * self.part_rows;
        start..self.rows.min(start + self.part_rows)
    }

    /// Each of some rows of the input with its bucket, and its place in that bucket.
    fn moves(
        &self,
        rows: Range<u64>,
        places: &[AtomicU32],
    ) -> Result<impl Iterator<Item = (u64, usize, u32)>> {
        let places = &places[to_usize(rows.start, "a sample")?..to_usize(rows.end, "a sample")?];
        let mask = (1u32 << self.shift) - 1;
        Ok(rows.zip(places).map(move |(row, place)| {
            let place = place.load(Ordering::Relaxed);
            let bucket = usize::try_from(place >> self.shift).unwrap_or(usize::MAX);
            (row, bucket, place & mask)
        }))
    }

    /// The bytes of the lines in the largest bucket or part; for each bucket, the most that its pieces can take.
    fn sizes(&self, places: &[AtomicU32]) -> Result<(u64, Vec<u64>)> {
        let sizes: Vec<AtomicU64> = self.buckets.iter().map(|_| AtomicU64::new(0)).collect();
        let bytes_of = |part: usize| {
            let mut bytes = 0;
            for (row, bucket, _) in self.moves(self.rows_of(to_u64(part)), places)? {
                let line = self.lines.line_bytes(row)?;
                bytes += line;
                sizes[bucket].fetch_add(line, Ordering::Relaxed);
            }
            Ok(bytes)
        };
        let mut largest = 0;
        in_order(to_usize(self.parts(), "the number of parts")?, bytes_of, |bytes| {
            largest = largest.max(bytes);
            false
        })?;
        let lines: Vec<u64> = sizes.into_iter().map(AtomicU64::into_inner).collect();
        let largest = lines.iter().copied().fold(largest, u64::max);
        let bits = self.form.array_bits();
        let others =
            |(number, lines): (u64, u64)| lines + most_bytes(self.rows_in(number), self.parts(), &bits);
        Ok((largest, (0..).zip(lines).map(others).collect()))
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
                let at = usize::try_from(*row).ok().and_then(|row| places.get(row));
                let at = at.ok_or_else(|| Error::invalid(format!("sample {row} of {}", self.rows)))?;
                at.store(u32::try_from(place).unwrap_or(u32::MAX), Ordering::Relaxed);
            }
            Ok(())
        };
        in_order(to_usize(self.rows.div_ceil(PLACED), "the number of blocks")?, place_block, |()| false)?;
        Ok(places)
    }

    /// Moves the lines of a part of the input; returns their number.
    fn move_part(&self, part: u64, places: &[AtomicU32]) -> Result<u64> {
        let rows = self.rows_of(part);
        self.lines.read_ahead(rows.clone())?;
        let mut moved: Vec<(Vec<u64>, Vec<u32>)> = Vec::new();
        moved.resize_with(self.buckets.len(), Default::default);
        for (row, bucket, place) in self.moves(rows.clone(), places)? {
            let (rows, places) = &mut moved[bucket];
            rows.push(row);
            places.push(place);
        }
        for (bucket, (rows, places)) in self.buckets.iter().zip(moved) {
            if rows.is_empty() {
                continue;
            }
            let piece = Piece { places, lines: self.lines.gather(&rows, self.form)? };
            let bytes = piece.encode()?;
            let length = to_u64(bytes.len());
            let at = bucket.start + bucket.used.fetch_add(length, Ordering::Relaxed);
            if at + length > bucket.end {
                return Err(Error::invalid("more lines than there is room for in their part of the output"));
            }
            self.file.write_all_at(&bytes, at).map_err(|error| Error::io(&self.path, &error))?;
        }
        Ok(rows.end - rows.start)
    }

    /// The lines of a bucket in their order.
    ///
    /// # Errors
    /// Errors of reading; `Corrupt` for a damaged file.
    pub fn arrange(&self, number: u64) -> Result<LineArrays> {
        let at = to_usize(number, "a bucket")?;
        let rows = to_usize(self.rows_in(number), "the lines of a bucket")?;
        let bits = self.form.array_bits();
        if let Some(next) = self.buckets.get(at + self.threads) {
            expect_reads(&self.file, next.start..next.start + next.used.load(Ordering::Relaxed));
        }
        let bucket = &self.buckets[at];
        let mut bytes = vec![0; to_usize(bucket.used.load(Ordering::Relaxed), "the size of a bucket")?];
        self.file.read_exact_at(&mut bytes, bucket.start).map_err(|error| Error::io(&self.path, &error))?;
        let pieces = Piece::decode_all(&bytes, &bits)?;
        drop(bytes);
        arranged(&pieces, rows, &bits)
    }

    /// The size of all pieces.
    pub fn piece_bytes(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.used.load(Ordering::Relaxed)).sum()
    }

    /// Does `work` for the numbers below `count` on all threads. Calls `tell` with each of its results.
    fn in_threads(
        &self,
        count: u64,
        work: &(dyn Fn(u64) -> Result<u64> + Sync),
        tell: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        let next = AtomicU64::new(0);
        let stop = || next.store(count, Ordering::Relaxed);
        thread::scope(|scope| {
            let (sender, receiver) = channel();
            let mut is_alone = true;
            for _ in 0..self.threads {
                let (sender, next) = (sender.clone(), &next);
                let mover = move || {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= count {
                            return;
                        }
                        let work = || interrupt::check().and_then(|()| work(number));
                        if sender.send(caught(work, "a thread that moves lines")).is_err() {
                            return;
                        }
                    }
                };
                is_alone &= threads::start(scope, mover).is_none();
            }
            drop(sender);
            if is_alone {
                return (0..count).try_for_each(|number| {
                    interrupt::check()?;
                    tell(caught(|| work(number), "moving lines")?)
                });
            }
            // The other threads do not notice an interrupt.
            let outcome = receiver.iter().try_for_each(|done| interrupt::check().and_then(|()| tell(done?)));
            outcome.inspect_err(|_| stop())
        })
    }
}
