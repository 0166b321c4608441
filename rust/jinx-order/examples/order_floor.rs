//! The least work that sorting a pair of plain rows can be: `bench/order` shows it as "floor" beside `jinx.sort`.
//!
//! ```text
//! order_floor MAIN SIDECAR OUT ROWS INDEX LINE_HASH KEY OFFSET:WIDTH...
//! ```
//! INDEX, LINE_HASH and each OFFSET say where an array of the sidecar begins; KEY is the number of the column to sort by,
//! of float64, or `-` for an arbitrary order. It maps both files, sorts keys and row numbers, copies every line and cell to
//! its new place, compares each line with its checksum, hashes all that is written as the format demands, and writes it
//! with `pwrite` into OUT.jinx and OUT.binx. It has no footer, one form of rows, no bound on memory and no progress; damage
//! ends it with a panic. Rows of a block are read in the order of the file, the cheapest way known to read them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::cast_possible_truncation)]

use jinx_core::cores::usable_cores;
use jinx_core::io::{Access, Source};
use jinx_core::permutation::mix;
use std::env;
use std::fs::File;
use std::hash::Hasher as _;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread;
use twox_hash::{XxHash3_64, XxHash3_128};

/// Rows of the output that a thread arranges at once.
const BLOCK: usize = 128 << 10;
/// Rows whose lines are touched before they are copied.
const TOUCHED: usize = 32;
/// Parts in which keys are sorted.
const PARTS: usize = 256;
/// Ranges of rows in a block, in which they lie in any order.
const RANGES: usize = 4096;
/// Bytes of an array with a checksum of their own.
const CHUNK: usize = 1 << 20;

/// A column, or another array of numbers.
#[derive(Clone, Copy)]
struct Array<'a> {
    bytes: &'a [u8],
    width: usize,
}

impl Array<'_> {
    fn word(&self, row: usize) -> u64 {
        u64::from_le_bytes(self.bytes[8 * row..8 * row + 8].try_into().unwrap())
    }
}

/// The checksum of an array and of its chunks, while it is written.
struct Hashes {
    whole: XxHash3_64,
    chunk: XxHash3_64,
    missing: usize,
    sums: Vec<u64>,
}

impl Hashes {
    fn new() -> Self {
        Self { whole: XxHash3_64::new(), chunk: XxHash3_64::new(), missing: CHUNK, sums: Vec::new() }
    }

    fn write(&mut self, mut bytes: &[u8]) {
        self.whole.write(bytes);
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(self.missing.min(bytes.len()));
            self.chunk.write(now);
            self.missing -= now.len();
            if self.missing == 0 {
                self.sums.push(std::mem::replace(&mut self.chunk, XxHash3_64::new()).finish());
                self.missing = CHUNK;
            }
            bytes = later;
        }
    }
}

/// What depends on the order of the blocks.
struct Turns {
    next: usize,
    main_bytes: u64,
    id: XxHash3_128,
    hashes: Vec<Hashes>,
}

/// The input and the output.
struct Job<'j> {
    lines: &'j [u8],
    index: Array<'j>,
    line_hash: Array<'j>,
    columns: Vec<Array<'j>>,
    /// Where each array of the sidecar begins: index, checksums of lines, columns.
    offsets: Vec<u64>,
    order: Vec<u32>,
    main: File,
    side: File,
    turns: (Mutex<Turns>, Condvar),
}

/// The rows of a block, in memory that is used again for the next one.
#[derive(Default)]
struct Block {
    by_row: Vec<(u32, u32)>,
    starts: Vec<usize>,
    lines: Vec<u8>,
    ends: Vec<usize>,
    index: Vec<u8>,
    /// The checksums of lines, and the columns.
    arrays: Vec<Vec<u8>>,
}

