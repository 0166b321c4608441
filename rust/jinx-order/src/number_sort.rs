//! Sorts samples by one indexed column of numbers. Keys are compared as integers, and fit in memory a part at a time, so
//! none is written to a file.

use crate::position_list::PositionList;
use crate::stored_column::StoredColumn;
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::cores::usable_cores;
use jinx_core::error::Result;
use jinx_core::interrupt;
use jinx_core::permutation::mix;
use jinx_format::ordered_blocks::in_order;
use std::ops::Range;
use std::path::Path;

/// Samples in a part that is sorted at once: their items fit in the processor's cache.
const PART: u64 = 128 << 10;
/// Samples that are looked at for each part, to divide the samples evenly.
const TRIED: u64 = 32;
/// Samples whose items are made at once.
const BLOCK: u64 = 8192;
/// Shares of the samples for each thread, so that all threads end at about the same time.
const SHARES: u64 = 8;
/// Bytes of an item, twice: while the items of a part are sorted, those of all shares are put together.
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
            let (shares, missing_keys) = self.collect(bounds)?;
            missing = missing_keys;
            append_sorted(&shares, &mut list)?;
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

    /// For each share of the samples, the items within each of some consecutive bounds; and the number of samples
    /// without a key.
    fn collect(&self, bounds: &[Range<u128>]) -> Result<(Vec<Vec<Vec<u128>>>, u64)> {
        let (Some(first), Some(last)) = (bounds.first(), bounds.last()) else { return Ok((Vec::new(), 0)) };
        let all = first.start..last.end;
        let threads = usable_cores();
        let share = self.samples.div_ceil(SHARES * to_u64(threads)).max(BLOCK);
        let items_of = |number: usize| {
            let mut parts = vec![Vec::new(); bounds.len()];
            let (mut items, mut missing) = (Vec::new(), 0);
            let mut at = to_u64(number) * share;
            let end = self.samples.min(at + share);
            while at < end {
                let next = end.min(at + BLOCK);
                missing += self.items(at..next, &mut items)?;
                for item in items.iter().filter(|item| all.contains(item)) {
                    parts[bounds.partition_point(|bound| bound.end <= *item)].push(*item);
                }
                at = next;
            }
            Ok((parts, missing))
        };
        let (mut shares, mut missing) = (Vec::new(), 0);
        let count = to_usize(self.samples.div_ceil(share), "the number of shares")?;
        in_order(count, items_of, |(parts, missing_here)| {
            shares.push(parts);
            missing += missing_here;
            false
        })?;
        Ok((shares, missing))
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

/// Sorts each part, and appends its samples to `list`.
fn append_sorted(shares: &[Vec<Vec<u128>>], list: &mut PositionList) -> Result<()> {
    let parts = shares.first().map_or(0, Vec::len);
    let samples_of = |part: usize| {
        let mut items: Vec<u128> = shares.iter().flat_map(|parts| &parts[part]).copied().collect();
        items.sort_unstable();
        #[allow(clippy::cast_possible_truncation)]
        let samples = items.iter().map(|item| *item as u64 & (u64::MAX >> 1)).collect::<Vec<u64>>();
        Ok(samples)
    };
    let mut appended = Ok(());
    in_order(parts, samples_of, |samples| {
        appended = list.extend(&samples);
        appended.is_err()
    })?;
    appended
}
