//! Sorts samples by their keys, on all cores and in bounded memory. Keys that do not fit in memory are written to
//! unnamed files in sorted stretches, which are merged at the end.

use crate::key_bytes::{Direction, KeyBytes};
use crate::merge::merge;
use crate::number_sort::NumberKeys;
use crate::order::Order;
use crate::position_list::PositionList;
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::cores::usable_cores;
use jinx_core::error::{Error, Result};
use jinx_core::interrupt;
use jinx_core::io::process_limits::max_open_files;
use jinx_core::panics::caught;
use jinx_core::threads;
use jinx_format::read::column_view::ColumnView;
use jinx_format::read::columns::ColumnType;
use std::cell::Cell;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The number of bytes of a key that are stored in its entry.
const PREFIX_BYTES: usize = 16;
/// With fewer samples per thread than this, another thread is not worthwhile.
const ROWS_PER_THREAD: usize = 4096;
/// A thread collects the keys of this many samples before it checks how much memory it uses.
const CHUNK_ROWS: usize = 64;
/// The size of the buffers of files being merged.
const BUFFER_BYTES: std::ops::RangeInclusive<usize> = 1 << 14..=1 << 18;
/// The number of files that are merged at once, if memory and the limit on open files allow it.
const MERGED_FILES: std::ops::RangeInclusive<usize> = 8..=256;
/// The share of the files that the process may open which one round of merging uses. There are rarely more than three
/// rounds.
const OPEN_FILES_SHARE: u64 = 8;

/// A key with its sample. Items are compared by key, then by sample, so the sort is stable.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Item<R> {
    prefix: u128,
    rest: R,
    sample: u64,
}

impl Item<Vec<u8>> {
    fn as_ref(&self) -> Item<&[u8]> {
        Item { prefix: self.prefix, rest: &self.rest, sample: self.sample }
    }
}

/// The first bytes of a key, and the position of its other bytes.
#[derive(Debug, Clone, Copy)]
struct Entry {
    prefix: u128,
    rest_start: usize,
    rest_len: usize,
    sample: u64,
}

/// Sorted samples with their keys.
#[derive(Debug, Default)]
struct Stretch {
    entries: Vec<Entry>,
    rests: Vec<u8>,
}

impl Stretch {
    fn push(&mut self, key: &[u8], sample: u64) {
        let (mut prefix, head) = ([0; PREFIX_BYTES], key.len().min(PREFIX_BYTES));
        prefix[..head].copy_from_slice(&key[..head]);
        let rest = &key[head..];
        let entry = Entry {
            prefix: u128::from_be_bytes(prefix),
            rest_start: self.rests.len(),
            rest_len: rest.len(),
            sample,
        };
        self.rests.extend_from_slice(rest);
        self.entries.push(entry);
    }

    fn item(&self, entry: &Entry) -> Item<&[u8]> {
        let rest = &self.rests[entry.rest_start..entry.rest_start + entry.rest_len];
        Item { prefix: entry.prefix, rest, sample: entry.sample }
    }

    fn sort(&mut self) {
        let mut entries = std::mem::take(&mut self.entries);
        // Comparing prefixes is usually enough, because most keys are no longer than the prefix or differ within it.
        entries.sort_unstable_by(|a, b| {
            let by_prefix = a.prefix.cmp(&b.prefix);
            by_prefix.then_with(|| self.item(a).cmp(&self.item(b)))
        });
        self.entries = entries;
    }

    fn bytes(&self) -> usize {
        self.entries.len() * size_of::<Entry>() + self.rests.len()
    }

    /// Sorts the samples, and returns the memory that they do not need.
    fn finish(&mut self) {
        self.sort();
        self.entries.shrink_to_fit();
        self.rests.shrink_to_fit();
    }
}

/// Collects the keys of one sample after another, and sorts them.
#[derive(Debug)]
pub struct Sorter {
    keys: KeyBytes,
    folder: PathBuf,
    memory: usize,
    drops_missing: bool,
    stretches: Vec<Stretch>,
    /// Files with sorted keys. Those of each level are merged into one of the next.
    files: Vec<Vec<File>>,
    merged_files: usize,
    next: u64,
    missing: u64,
    directions: Vec<Direction>,
    /// The order according to a column of numbers.
    sorted: Option<PositionList>,
}

/// The result of a [`Sorter`].
#[derive(Debug)]
pub struct Sorted {
    pub order: Order,
    /// The number of samples with a missing key.
    pub missing: u64,
}

