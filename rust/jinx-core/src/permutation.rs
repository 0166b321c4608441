//! A seeded order of `0..n` that is computed for each place: no array is stored, and any place costs the same.
//!
//! A Feistel network permutes the numbers of `ceil(log2 n)` bits, at least [`RoundFunction::FEWEST_BITS`]; what falls
//! outside `0..n` is permuted again until it falls inside (cycle walking; Black and Rogaway, "Ciphers with arbitrary
//! finite domains", 2002). Only 64-bit integer arithmetic is used, so every platform gives the same order.
//!
//! Orders are saved by their seeds: a round function may never change.

use std::marker::PhantomData;
use std::ops::Range;

/// The number of places whose numbers are computed side by side.
const LANES: usize = 8;
/// The increment of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
pub const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finalizer of SplitMix64.
#[must_use]
pub fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// The round function of the network.
pub trait RoundFunction {
    /// The minimum number of bits of the permuted numbers: a smaller range would allow only few of all orders.
    const FEWEST_BITS: u32;

    /// `bits` bits, 1 to 32, from one half and the key of the round.
    fn bits_of(half: u64, key: u64, bits: u32) -> u64;
}

/// An order of `0..count`, computed by a Feistel network with an even number of rounds.
#[derive(Debug, Clone)]
pub struct Permutation<F, const ROUNDS: usize> {
    count: u64,
    low_bits: u32,
    high_bits: u32,
    keys: [u64; ROUNDS],
    function: PhantomData<F>,
}

impl<F: RoundFunction, const ROUNDS: usize> Permutation<F, ROUNDS> {
    /// The order of `0..count` for a seed.
    #[must_use]
    pub fn new(count: u64, seed: u64) -> Self {
        let bits = (u64::BITS - count.saturating_sub(1).leading_zeros()).max(F::FEWEST_BITS);
        let mut state = seed;
        let keys = std::array::from_fn(|_| {
            state = state.wrapping_add(GOLDEN);
            mix(state)
        });
        Self { count, low_bits: bits / 2, high_bits: bits - bits / 2, keys, function: PhantomData }
    }

    /// The number of permuted numbers.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The number at a place; `place` must be below `count`.
    #[must_use]
    pub fn at(&self, place: u64) -> u64 {
        debug_assert!(place < self.count, "place {place} of {}", self.count);
        self.walked(self.once(place))
    }

    /// Appends the numbers at consecutive places, several at a time, which takes a third of the time.
    pub fn extend(&self, places: Range<u64>, out: &mut Vec<u64>) {
        let mut place = places.start;
        while places.end - place >= LANES as u64 {
            let (low, high) = (self.low_bits, self.high_bits);
            let mut left: [u64; LANES] = std::array::from_fn(|lane| (place + lane as u64) >> low);
            let mut right: [u64; LANES] = std::array::from_fn(|lane| (place + lane as u64) & mask(low));
            for pair in self.keys.chunks_exact(2) {
                for lane in 0..LANES {
                    left[lane] ^= F::bits_of(right[lane], pair[0], high);
                }
                for lane in 0..LANES {
                    right[lane] ^= F::bits_of(left[lane], pair[1], low);
                }
            }
            out.extend((0..LANES).map(|lane| self.walked((left[lane] << low) | right[lane])));
            place += LANES as u64;
        }
        out.extend((place..places.end).map(|place| self.at(place)));
    }

    /// A number below `count`, for any number in the network's range.
    fn walked(&self, mut value: u64) -> u64 {
        while value >= self.count {
            value = self.once(value);
        }
        value
    }

    fn once(&self, value: u64) -> u64 {
        let (low, high) = (self.low_bits, self.high_bits);
        let (mut left, mut right) = (value >> low, value & mask(low));
        // Two rounds at a time, so that each half keeps its width.
        for pair in self.keys.chunks_exact(2) {
            left ^= F::bits_of(right, pair[0], high);
            right ^= F::bits_of(left, pair[1], low);
        }
        (left << low) | right
    }
}

/// A number whose lowest `bits` bits, 1 to 64, are set.
#[must_use]
pub fn mask(bits: u32) -> u64 {
    u64::MAX >> (u64::BITS - bits)
}
