//! Sorts samples by one indexed column of numbers. Keys are compared as integers, and fit in memory a part at a time, so
//! none is written to a file.

use crate::position_list::PositionList;
use crate::stored_column::StoredColumn;
use jinx_core::error::{Error, Result};
use jinx_core::interrupt;
use jinx_core::num::{to_u64, to_usize};
use jinx_core::panics::caught;
use jinx_core::permutation::mix;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Samples in a part that is sorted at once: their items fit in the processor's cache.
const PART: u64 = 128 << 10;
/// Samples that are looked at for each part, to divide the samples evenly.
const TRIED: u64 = 32;
/// Samples whose items are made at once.
const BLOCK: u64 = 8192;
/// How often an interrupt is looked for while threads work.
const CHECKED: Duration = Duration::from_millis(100);
/// Bytes of an item, twice: while the items of a part are collected, those of several threads are put together.
const ITEM_BYTES: u64 = 32;

/// The keys of samples.
pub struct NumberKeys<'k, P> {
    pub column: &'k StoredColumn,
    /// Where the column has a sample.
    pub position: P,
    pub samples: u64,
    pub is_descending: bool,
    pub drops_missing: bool,
}

impl<P: Fn(u64) -> u64 + Sync> NumberKeys<'_, P> {
    /// The samples in the order of their keys, and the number of samples without one. Uses about `memory` bytes.
    ///
    /// # Errors
    /// `Corrupt` for a column with too few cells; `Io` if the file with a long order cannot be written; `Interrupted`.
    pub fn sort(&self, folder: &Path, memory: u64) -> Result<(PositionList, u64)> {
        let parts = self.samples.div_ceil(PART).max(1);
        let bounds = self.bounds(parts)?;
        // A part may be somewhat larger than others.
        let at_once = to_usize((memory / ITEM_BYTES / (PART + PART / 2)).max(1), "the number of parts")?;
        let limit = usize::try_from(memory / 4).unwrap_or(usize::MAX);
        let mut list = PositionList::new(folder, limit, self.samples);
        let mut missing = 0;
        for bounds in bounds.chunks(at_once) {
            interrupt::check()?;
            let (parts, found) = self.collect(bounds)?;
            missing = found;
            for samples in sorted(&parts)? {
                list.extend(&samples)?;
            }
        }
        list.finish()?;
        Ok((list, missing))
    }

    /// The ranges of items that divide the samples into parts of about the same size.
    fn bounds(&self, parts: u64) -> Result<Vec<Range<u128>>> {
        let mut tried = Vec::new();
        if parts > 1 {
            let mut one = Vec::new();
            for i in 0..parts * TRIED {
                let sample = mix(i) % self.samples;
                self.items(sample..sample + 1, &mut one)?;
                tried.extend(one.first());
            }
        }
        tried.sort_unstable();
        let step = usize::try_from(TRIED).unwrap_or(usize::MAX);
        let inner = tried.into_iter().skip(step).step_by(step);
        let starts: Vec<u128> = std::iter::once(0).chain(inner).collect();
        let ends = starts.iter().skip(1).copied().chain([u128::MAX]);
        Ok(starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect())
    }

    /// The items within each of some consecutive bounds, from every thread; and the number of samples without a key.
    fn collect(&self, bounds: &[Range<u128>]) -> Result<(Vec<Vec<Vec<u128>>>, u64)> {
        let (Some(first), Some(last)) = (bounds.first(), bounds.last()) else { return Ok((Vec::new(), 0)) };
        let all = first.start..last.end;
        let share = self.samples.div_ceil(threads()).max(BLOCK);
        let work = |start: u64| {
            let mut parts = vec![Vec::new(); bounds.len()];
            let (mut items, mut missing) = (Vec::new(), 0);
            let end = self.samples.min(start + share);
            let mut at = start;
            while at < end {
                let next = end.min(at + BLOCK);
                missing += self.items(at..next, &mut items)?;
                for item in items.iter().filter(|item| all.contains(item)) {
                    parts[bounds.partition_point(|bound| bound.end <= *item)].push(*item);
                }
                at = next;
                interrupt::check()?;
            }
            Ok((parts, missing))
        };
        let starts: Vec<u64> = (0..self.samples).step_by(to_usize(share, "samples")?).collect();
        let done = in_threads(starts.len(), &|i| work(starts[i]))?;
        let (parts, missing): (Vec<_>, Vec<u64>) = done.into_iter().unzip();
        Ok((parts, missing.into_iter().sum()))
    }

    /// Replaces `items` with those of samples; returns how many have no key. An item is, from the highest bit: whether
    /// the key is missing, the key, and the sample. So items have the order of the samples.
    fn items(&self, samples: Range<u64>, items: &mut Vec<u128>) -> Result<u64> {
        items.clear();
        let positions = samples.clone().map(|sample| (self.position)(sample));
        let mut missing = 0;
        let mut samples = samples.clone();
        self.column.each_number(positions, |key| {
            let sample = u128::from(samples.next().unwrap_or_default());
            let Some(key) = key else {
                missing += 1;
                if !self.drops_missing {
                    items.push(1 << 127 | sample);
                }
                return;
            };
            let key = if self.is_descending { !key } else { key };
            items.push(u128::from(key) << 63 | sample);
        })?;
        Ok(missing)
    }
}