impl Sorter {
    /// `folder` is for files with keys that do not fit into `memory`. The files have no names and disappear when the
    /// process ends. `drops_missing` drops samples with a missing key.
    pub fn new(directions: &[Direction], folder: &Path, memory: u64, drops_missing: bool) -> Self {
        let memory = usize::try_from(memory).unwrap_or(usize::MAX);
        Self {
            keys: KeyBytes::new(directions),
            folder: folder.to_owned(),
            memory,
            drops_missing,
            stretches: Vec::new(),
            files: Vec::new(),
            merged_files: merged_files(memory),
            next: 0,
            missing: 0,
            directions: directions.to_vec(),
            sorted: None,
        }
    }

    /// Adds the next `count` samples. `prepare` makes what the keys of a few of them are taken from, and `key` pushes the
    /// keys of one. Both number the samples from 0.
    ///
    /// # Errors
    /// Errors of `prepare` and `key`; `Invalid` for keys that have no common order, and after [`Self::add_column`], which
    /// adds all samples; `Io` if a file cannot be written; `Interrupted`.
    pub fn add<P>(
        &mut self,
        count: usize,
        prepare: &(impl Fn(Range<usize>) -> Result<P> + Sync),
        key: &(impl Fn(&P, usize, &mut KeyBytes) -> Result<()> + Sync),
    ) -> Result<()> {
        if self.sorted.is_some() {
            return Err(Error::invalid("all samples have their keys already"));
        }
        let mut start = 0;
        while start < count {
            start = self.take_keys(start..count, prepare, key)?;
            if self.stretches.iter().map(Stretch::bytes).sum::<usize>() > self.memory / 2 {
                self.spill()?;
            }
        }
        self.next += to_u64(count);
        Ok(())
    }

    /// Collects keys on all threads, until those of all `samples` are there or each thread has used its share of the
    /// memory. Returns the first sample that is left.
    fn take_keys<P>(
        &mut self,
        samples: Range<usize>,
        prepare: &(impl Fn(Range<usize>) -> Result<P> + Sync),
        key: &(impl Fn(&P, usize, &mut KeyBytes) -> Result<()> + Sync),
    ) -> Result<usize> {
        let threads = samples.len().div_ceil(ROWS_PER_THREAD).min(usable_cores());
        // A growing list may take twice its size.
        let share = self.memory / 8 / threads.max(1);
        let (first, drops, keys) = (self.next, self.drops_missing, &self.keys);
        let next = AtomicUsize::new(samples.start);
        let take = |is_caller: bool, at: &Cell<usize>| {
            let mut keys = keys.clone();
            let (mut stretch, mut missing) = (Stretch::default(), 0);
            loop {
                let start = next.fetch_add(CHUNK_ROWS, Ordering::Relaxed).min(samples.end);
                let chunk = start..samples.end.min(start + CHUNK_ROWS);
                if chunk.is_empty() {
                    break;
                }
                at.set(start);
                if is_caller {
                    interrupt::check()?;
                }
                let prepared = prepare(chunk.clone())?;
                for i in chunk {
                    let sample = first + to_u64(i);
                    keys.begin(sample);
                    key(&prepared, i, &mut keys)?;
                    let is_missing = keys.end()?;
                    missing += u64::from(is_missing);
                    if !(is_missing && drops) {
                        stretch.push(&keys.bytes, sample);
                    }
                }
                if stretch.bytes() >= share {
                    break;
                }
            }
            stretch.finish();
            Ok((stretch, keys, missing))
        };
        let parts = Mutex::new(Vec::new());
        threads::share(threads, &|is_caller| {
            let at = Cell::new(samples.start);
            let part = caught(|| take(is_caller, &at), "a sorting thread");
            if part.is_err() {
                next.store(samples.end, Ordering::Relaxed);
            }
            parts.lock().unwrap_or_else(PoisonError::into_inner).push((at.get(), part));
        });
        let mut parts = parts.into_inner().unwrap_or_else(PoisonError::into_inner);
        // Chunks are taken in order, so the first error is always among these.
        parts.sort_by_key(|(at, part)| (part.is_ok(), *at));
        for (_, part) in parts {
            let (stretch, keys, missing) = part?;
            self.keys.unite(&keys)?;
            self.missing += missing;
            if !stretch.entries.is_empty() {
                self.stretches.push(stretch);
            }
        }
        Ok(next.into_inner().min(samples.end))
    }

