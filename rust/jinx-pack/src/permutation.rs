//! A seeded order of `0..n` that is computed place by place: no array is stored, and any place costs the same.
//!
//! A Feistel network of [`ROUNDS`] rounds permutes the numbers of `ceil(log2 n)` bits, at least 10; what falls outside `0..n` is
//! permuted again until it falls inside (cycle walking; Black and Rogaway, "Ciphers with arbitrary finite domains",
//! 2002). Only 64-bit integer arithmetic is used, so every platform gives the same order.

use std::ops::Range;

/// Enough that neighbours and short cycles look random to the tests in this file.
const ROUNDS: usize = 6;
/// Places whose numbers are computed side by side.
const LANES: usize = 8;
/// Of the numbers that are permuted: in a smaller range few of all orders are ever met.
const FEWEST_BITS: u32 = 10;
/// The finaliser of splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// What is permuted, so that one seed gives independent orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Samples of an epoch.
    Samples,
    /// Packs of an epoch.
    Packs,
    /// Samples of one source of a mixture, the same in all epochs.
    Source(u32),
    /// Groups of packs in the given window of a schedule.
    Steps(u64),
}

impl Stream {
    fn number(self) -> (u64, u64) {
        match self {
            Self::Samples => (1, 0),
            Self::Packs => (2, 0),
            Self::Source(number) => (3, u64::from(number)),
            Self::Steps(window) => (4, window),
        }
    }
}

/// An order of `0..n`.
#[derive(Debug, Clone)]
pub struct Permutation {
    count: u64,
    low_bits: u32,
    high_bits: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// The order of `0..count` that belongs to a seed and an epoch.
    #[must_use]
    pub fn new(count: u64, seed: u64, epoch: u64, stream: Stream) -> Self {
        let bits = (u64::BITS - count.saturating_sub(1).leading_zeros()).max(FEWEST_BITS);
        let (kind, number) = stream.number();
        let mut state = [seed, epoch, kind, number, count]
            .into_iter()
            .fold(0, |state: u64, word| mix(state.wrapping_add(GOLDEN) ^ word));
        let keys = std::array::from_fn(|_| {
            state = state.wrapping_add(GOLDEN);
            mix(state)
        });
        Self { count, low_bits: bits / 2, high_bits: bits - bits / 2, keys }
    }

    /// How many numbers are permuted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The number at a place; `place` is below `count`.
    #[must_use]
    pub fn at(&self, place: u64) -> u64 {
        debug_assert!(place < self.count, "place {place} of {}", self.count);
        self.walked(self.once(place))
    }

    /// The numbers at consecutive places, several at a time, which takes a third of the time.
    pub fn extend(&self, places: Range<u64>, found: &mut Vec<u64>) {
        let mut place = places.start;
        while places.end - place >= LANES as u64 {
            let (low, high) = (self.low_bits, self.high_bits);
            let mut left: [u64; LANES] = std::array::from_fn(|lane| (place + lane as u64) >> low);
            let mut right: [u64; LANES] = std::array::from_fn(|lane| (place + lane as u64) & mask(low));
            for pair in self.keys.chunks_exact(2) {
                for lane in 0..LANES {
                    left[lane] ^= scramble(right[lane] ^ pair[0]) & mask(high);
                }
                for lane in 0..LANES {
                    right[lane] ^= scramble(left[lane] ^ pair[1]) & mask(low);
                }
            }
            found.extend((0..LANES).map(|lane| self.walked((left[lane] << low) | right[lane])));
            place += LANES as u64;
        }
        found.extend((place..places.end).map(|place| self.at(place)));
    }

    /// A number below `count`, from one that need not be.
    fn walked(&self, mut value: u64) -> u64 {
        while value >= self.count {
            value = self.once(value);
        }
        value
    }

    fn once(&self, value: u64) -> u64 {
        let (low, high) = (self.low_bits, self.high_bits);
        let (mut left, mut right) = (value >> low, value & mask(low));
        // Two rounds at a time, so that the halves keep their widths.
        for pair in self.keys.chunks_exact(2) {
            left ^= scramble(right ^ pair[0]) & mask(high);
            right ^= scramble(left ^ pair[1]) & mask(low);
        }
        (left << low) | right
    }
}

