//! Pages of a sorted dataset: samples are distributed over buckets, and only the buckets of a page are sorted.

use crate::browse::numbers::Numbers;
use crate::browse::selected::Selected;
use jinx_core::{Error, Result};
use jinx_format::ordered_blocks::in_order;

const BUCKETS: usize = 1 << 16;

/// Samples in the order of their numbers; equal numbers keep their order, and samples without a number come last.
pub struct SortedPages {
    /// The samples bucket by bucket.
    samples: Vec<u32>,
    /// Where each bucket starts, and the end of the last one.
    starts: Vec<u32>,
    is_sorted: Vec<bool>,
    is_descending: bool,
}

impl SortedPages {
    /// Distributes the `chosen` samples, or all, over buckets.
    ///
    /// # Errors
    /// `Limit` for more samples than 32 bits count; `Invalid` for a choice from another number of samples; read errors.
    pub fn new(numbers: &Numbers, chosen: Option<Selected<'_>>, is_descending: bool) -> Result<Self> {
        number_of(numbers.len())?;
        if chosen.is_some_and(|chosen| chosen.samples() != numbers.len()) {
            return Err(Error::invalid("a choice from another number of samples"));
        }
        let count = chosen.map_or(numbers.len(), |chosen| chosen.count());
        let place = Place::new(numbers);
        let bucket = |key: Option<u64>| {
            key.map_or(BUCKETS, |key| {
                let bucket = place.bucket(numbers.number(key));
                if is_descending { BUCKETS - 1 - bucket } else { bucket }
            })
        };
        // The samples of a block, each with its bucket.
        let distribute = |block: usize| -> Result<Vec<(u32, usize)>> {
            let samples = numbers.block(block);
            let mut placed = Vec::new();
            let take = |sample: usize, key| placed.push((sample, bucket(key)));
            match chosen {
                None => numbers.keys_in(block, samples, take)?,
                Some(chosen) => numbers.keys_in(block, chosen.within(samples), take)?,
            }
            placed.into_iter().map(|(sample, bucket)| Ok((number_of(sample)?, bucket))).collect()
        };
        let mut starts = vec![0u32; BUCKETS + 2];
        in_order(numbers.blocks(), distribute, |placed| {
            placed.into_iter().for_each(|(_, bucket)| starts[bucket + 1] += 1);
            false
        })?;
        for at in 0..=BUCKETS {
            starts[at + 1] += starts[at];
        }
        let mut next = starts.clone();
        let mut samples = vec![0u32; count];
        in_order(numbers.blocks(), distribute, |placed| {
            for (sample, bucket) in placed {
                if let Some(cell) = samples.get_mut(index(next[bucket])) {
                    *cell = sample;
                }
                next[bucket] += 1;
            }
            false
        })?;
        // Samples without a number are already in their final order.
        let mut is_sorted = vec![false; BUCKETS + 1];
        is_sorted[BUCKETS] = true;
        Ok(Self { samples, starts, is_sorted, is_descending })
    }

    pub fn len(&self) -> usize {
        self.samples.len()
    }

    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// Whether the samples from `start` on are already sorted, so that the page needs no numbers.
    pub fn is_ready(&self, start: usize, count: usize) -> bool {
        self.buckets(start, count).all(|bucket| self.is_sorted[bucket])
    }

    /// The samples from `start` on that fit the page.
    pub fn page(&self, start: usize, count: usize) -> &[u32] {
        let start = start.min(self.len());
        &self.samples[start..self.len().min(start.saturating_add(count))]
    }

    /// Sorts the samples of a page, using the numbers from which this was made.
    ///
    /// # Errors
    /// Read errors.
    pub fn sort_page(&mut self, numbers: &Numbers, start: usize, count: usize) -> Result<()> {
        for bucket in self.buckets(start, count) {
            if self.is_sorted[bucket] {
                continue;
            }
            let (start, end) = (self.start_of(bucket), self.start_of(bucket + 1));
            let mut keyed: Vec<(u64, usize)> = Vec::with_capacity(end - start);
            let own = self.samples[start..end].iter().map(|sample| index(*sample));
            // The positions ascend, so that each block is read only once.
            let mut own = own.peekable();
            while let Some(first) = own.peek() {
                let block = numbers.block_of(*first);
                let block_end = numbers.block(block).end;
                let mut of_block = std::iter::from_fn(|| own.next_if(|sample| *sample < block_end));
                numbers.keys_in(block, &mut of_block, |sample, key| {
                    let key = key.unwrap_or_default();
                    let key = if self.is_descending { !key } else { key };
                    keyed.push((key, sample));
                })?;
            }
            keyed.sort_by_key(|(key, _)| *key);
            for (cell, (_, sample)) in self.samples[start..end].iter_mut().zip(keyed) {
                *cell = number_of(sample)?;
            }
            self.is_sorted[bucket] = true;
        }
        Ok(())
    }

