//! The orders of samples, packs and steps. One seed gives independent orders for each of them, and for each epoch.

use jinx_core::permutation::{self, GOLDEN, RoundFunction, mask, mix};

/// An order of `0..n`. With six rounds, neighbours and short cycles look random to the tests in this file.
pub type Permutation = permutation::Permutation<Scrambled, 6>;

/// A cheap mixer whose low bits depend on every bit of its input.
#[derive(Debug, Clone)]
pub struct Scrambled;

impl RoundFunction for Scrambled {
    const FEWEST_BITS: u32 = 10;

    fn bits_of(half: u64, key: u64, bits: u32) -> u64 {
        let value = half ^ key;
        let product = (value ^ (value >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        ((product ^ (product >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32) & mask(bits)
    }
}

/// What is permuted. One seed gives an independent order for each stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// The samples of an epoch.
    Samples,
    /// The packs of an epoch.
    Packs,
    /// The samples of one source of a mixture; the same in all epochs.
    Source(u32),
    /// The groups of packs in one window of a schedule.
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

/// The order of `0..count` for a seed, an epoch and a stream.
#[must_use]
pub fn permutation(count: u64, seed: u64, epoch: u64, stream: Stream) -> Permutation {
    let (kind, number) = stream.number();
    let words = [seed, epoch, kind, number, count];
    Permutation::new(
        count,
        words.into_iter().fold(0, |state: u64, word| mix(state.wrapping_add(GOLDEN) ^ word)),
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::cast_possible_truncation)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_number_comes_once(count in 1_u64..3000, seed: u64, epoch: u64) {
            let order = permutation(count, seed, epoch, Stream::Samples);
            let mut found: Vec<u64> = (0..count).map(|place| order.at(place)).collect();
            found.sort_unstable();
            prop_assert_eq!(found, (0..count).collect::<Vec<_>>());
        }

        #[test]
        fn many_places_at_once_hold_the_same(count in 1_u64..3000, seed: u64, ends in (0_u64..3000, 0_u64..3000)) {
            let order = permutation(count, seed, 0, Stream::Packs);
            let places = ends.0.min(ends.1).min(count)..ends.0.max(ends.1).min(count);
            let mut found = Vec::new();
            order.extend(places.clone(), &mut found);
            prop_assert_eq!(found, places.map(|place| order.at(place)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_order_is_the_same_everywhere_and_for_ever() {
        let order = permutation(10, 0, 0, Stream::Samples);
        let found: Vec<u64> = (0..10).map(|place| order.at(place)).collect();
        assert_eq!(found, FIRST_TEN);
        let large = permutation(100_000_000, 7, 3, Stream::Packs);
        assert_eq!([0, 1, 99_999_999].map(|place| large.at(place)), OF_MANY);
    }

    const FIRST_TEN: [u64; 10] = [1, 9, 4, 0, 2, 3, 7, 5, 6, 8];
    const OF_MANY: [u64; 3] = [23_685_946, 51_342_155, 2_246_891];

    #[test]
    fn seeds_epochs_and_streams_give_other_orders() {
        let first = |seed, epoch, stream| {
            let order = permutation(1000, seed, epoch, stream);
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

    /// Chi-square test over seeds: each number is equally often at each place.
    #[test]
    fn all_places_are_alike() {
        for count in [3_u64, 5, 8, 13, 40] {
            let seeds = 20_000_u64;
            let mut seen = vec![0_u32; (count * count) as usize];
            for seed in 0..seeds {
                let order = permutation(count, seed, 0, Stream::Samples);
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

    /// Numbers at neighbouring places are unrelated: their differences are spread evenly.
    #[test]
    fn neighbours_are_unrelated() {
        let count = 1 << 16;
        let order = permutation(count, 5, 0, Stream::Samples);
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
