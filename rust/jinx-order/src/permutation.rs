//! A seeded permutation that is computed, not stored: any place of it, in both directions, in constant memory.
//!
//! `docs/how-to/order.md` describes it so that others can compute the same one. It may never change.

/// Rounds of the network; each changes one half of the number by a function of the other.
const ROUNDS: usize = 10;
/// Few bits mix badly, so a small permutation is cut from one of this many.
const MIN_BITS: u32 = 8;
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A permutation of the numbers below `count`: a Feistel network over the next power of two, whose results outside the
/// range are permuted again.
#[derive(Debug, Clone)]
pub struct Permutation {
    count: u64,
    low_bits: u32,
    high_bits: u32,
    keys: [u64; ROUNDS],
}

/// The finalizer of SplitMix64.
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl Permutation {
    pub fn new(count: u64, seed: u64) -> Self {
        let bits = (u64::BITS - count.saturating_sub(1).leading_zeros()).max(MIN_BITS);
        let mut state = seed;
        let keys = std::array::from_fn(|_| {
            state = state.wrapping_add(GOLDEN);
            mix(state)
        });
        Self { count, low_bits: bits / 2, high_bits: bits - bits / 2, keys }
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// The number at `place`, which is below the count.
    pub fn at(&self, place: u64) -> u64 {
        let mut number = place;
        loop {
            number = self.network(number);
            if number < self.count {
                return number;
            }
        }
    }

    fn network(&self, number: u64) -> u64 {
        let (mut low, mut high) = (number & ((1 << self.low_bits) - 1), number >> self.low_bits);
        for (round, key) in self.keys.iter().enumerate() {
            if round % 2 == 0 {
                high ^= mix(low.wrapping_add(*key)) >> (u64::BITS - self.high_bits);
            } else {
                low ^= mix(high.wrapping_add(*key)) >> (u64::BITS - self.low_bits);
            }
        }
        (high << self.low_bits) | low
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::cast_precision_loss)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn all(count: u64, seed: u64) -> Vec<u64> {
        let permutation = Permutation::new(count, seed);
        (0..count).map(|place| permutation.at(place)).collect()
    }

    #[test]
    fn each_number_comes_once() {
        for count in [0, 1, 2, 3, 255, 256, 257, 1000, 65_537] {
            let mut numbers = all(count, 7);
            numbers.sort_unstable();
            assert_eq!(numbers, (0..count).collect::<Vec<_>>(), "{count}");
        }
    }

    #[test]
    fn it_is_the_one_that_the_documentation_shows() {
        assert_eq!(all(10, 0), [9, 5, 4, 8, 6, 2, 0, 1, 3, 7]);
    }

    #[test]
    fn orders_of_few_numbers_are_equally_frequent() {
        let mut seen: HashMap<Vec<u64>, u32> = HashMap::new();
        let seeds = 24_000;
        for seed in 0..seeds {
            *seen.entry(all(4, seed)).or_default() += 1;
        }
        assert_eq!(seen.len(), 24);
        let expected = seeds as f64 / 24.0;
        let chi: f64 = seen.values().map(|n| (f64::from(*n) - expected).powi(2) / expected).sum();
        assert!(chi < 60.0, "{chi} with 23 degrees of freedom");
    }

    #[test]
    fn neighbours_and_places_are_independent() {
        let numbers = all(100_000, 3);
        let ascending = numbers.windows(2).filter(|pair| pair[0] < pair[1]).count() as f64;
        assert!((ascending - 50_000.0).abs() < 1_000.0, "{ascending}");
        // A thousand boxes of a hundred places: how many of the first tenth of the numbers fall into each.
        let chi: f64 = numbers
            .chunks(100)
            .map(|places| places.iter().filter(|number| **number < 10_000).count() as f64)
            .map(|found| (found - 10.0).powi(2) / 9.0)
            .sum();
        assert!((800.0..1200.0).contains(&chi), "{chi} with 999 degrees of freedom");
    }
}