    fn start_of(&self, bucket: usize) -> usize {
        index(self.starts[bucket])
    }

    /// The buckets that contain a page.
    fn buckets(&self, start: usize, count: usize) -> std::ops::Range<usize> {
        let end = start.saturating_add(count).min(self.len());
        if start >= end {
            return 0..0;
        }
        let of = |place: usize| self.starts.partition_point(|start| index(*start) <= place) - 1;
        of(start)..of(end - 1) + 1
    }
}

/// Converts the number of a sample to 32 bits.
///
/// # Errors
/// `Limit` if there are too many.
fn number_of(sample: usize) -> Result<u32> {
    u32::try_from(sample).map_err(|_| Error::limit("a viewer shows at most 2^32 samples"))
}

fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Assigns numbers to buckets, in ascending order.
struct Place {
    least: f64,
    /// Buckets per unit.
    scale: f64,
}

impl Place {
    fn new(numbers: &Numbers) -> Self {
        let (least, largest) = numbers.range().unwrap_or_default();
        #[allow(clippy::cast_precision_loss)]
        let scale = (BUCKETS - 1) as f64 / (largest - least);
        // The scale is not finite if the range exceeds the largest float, or contains only one number.
        Self { least, scale: if scale.is_finite() { scale } else { 0.0 } }
    }

    fn bucket(&self, number: f64) -> usize {
        if number.is_infinite() {
            return if number > 0.0 { BUCKETS - 1 } else { 0 };
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a cast from a float saturates
        let bucket = ((number - self.least) * self.scale) as usize;
        bucket.min(BUCKETS - 1)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::browse::numbers::tests::floats;
    use crate::browse::selected::tests::bits;

    fn check(values: &[f64], chosen: Option<&[u32]>) {
        let numbers = floats(values);
        let all: Vec<u32> = (0..u32::try_from(values.len()).unwrap()).collect();
        for is_descending in [false, true] {
            let mut expected = chosen.unwrap_or(&all).to_vec();
            let value = |i: &u32| values[usize::try_from(*i).unwrap()] + 0.0;
            expected.sort_by(|a, b| {
                let (a, b) = (value(a), value(b));
                let order = if is_descending { b.total_cmp(&a) } else { a.total_cmp(&b) };
                a.is_nan().cmp(&b.is_nan()).then(order)
            });
            let selected: Option<Vec<usize>> =
                chosen.map(|chosen| chosen.iter().map(|i| index(*i)).collect());
            let selected = selected.map(|chosen| bits(&chosen, values.len()));
            let selected = selected.as_deref().map(|bits| Selected::new(bits, values.len()).unwrap());
            let mut pages = SortedPages::new(&numbers, selected, is_descending).unwrap();
            assert_eq!(pages.len(), expected.len());
            // Start from the end, with pages that cut buckets.
            let mut found: Vec<u32> = Vec::new();
            for start in (0..expected.len()).step_by(37).rev() {
                pages.sort_page(&numbers, start, 37).unwrap();
                assert!(pages.is_ready(start, 37));
                found.splice(0..0, pages.page(start, 37).iter().copied());
            }
            assert_eq!(found, expected, "{is_descending}");
        }
    }

    #[test]
    fn pages_are_those_of_a_stable_sort() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            f64::from(u32::try_from(state >> 40).unwrap())
        };
        let mut values: Vec<f64> = (0..1000).map(|_| random()).collect();
        values.extend([
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            -0.0,
            0.0,
            1e300,
            -1e300,
            f64::MAX,
            f64::MIN,
        ]);
        check(&values, None);
        let chosen: Vec<u32> = (0..1000).filter(|i| i % 3 != 0).collect();
        check(&values, Some(&chosen));
        let small: Vec<f64> = (0..500).map(|i| f64::from(i % 3)).collect();
        check(&small, None);
        check(&[], None);
        check(&[f64::NAN, f64::NAN], None);
        check(&[7.0; 90], None);
    }

    #[test]
    fn a_choice_from_other_samples_is_refused() {
        for samples in [0, 2] {
            let bits = bits(&[], samples);
            let chosen = Selected::new(&bits, samples).unwrap();
            assert!(SortedPages::new(&floats(&[1.0]), Some(chosen), false).is_err());
        }
    }
}