fn mask(bits: u32) -> u64 {
    if bits == 0 { 0 } else { u64::MAX >> (u64::BITS - bits) }
}

/// A cheap mixer whose low bits depend on every bit of its input.
fn scramble(value: u64) -> u64 {
    let product = (value ^ (value >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (product ^ (product >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::cast_possible_truncation)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_number_comes_once(count in 1_u64..3000, seed: u64, epoch: u64) {
            let order = Permutation::new(count, seed, epoch, Stream::Samples);
            let mut found: Vec<u64> = (0..count).map(|place| order.at(place)).collect();
            found.sort_unstable();
            prop_assert_eq!(found, (0..count).collect::<Vec<_>>());
        }

        #[test]
        fn many_places_at_once_hold_the_same(count in 1_u64..3000, seed: u64, ends in (0_u64..3000, 0_u64..3000)) {
            let order = Permutation::new(count, seed, 0, Stream::Packs);
            let places = ends.0.min(ends.1).min(count)..ends.0.max(ends.1).min(count);
            let mut found = Vec::new();
            order.extend(places.clone(), &mut found);
            prop_assert_eq!(found, places.map(|place| order.at(place)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_order_is_the_same_everywhere_and_for_ever() {
        let order = Permutation::new(10, 0, 0, Stream::Samples);
        let found: Vec<u64> = (0..10).map(|place| order.at(place)).collect();
        assert_eq!(found, FIRST_TEN);
        let large = Permutation::new(100_000_000, 7, 3, Stream::Packs);
        assert_eq!([0, 1, 99_999_999].map(|place| large.at(place)), OF_MANY);
    }

    const FIRST_TEN: [u64; 10] = [1, 9, 4, 0, 2, 3, 7, 5, 6, 8];
    const OF_MANY: [u64; 3] = [23_685_946, 51_342_155, 2_246_891];

    #[test]
    fn seeds_epochs_and_streams_give_other_orders() {
        let first = |seed, epoch, stream| {
            let order = Permutation::new(1000, seed, epoch, stream);
            (0..1000).map(|place| order.at(place)).collect::<Vec<_>>()
        };
        let mut orders = vec![
            first(0, 0, Stream::Samples),
            first(1, 0, Stream::Samples),
            first(0, 1, Stream::Samples),
            first(0, 0, Stream::Packs),
            first(0, 0, Stream::Source(0)),
            first(0, 0, Stream::Source(1)),
            first(0, 0, Stream::Steps(1)),
        ];
        orders.sort();
        orders.dedup();
        assert_eq!(orders.len(), 7);
    }

    /// Chi-square over seeds: each number is as often at each place.
    #[test]
    fn all_places_are_alike() {
        for count in [3_u64, 5, 8, 13, 40] {
            let seeds = 20_000_u64;
            let mut seen = vec![0_u32; (count * count) as usize];
            for seed in 0..seeds {
                let order = Permutation::new(count, seed, 0, Stream::Samples);
                for place in 0..count {
                    seen[(place * count + order.at(place)) as usize] += 1;
                }
            }
            let expected = seeds as f64 / count as f64;
            let chi: f64 = seen.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
            let freedom = ((count - 1) * (count - 1)) as f64;
            assert!(chi < freedom + 6.0 * (2.0 * freedom).sqrt(), "{count}: {chi} for {freedom}");
        }
    }

    /// Neighbouring places hold unrelated numbers: their differences are spread evenly.
    #[test]
    fn neighbours_are_unrelated() {
        let count = 1 << 16;
        let order = Permutation::new(count, 5, 0, Stream::Samples);
        let mut seen = [0_u32; 64];
        for place in 0..count - 1 {
            let step = (order.at(place + 1) + count - order.at(place)) % count;
            seen[(step / (count / 64)) as usize] += 1;
        }
        let expected = (count - 1) as f64 / 64.0;
        let chi: f64 = seen.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
        assert!(chi < 63.0 + 6.0 * (126.0_f64).sqrt(), "{chi}");
    }
}