/// The samples of each part in order.
fn sorted(parts: &[Vec<Vec<u128>>]) -> Result<Vec<Vec<u64>>> {
    let count = parts.first().map_or(0, Vec::len);
    let next = AtomicUsize::new(0);
    let threads = usize::try_from(threads()).unwrap_or(1);
    let work = |_| {
        let mut done = Vec::new();
        loop {
            let part = next.fetch_add(1, Ordering::Relaxed);
            if part >= count {
                return Ok(done);
            }
            interrupt::check()?;
            let mut items: Vec<u128> = parts.iter().flat_map(|parts| &parts[part]).copied().collect();
            items.sort_unstable();
            #[allow(clippy::cast_possible_truncation)]
            let samples = items.iter().map(|item| *item as u64 & (u64::MAX >> 1)).collect::<Vec<u64>>();
            done.push((part, samples));
        }
    };
    let mut done: Vec<(usize, Vec<u64>)> = in_threads(threads, &work)?.into_iter().flatten().collect();
    done.sort_unstable_by_key(|(part, _)| *part);
    Ok(done.into_iter().map(|(_, samples)| samples).collect())
}

fn threads() -> u64 {
    to_u64(thread::available_parallelism().map_or(1, usize::from))
}

fn in_threads<T: Send>(count: usize, work: &(impl Fn(usize) -> Result<T> + Sync)) -> Result<Vec<T>> {
    let stop = Arc::new(AtomicBool::new(false));
    thread::scope(|scope| {
        let (sender, receiver) = channel();
        for i in 0..count {
            let (sender, stop) = (sender.clone(), Arc::clone(&stop));
            scope.spawn(move || {
                interrupt::also_ask(move || stop.load(Ordering::Relaxed));
                // Without a receiver, the call has ended with an error.
                let _ = sender.send((i, caught(|| work(i), "a sorting thread")));
            });
        }
        drop(sender);
        let mut done: Vec<Option<T>> = (0..count).map(|_| None).collect();
        let mut wait = || -> Result<()> {
            loop {
                match receiver.recv_timeout(CHECKED) {
                    Ok((i, result)) => done[i] = Some(result?),
                    Err(RecvTimeoutError::Timeout) => interrupt::check()?,
                    Err(RecvTimeoutError::Disconnected) => return Ok(()),
                }
            }
        };
        wait().inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
        done.into_iter().map(|one| one.ok_or_else(|| Error::invalid("a sorting thread ended"))).collect()
    })
}
