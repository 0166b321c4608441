//! Sorts samples by one indexed column of numbers. Keys are compared as integers, and fit in memory a part at a time, so
//! none is written to a file.

use crate::column_keys::each_key;
use crate::position_list::PositionList;
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::cores::usable_cores;
use jinx_core::error::Result;
use jinx_core::interrupt;
use jinx_core::permutation::mix;
use jinx_format::ordered_blocks::in_order;
use jinx_format::read::column_view::ColumnView;
use std::ops::Range;
use std::path::Path;

/// The number of samples in a part that is sorted at once: their items, and as many that are sorted, fit in the
/// processor's cache.
const PART: u64 = 64 << 10;
/// The number of samples that are looked at for each part, to divide the samples evenly.
const TRIED: u64 = 32;
/// The minimum number of samples of a share, and the number of samples that are searched for missing keys at a time.
const BLOCK: u64 = 8192;
/// The number of shares per thread, so that all threads end at about the same time.
const SHARES: u64 = 8;
/// The number of bytes of an item plus a quarter, because lists have spare room. Items that are being sorted come to
/// this.
const ITEM_BYTES: u64 = 20;

/// The number of bits of a key that one pass over the items puts in order.
const DIGIT_BITS: u32 = u8::BITS;

/// A sample with its key, an integer that has the order of the keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct KeyedSample {
    key: u64,
    sample: u64,
}

/// The first items of parts, in their order.
struct FirstItems<'f> {
    items: &'f [KeyedSample],
    keys: Vec<u64>,
}

impl<'f> FirstItems<'f> {
    fn new(items: &'f [KeyedSample]) -> Self {
        Self { items, keys: items.iter().map(|item| item.key).collect() }
    }

    /// The number of parts that begin with this item or before it. Compares keys alone, which takes no branches, unless
    /// the samples of one key are in several parts.
    fn begun(&self, item: KeyedSample) -> usize {
        let begun = self.keys.partition_point(|key| *key <= item.key);
        match self.keys.get(begun.wrapping_sub(1)) {
            Some(key) if *key == item.key => self.items.partition_point(|first| *first <= item),
            _ => begun,
        }
    }
}

/// Consecutive samples, sorted into parts of the output but not within them.
struct Share {
    parts: Vec<Vec<KeyedSample>>,
    /// The number of samples without a key.
    missing: u64,
}

/// The keys of samples.
pub struct NumberKeys<'k, P> {
    pub column: ColumnView<'k>,
    /// The position of a sample in the column.
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
        let first_items = self.first_items(parts)?;
        // Half of the memory is for waiting items, a quarter for items being sorted, and a quarter for the list.
        let at_once = to_usize((memory / 2 / ITEM_BYTES / PART).max(1), "the number of parts")?;
        let limit = usize::try_from(memory / 4).unwrap_or(usize::MAX);
        let mut list = PositionList::new(folder, limit, self.samples);
        let mut missing = 0;
        for (number, first) in first_items.chunks(at_once).enumerate() {
            interrupt::check()?;
            let end = first_items.get((number + 1) * at_once);
            let shares = self.collect(first, end)?;
            missing = shares.iter().map(|share| share.missing).sum();
            append_sorted(&shares, &mut list)?;
        }
        if missing > 0 && !self.drops_missing {
            self.append_missing(&mut list)?;
        }
        list.finish()?;
        Ok((list, missing))
    }

    /// The first items of parts which divide the samples about evenly.
    fn first_items(&self, parts: u64) -> Result<Vec<KeyedSample>> {
        let mut tried = Vec::new();
        if parts > 1 {
            for i in 0..parts * TRIED {
                let sample = mix(i) % self.samples;
                self.each_item(sample..sample + 1, &mut |item| tried.push(item), &mut |_| ())?;
            }
        }
        tried.sort_unstable();
        let step = usize::try_from(TRIED).unwrap_or(usize::MAX);
        let inner = tried.into_iter().skip(step).step_by(step);
        Ok(std::iter::once(KeyedSample::default()).chain(inner).collect())
    }

    /// Appends the samples without a key.
    fn append_missing(&self, list: &mut PositionList) -> Result<()> {
        let mut missing = Vec::new();
        let mut start = 0;
        while start < self.samples {
            interrupt::check()?;
            let end = self.samples.min(start + BLOCK);
            missing.clear();
            self.each_item(start..end, &mut |_| (), &mut |sample| missing.push(sample))?;
            list.extend(&missing)?;
            start = end;
        }
        Ok(())
    }

    /// For each share of the samples, the items of some consecutive parts, which begin with these first items; `end` is
    /// the first item after them.
    fn collect(&self, first_items: &[KeyedSample], end: Option<&KeyedSample>) -> Result<Vec<Share>> {
        let Some(start) = first_items.first() else { return Ok(Vec::new()) };
        let threads = usable_cores();
        let share = self.samples.div_ceil(SHARES * to_u64(threads)).max(BLOCK);
        // A quarter more than the mean, so that few lists have to grow.
        let mean = share / self.samples.div_ceil(PART).max(1);
        let expected = to_usize(mean + mean / 4, "the items of a share")?;
        let first_items = FirstItems::new(first_items);
        let items_of = |number: usize| {
            let empty = || Vec::with_capacity(expected);
            let mut parts: Vec<_> = std::iter::repeat_with(empty).take(first_items.items.len()).collect();
            let mut missing = 0;
            let first = to_u64(number) * share;
            let mut add = |item: KeyedSample| {
                if item >= *start && end.is_none_or(|end| item < *end) {
                    parts[first_items.begun(item) - 1].push(item);
                }
            };
            self.each_item(first..self.samples.min(first + share), &mut add, &mut |_| missing += 1)?;
            Ok(Share { parts, missing })
        };
        let mut shares = Vec::new();
        in_order(to_usize(self.samples.div_ceil(share), "the number of shares")?, items_of, |share| {
            shares.push(share);
            false
        })?;
        Ok(shares)
    }

    /// Passes each sample with a key to `see`, and the others to `see_missing`.
    fn each_item(
        &self,
        samples: Range<u64>,
        see: &mut impl FnMut(KeyedSample),
        see_missing: &mut impl FnMut(u64),
    ) -> Result<()> {
        let positions = samples.clone().map(|sample| (self.position)(sample));
        let mut samples = samples;
        each_key(&self.column, positions, |key| {
            let sample = samples.next().unwrap_or_default();
            match key {
                Some(key) if self.is_descending => see(KeyedSample { key: !key, sample }),
                Some(key) => see(KeyedSample { key, sample }),
                None => see_missing(sample),
            }
        })
    }
}

