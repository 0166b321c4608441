//! The order of a shuffle. Computing the sample at any place takes constant memory.
//!
//! `docs/how-to/order.md` describes the algorithm, so that other programs can compute the same order. It must never
//! change.

use jinx_core::permutation::{self, RoundFunction, mix};

/// The order for a given number of samples and a seed.
pub type Permutation = permutation::Permutation<Finalized, 10>;

/// The upper bits of SplitMix64's finalizer, which depend on every bit of its input.
#[derive(Debug, Clone)]
pub struct Finalized;

impl RoundFunction for Finalized {
    const FEWEST_BITS: u32 = 8;

    fn bits_of(half: u64, key: u64, bits: u32) -> u64 {
        mix(half.wrapping_add(key)) >> (u64::BITS - bits)
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
        // Divide the places into 1000 boxes of 100, and count the numbers below 10,000 in each box: a tenth of all.
        let chi: f64 = numbers
            .chunks(100)
            .map(|places| places.iter().filter(|number| **number < 10_000).count() as f64)
            .map(|found| (found - 10.0).powi(2) / 9.0)
            .sum();
        assert!((800.0..1200.0).contains(&chi), "{chi} with 999 degrees of freedom");
    }
}
