//! SimHash: 64-bit hashes of texts. Similar texts have hashes that differ in few bits.

use crate::clusters::Clusters;
use crate::minhash::{Scheme, Shingles};
use crate::per_text::map;
use jinx_core::checked_math::to_u64;
use jinx_core::error::{Error, Result};
use jinx_core::interrupt;
use std::collections::HashMap;

const BITS: u32 = 64;
/// The maximum number of choices of blocks. Each choice takes a pass over all hashes.
const MAX_PASSES: usize = 1000;

/// The SimHash of the shingles of each text; 0 for a text without tokens. A shingle counts as often as it occurs.
///
/// # Errors
/// `Invalid` for an invalid scheme; otherwise the errors of `per_text::fill`.
pub fn signatures(texts: &[&str], scheme: Scheme, threads: usize) -> Result<Vec<u64>> {
    scheme.check()?;
    map(texts, 0, threads, Shingles::default, |shingles, text| {
        let mut sums = [0_i64; 64];
        shingles.for_each(text, scheme, |shingle| {
            for (bit, sum) in sums.iter_mut().enumerate() {
                *sum += if shingle >> bit & 1 == 1 { 1 } else { -1 };
            }
        });
        sums.iter().enumerate().filter(|(_, sum)| **sum > 0).fold(0, |hash, (bit, _)| hash | 1 << bit)
    })
}

/// For each hash, the smallest position of its group. Two hashes that differ in at most `distance` bits are in one
/// group.
///
/// The bits of a hash are divided into `blocks` blocks. In two such hashes, at least `blocks - distance` blocks are
/// equal. For each choice of `blocks - distance` blocks, hashes that have equal bits there are compared. So the result
/// is exact.
///
/// # Errors
/// `Invalid` if `blocks` is not larger than `distance`, or if there are too many choices.
pub fn near(hashes: &[u64], blocks: u32, distance: u32) -> Result<Vec<u64>> {
    let masks = masks(blocks, distance)?;
    let mut clusters = Clusters::new(to_u64(hashes.len()))?;
    let mut firsts: HashMap<u64, u64> = HashMap::with_capacity(hashes.len());
    for (at, &hash) in hashes.iter().enumerate() {
        let first = *firsts.entry(hash).or_insert(to_u64(at));
        clusters.join(first, to_u64(at))?;
    }
    let mut distinct: Vec<(u64, u64)> = firsts.into_iter().collect();
    for mask in masks {
        distinct.sort_unstable_by_key(|&(hash, first)| (hash & mask, first));
        for group in distinct.chunk_by(|one, other| one.0 & mask == other.0 & mask) {
            for (at, one) in group.iter().enumerate() {
                for other in &group[at + 1..] {
                    if (one.0 ^ other.0).count_ones() <= distance {
                        clusters.join(one.1, other.1)?;
                    }
                }
                if at % 1024 == 0 {
                    interrupt::check()?;
                }
            }
        }
    }
    clusters.roots()
}

/// A mask of the bits for each choice of `blocks - distance` blocks.
fn masks(blocks: u32, distance: u32) -> Result<Vec<u64>> {
    let bad = |what: String| Err(Error::invalid(what));
    if blocks == 0 || blocks > BITS || distance >= blocks {
        return bad(format!(
            "{blocks} blocks for a distance of {distance}; use more than the distance, up to {BITS}"
        ));
    }
    let bounds: Vec<u32> = (0..=blocks).map(|at| BITS * at / blocks).collect();
    let bits: Vec<u64> = bounds
        .windows(2)
        .map(|pair| if let [low, high] = *pair { ones(high) ^ ones(low) } else { 0 })
        .collect();
    let mut chosen: Vec<(u64, u32)> = vec![(0, 0)];
    let wanted = blocks - distance;
    for (at, block) in (0_u32..).zip(&bits) {
        let mut next = Vec::new();
        for &(mask, count) in &chosen {
            if count < wanted {
                next.push((mask | block, count + 1));
            }
            if count + (blocks - at - 1) >= wanted {
                next.push((mask, count));
            }
        }
        chosen = next;
        if chosen.len() > MAX_PASSES {
            return bad(format!(
                "{blocks} blocks for a distance of {distance} need too many passes; use fewer blocks"
            ));
        }
    }
    Ok(chosen.into_iter().map(|(mask, _)| mask).collect())
}

fn ones(count: u32) -> u64 {
    u64::MAX.checked_shr(BITS - count).unwrap_or(0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::cast_possible_truncation)]
mod tests {
    use super::*;
    use crate::minhash::Tokens;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn groups_are_those_of_all_pairs(
            seeds in proptest::collection::vec((0_u64..4, proptest::collection::vec(0_u32..64, 0..7)), 0..40)
        ) {
            let hashes: Vec<u64> = seeds
                .iter()
                .map(|(seed, flips)| flips.iter().fold(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15), |hash, bit| hash ^ 1 << bit))
                .collect();
            let mut plain = Clusters::new(to_u64(hashes.len())).unwrap();
            for (at, one) in hashes.iter().enumerate() {
                for (to, other) in hashes.iter().enumerate() {
                    if (one ^ other).count_ones() <= 4 {
                        plain.join(to_u64(at), to_u64(to)).unwrap();
                    }
                }
            }
            prop_assert_eq!(near(&hashes, 6, 4).unwrap(), plain.roots().unwrap());
        }
    }

    #[test]
    fn near_texts_have_near_hashes() {
        let scheme = Scheme { tokens: Tokens::Space, window: 2, lowercase: true, permutations: 1 };
        let text: String = (0..200).map(|word| format!("w{word} ")).collect();
        let hashes = signatures(&[&text, &text.replace("w7 ", "x "), "another text", ""], scheme, 1).unwrap();
        assert!((hashes[0] ^ hashes[1]).count_ones() <= 8);
        assert!((hashes[0] ^ hashes[2]).count_ones() > 12);
        assert_eq!(hashes[3], 0);
    }

    #[test]
    fn blocks_that_cannot_be() {
        assert_eq!(masks(6, 4).unwrap().len(), 15);
        assert_eq!(masks(1, 0).unwrap(), [u64::MAX]);
        assert!(masks(4, 4).is_err() && masks(65, 2).is_err() && masks(60, 30).is_err());
    }
}