    /// Sorts all samples by a column of numbers. Returns false, and does nothing, if there are other keys or the column
    /// has strings. `position` is where the column has a sample.
    ///
    /// # Errors
    /// `Corrupt` for a column with too few cells; `Io` if a file cannot be written; `Interrupted`.
    pub fn add_column(
        &mut self,
        column: ColumnView<'_>,
        samples: u64,
        position: &(impl Fn(u64) -> u64 + Sync),
    ) -> Result<bool> {
        let [direction] = self.directions.as_slice() else { return Ok(false) };
        if self.next > 0 || column.dtype == ColumnType::Utf8 {
            return Ok(false);
        }
        let keys = NumberKeys {
            column,
            position,
            samples,
            is_descending: direction.is_descending,
            drops_missing: self.drops_missing,
        };
        let (list, missing) = keys.sort(&self.folder, to_u64(self.memory))?;
        self.sorted = Some(list);
        self.missing = missing;
        self.next = samples;
        Ok(true)
    }

    /// Moves all keys from memory to a file, and merges files if there are too many.
    fn spill(&mut self) -> Result<()> {
        let mut file = self.written(|write| merge_stretches(&self.stretches, write))?;
        self.stretches = Vec::new();
        for level in 0.. {
            if self.files.len() == level {
                self.files.push(Vec::new());
            }
            self.files[level].push(file);
            if self.files[level].len() < self.merged_files {
                break;
            }
            let files = std::mem::take(&mut self.files[level]);
            file = self.written(|write| self.merge_files(files, |item| write(item.as_ref())))?;
        }
        Ok(())
    }

    /// An unnamed file with the items passed by `pass`, ready to be read from its start.
    fn written(
        &self,
        pass: impl FnOnce(&mut dyn FnMut(Item<&[u8]>) -> Result<()>) -> Result<()>,
    ) -> Result<File> {
        let failed = |error: &std::io::Error| Error::io(&self.folder, error);
        let file = tempfile::tempfile_in(&self.folder).map_err(|error| failed(&error))?;
        let mut out = BufWriter::with_capacity(*BUFFER_BYTES.end(), file);
        pass(&mut |item| {
            let length = u32::try_from(item.rest.len())
                .map_err(|_| Error::limit("a key of more than 4 GB").in_sample(item.sample))?;
            let mut write = || {
                out.write_all(&item.prefix.to_be_bytes())?;
                out.write_all(&length.to_le_bytes())?;
                out.write_all(item.rest)?;
                out.write_all(&item.sample.to_le_bytes())
            };
            write().map_err(|error| failed(&error))
        })?;
        let mut file = out.into_inner().map_err(|error| failed(error.error()))?;
        file.seek(SeekFrom::Start(0)).map_err(|error| failed(&error))?;
        Ok(file)
    }

    /// Passes the items of files to `see`, in order.
    fn merge_files(&self, files: Vec<File>, see: impl FnMut(Item<Vec<u8>>) -> Result<()>) -> Result<()> {
        let buffer = self.memory / 4 / files.len().max(1);
        let buffer = buffer.clamp(*BUFFER_BYTES.start(), *BUFFER_BYTES.end());
        let sequences = files.into_iter().map(|file| {
            let mut file = BufReader::with_capacity(buffer, file);
            move || read_item(&mut file).map_err(|error| Error::io(&self.folder, &error))
        });
        merge(sequences.collect(), see)
    }

    /// The samples in the order of their keys.
    ///
    /// # Errors
    /// `Io` if a file cannot be read or written.
    pub fn finish(mut self) -> Result<Sorted> {
        if let Some(list) = self.sorted {
            return Ok(Sorted { order: Order::Listed(list), missing: self.missing });
        }
        let mut list = PositionList::new(&self.folder, self.memory / 4, self.next);
        if self.files.is_empty() {
            merge_stretches(&self.stretches, |item| list.push(item.sample))?;
        } else {
            self.spill()?;
            let files = std::mem::take(&mut self.files).into_iter().flatten().collect();
            self.merge_files(files, |item| list.push(item.sample))?;
        }
        list.finish()?;
        Ok(Sorted { order: Order::Listed(list), missing: self.missing })
    }
}

/// The number of files to merge at once: their buffers and descriptors are only part of what the process may have.
fn merged_files(memory: usize) -> usize {
    let by_memory = memory / 4 / BUFFER_BYTES.start();
    let by_limit = max_open_files().map(|files| files / OPEN_FILES_SHARE);
    let by_limit = by_limit.and_then(|files| usize::try_from(files).ok()).unwrap_or(usize::MAX);
    by_memory.min(by_limit).clamp(*MERGED_FILES.start(), *MERGED_FILES.end())
}

fn merge_stretches(stretches: &[Stretch], see: impl FnMut(Item<&[u8]>) -> Result<()>) -> Result<()> {
    let sequences = stretches.iter().map(|stretch| {
        let mut entries = stretch.entries.iter();
        move || Ok(entries.next().map(|entry| stretch.item(entry)))
    });
    merge(sequences.collect(), see)
}