fn main() {
    let words: Vec<String> = env::args().skip(1).collect();
    let [main, side, out, rows, index, line_hash, key, columns @ ..] = words.as_slice() else {
        panic!("order_floor MAIN SIDECAR OUT ROWS INDEX LINE_HASH KEY OFFSET:WIDTH...");
    };
    let (main, side) = (opened(main), opened(side));
    let (lines, bytes) = (main.mapped().expect("a mapped file"), side.mapped().expect("a mapped sidecar"));
    let rows: usize = rows.parse().unwrap();
    let array = |offset: &str, width: usize, rows: usize| {
        let offset: usize = offset.parse().unwrap();
        Array { bytes: &bytes[offset..offset + rows * width], width }
    };
    let columns: Vec<_> = columns.iter().map(|column| column.split_once(':').unwrap()).collect();
    let offsets = [index.as_str(), line_hash].into_iter().chain(columns.iter().map(|(offset, _)| *offset));
    let offsets: Vec<u64> = offsets.map(|offset| offset.parse().unwrap()).collect();
    let columns: Vec<_> =
        columns.iter().map(|(offset, width)| array(offset, width.parse().unwrap(), rows)).collect();
    for column in &columns {
        for chunk in column.bytes.chunks(CHUNK) {
            black_box(XxHash3_64::oneshot(chunk));
        }
    }
    let key = key.parse::<usize>().ok().map(|key| columns[key]);
    let hashes = offsets.iter().map(|_| Hashes::new()).collect();
    let mut turns = Turns { next: 0, main_bytes: 0, id: XxHash3_128::new(), hashes };
    turns.hashes[0].write(&[0; 8]);
    let job = Job {
        lines,
        index: array(index, 8, rows + 1),
        line_hash: array(line_hash, 8, rows),
        columns,
        offsets,
        order: sorted(rows, key),
        main: File::create(Path::new(out).with_extension("jinx")).unwrap(),
        side: File::create(Path::new(out).with_extension("binx")).unwrap(),
        turns: (Mutex::new(turns), Condvar::new()),
    };
    in_parallel(rows.div_ceil(BLOCK), &|numbers| {
        let mut block = Block::default();
        numbers.for_each(|number| job.write(number, &mut block));
    });
    let turns = job.turns.0.into_inner().unwrap();
    black_box(turns.id.finish_128());
    for hashes in &turns.hashes {
        black_box((hashes.whole.finish(), hashes.chunk.finish(), &hashes.sums));
    }
}

fn opened(path: &str) -> Source {
    Source::open(path, Access::Mmap).unwrap()
}

/// Calls `work` on all cores, each with an iterator that shares the numbers below `count` with the others.
fn in_parallel(count: usize, work: &(dyn Fn(&mut dyn Iterator<Item = usize>) + Sync)) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..usable_cores() {
            scope.spawn(|| {
                let numbers = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)));
                work(&mut numbers.take_while(|number| *number < count));
            });
        }
    });
}

/// The rows in the order of their keys.
fn sorted(rows: usize, key: Option<Array<'_>>) -> Vec<u32> {
    let ordered = |bits: u64| if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    let key = |row: usize| match key {
        Some(key) => ordered(key.word(row)),
        None => mix(row as u64),
    };
    let mut tried: Vec<u64> = (0..PARTS * 32).map(|i| key(mix(i as u64) as usize % rows)).collect();
    tried.sort_unstable();
    let first: Vec<u64> = tried.into_iter().step_by(32).skip(1).collect();
    let mut parts: Vec<Vec<(u64, u32)>> =
        (0..PARTS).map(|_| Vec::with_capacity(rows / PARTS * 3 / 2)).collect();
    for row in 0..rows {
        let key = key(row);
        parts[first.partition_point(|first| *first <= key)].push((key, u32::try_from(row).unwrap()));
    }
    let parts: Vec<_> = parts.into_iter().map(Mutex::new).collect();
    in_parallel(PARTS, &|numbers| numbers.for_each(|part| parts[part].lock().unwrap().sort_unstable()));
    parts.into_iter().flat_map(|part| part.into_inner().unwrap()).map(|(_, row)| row).collect()
}