/// Sorts each part, and appends its samples to `list`.
fn append_sorted(shares: &[Share], list: &mut PositionList) -> Result<()> {
    let parts = shares.first().map_or(0, |share| share.parts.len());
    let samples_of = |part: usize| {
        let items = shares.iter().flat_map(|share| &share.parts[part]).copied().collect();
        Ok(sorted_by_key(items).into_iter().map(|item| item.sample).collect::<Vec<u64>>())
    };
    let mut appended = Ok(());
    in_order(parts, samples_of, |samples| {
        appended = list.extend(&samples);
        appended.is_err()
    })?;
    appended
}

/// Sorts items by their keys; those with the same key are in the order of their samples, as they must be before. Keys of
/// a part are close together: the highest bits in which they differ put nearly all of them in order.
fn sorted_by_key(mut items: Vec<KeyedSample>) -> Vec<KeyedSample> {
    let Some(first) = items.first().copied() else { return items };
    let differing_bits = items.iter().fold(0, |bits, item| bits | (item.key ^ first.key));
    let rest_bits = (u64::BITS - differing_bits.leading_zeros()).saturating_sub(2 * DIGIT_BITS);
    let mut sorted = vec![KeyedSample::default(); items.len()];
    for shift in [rest_bits, rest_bits + DIGIT_BITS] {
        let digit = |item: &KeyedSample| usize::from((item.key >> shift).to_le_bytes()[0]);
        let mut places = [0usize; 1 << DIGIT_BITS];
        items.iter().for_each(|item| places[digit(item)] += 1);
        let mut start = 0;
        for place in &mut places {
            let count = *place;
            *place = start;
            start += count;
        }
        for item in &items {
            let place = &mut places[digit(item)];
            sorted[*place] = *item;
            *place += 1;
        }
        std::mem::swap(&mut items, &mut sorted);
    }
    if rest_bits > 0 {
        let alike = items.chunk_by_mut(|one, next| one.key >> rest_bits == next.key >> rest_bits);
        alike.filter(|items| items.len() > 1).for_each(<[KeyedSample]>::sort_unstable);
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_sorted_by_all_bits_of_their_keys_and_then_by_their_samples() {
        for (bits, count) in [(0, 5), (8, 1000), (20, 3000), (64, 3000), (3, 2000), (64, 0)] {
            let key = |sample: u64| mix(sample).checked_shr(64 - bits).unwrap_or_default() << (sample % 2);
            let items: Vec<_> = (0..count).map(|sample| KeyedSample { key: key(sample), sample }).collect();
            let mut expected = items.clone();
            expected.sort();
            assert_eq!(sorted_by_key(items), expected);
        }
    }

    #[test]
    fn one_key_far_from_the_others_changes_nothing() {
        let key = |sample: u64| if sample == 700 { u64::MAX } else { mix(sample) % 500 };
        let items: Vec<_> = (0..2000).map(|sample| KeyedSample { key: key(sample), sample }).collect();
        let mut expected = items.clone();
        expected.sort();
        assert_eq!(sorted_by_key(items), expected);
    }

    #[test]
    fn an_item_is_in_the_last_part_that_has_begun() {
        let item = |key, sample| KeyedSample { key, sample };
        let items = [item(0, 0), item(5, 3), item(5, 9), item(5, 9), item(8, 1)];
        let first_items = FirstItems::new(&items);
        for key in 0..10 {
            for sample in 0..12 {
                let begun = items.iter().filter(|first| **first <= item(key, sample)).count();
                assert_eq!(first_items.begun(item(key, sample)), begun);
            }
        }
    }
}