/// The next record of a file; `None` at its end.
fn read_item(file: &mut impl Read) -> std::io::Result<Option<Item<Vec<u8>>>> {
    let mut prefix = [0; PREFIX_BYTES];
    match file.read_exact(&mut prefix) {
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let (mut length, mut sample) = ([0; 4], [0; 8]);
    file.read_exact(&mut length)?;
    let length = to_usize(u64::from(u32::from_le_bytes(length)), "the length of a key");
    let mut rest = vec![0; length.map_err(|error| std::io::Error::other(error.to_string()))?];
    file.read_exact(&mut rest)?;
    file.read_exact(&mut sample)?;
    Ok(Some(Item { prefix: u128::from_be_bytes(prefix), rest, sample: u64::from_le_bytes(sample) }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::cast_possible_truncation)]
mod tests {
    use super::*;
    use crate::key_bytes::KeyValue;
    use std::borrow::Cow;

    fn sorted(
        keys: &[Option<String>],
        memory: u64,
        is_descending: bool,
        drops_missing: bool,
    ) -> (Vec<u64>, u64) {
        let folder = tempfile::tempdir().unwrap();
        let direction = Direction { is_descending, is_natural: false };
        let mut sorter = Sorter::new(&[direction], folder.path(), memory, drops_missing);
        for block in keys.chunks(9000) {
            sorter
                .add(block.len(), &|_| Ok(()), &|(), i, out| {
                    out.push(&match &block[i] {
                        None => KeyValue::Missing,
                        Some(text) => KeyValue::Text(Cow::Borrowed(text)),
                    })
                })
                .unwrap();
        }
        let Sorted { order, missing } = sorter.finish().unwrap();
        let mut found = Vec::new();
        order.read(0..order.len(), &mut found).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        (found, missing)
    }

    #[test]
    fn the_order_is_stable_and_the_same_in_any_memory() {
        let keys: Vec<Option<String>> = (0..30_000u64)
            .map(|i| {
                let number = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50;
                (number % 97 > 0).then(|| format!("{number:0width$}", width = 1 + (number % 40) as usize))
            })
            .collect();
        let mut expected: Vec<u64> = (0..30_000).collect();
        expected.sort_by_key(|i| {
            let key = &keys[usize::try_from(*i).unwrap()];
            (key.is_none(), key.clone())
        });
        let absent = to_u64(keys.iter().filter(|key| key.is_none()).count());
        for memory in [0, 500_000, u64::MAX] {
            assert_eq!(sorted(&keys, memory, false, false), (expected.clone(), absent), "{memory}");
            let kept = expected[..expected.len() - absent as usize].to_vec();
            assert_eq!(sorted(&keys, memory, false, true), (kept, absent));
        }
        expected.sort_by_key(|i| {
            let key = &keys[usize::try_from(*i).unwrap()];
            (key.is_none(), std::cmp::Reverse(key.clone()))
        });
        assert_eq!(sorted(&keys, 500_000, true, false), (expected, absent));
        assert_eq!(sorted(&[], 0, false, false), (vec![], 0));
    }

    #[test]
    fn kinds_that_differ_between_blocks_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut sorter = Sorter::new(&[Direction::default()], folder.path(), u64::MAX, false);
        sorter.add(3, &|_| Ok(()), &|(), _, out| out.push(&KeyValue::Int(1))).unwrap();
        let error = sorter
            .add(3, &|_| Ok(()), &|(), _, out| out.push(&KeyValue::Text(Cow::Borrowed("a"))))
            .unwrap_err();
        assert!(error.to_string().contains("sample 0 and a string in sample 3"), "{error}");
    }

    #[test]
    fn no_samples_are_added_after_those_of_a_column() {
        let folder = tempfile::tempdir().unwrap();
        let mut sorter = Sorter::new(&[Direction::default()], folder.path(), u64::MAX, false);
        let dtype = ColumnType::Uint8;
        let column = ColumnView {
            dtype,
            rows: 3,
            width: None,
            validity: None,
            offsets: None,
            data: &[3, 1, 2],
            codes: None,
        };
        assert!(sorter.add_column(column, 3, &|sample| sample).unwrap());
        assert!(sorter.add(1, &|_| Ok(()), &|(), _, out| out.push(&KeyValue::Int(1))).is_err());
        let mut found = Vec::new();
        sorter.finish().unwrap().order.read(0..3, &mut found).unwrap();
        assert_eq!(found, [1, 2, 0]);
    }
}