impl Job<'_> {
    fn write(&self, number: usize, block: &mut Block) {
        let first = number * BLOCK;
        let rows = &self.order[first..self.order.len().min(first + BLOCK)];
        self.arrange(rows, block);
        let (turns, changed) = &self.turns;
        let mut turn = turns.lock().unwrap();
        while turn.next < number {
            turn = changed.wait(turn).unwrap();
        }
        let start = turn.main_bytes;
        block.index.clear();
        block.index.extend(block.ends.iter().flat_map(|end| (start + *end as u64).to_le_bytes()));
        turn.id.write(&block.arrays[0]);
        let arrays = std::iter::once(&block.index).chain(&block.arrays);
        turn.hashes.iter_mut().zip(arrays).for_each(|(hashes, array)| hashes.write(array));
        turn.main_bytes += block.lines.len() as u64;
        turn.next += 1;
        changed.notify_all();
        drop(turn);
        self.main.write_all_at(&block.lines, start).unwrap();
        self.side.write_all_at(&block.index, self.offsets[0] + 8 * (first as u64 + 1)).unwrap();
        for (array, offset) in block.arrays.iter().zip(&self.offsets[1..]) {
            let width = (array.len() / rows.len()) as u64;
            self.side.write_all_at(array, offset + first as u64 * width).unwrap();
        }
    }

    fn arrange(&self, rows: &[u32], block: &mut Block) {
        let range = |row: u32| row as usize * RANGES / self.order.len();
        let mut next = vec![0usize; RANGES + 1];
        rows.iter().for_each(|row| next[range(*row) + 1] += 1);
        (0..RANGES).for_each(|range| next[range + 1] += next[range]);
        block.by_row.resize(rows.len(), (0, 0));
        for (row, place) in rows.iter().zip(0..) {
            let at = &mut next[range(*row)];
            block.by_row[*at] = (*row, place);
            *at += 1;
        }
        block.starts.clear();
        block.ends.resize(rows.len(), 0);
        for (row, place) in &block.by_row {
            let (start, end) = (self.index.word(*row as usize), self.index.word(*row as usize + 1));
            block.starts.push(start as usize);
            block.ends[*place as usize] = (end - start) as usize;
        }
        let mut bytes = 0;
        for end in &mut block.ends {
            bytes += *end;
            *end = bytes;
        }
        block.lines.resize(bytes, 0);
        block.arrays.resize_with(1 + self.columns.len(), Vec::new);
        block.arrays[0].resize(8 * rows.len(), 0);
        for (some, starts) in block.by_row.chunks(TOUCHED).zip(block.starts.chunks(TOUCHED)) {
            black_box(starts.iter().fold(0, |sum, start| sum ^ self.lines[*start]));
            for ((row, place), start) in some.iter().zip(starts) {
                let (row, place) = (*row as usize, *place as usize);
                let to = if place == 0 { 0 } else { block.ends[place - 1] };
                let line = &mut block.lines[to..block.ends[place]];
                line.copy_from_slice(&self.lines[*start..*start + line.len()]);
                let hash = XxHash3_64::oneshot(line);
                assert_eq!(hash, self.line_hash.word(row), "the checksum of a line");
                block.arrays[0][8 * place..8 * place + 8].copy_from_slice(&hash.to_le_bytes());
            }
        }
        for (column, array) in self.columns.iter().zip(&mut block.arrays[1..]) {
            array.resize(column.width * rows.len(), 0);
            match column.width {
                1 => scatter::<1>(&block.by_row, column.bytes, array),
                2 => scatter::<2>(&block.by_row, column.bytes, array),
                4 => scatter::<4>(&block.by_row, column.bytes, array),
                _ => scatter::<8>(&block.by_row, column.bytes, array),
            }
        }
    }
}

/// Copies the cells of rows to their places.
fn scatter<const WIDTH: usize>(by_row: &[(u32, u32)], cells: &[u8], array: &mut [u8]) {
    let (cells, places) = (cells.as_chunks::<WIDTH>().0, array.as_chunks_mut::<WIDTH>().0);
    by_row.iter().for_each(|(row, place)| places[*place as usize] = cells[*row as usize]);
}
