//! Measures repetition in texts, by n-grams of characters or of words.

use crate::per_text::map;
use crate::words::{Split, for_each_word};
use jinx_core::Result;
use twox_hash::XxHash3_64;

/// The multiplier of the rolling hash. It is odd, and its bits have no pattern.
const BASE: u64 = 0x9E37_79B9_7F4A_7C15;
const MIX: u64 = 0xD6E8_FEB8_6659_FD93;

/// A place in the hash table of a `Counter`. It is free unless its round is the current one.
#[derive(Clone, Copy, Default)]
struct Slot {
    key: u64,
    count: u32,
    round: u32,
}

/// Counts 64-bit keys in a hash table with open addressing, which is used again for the next text.
#[derive(Default)]
pub struct Counter {
    slots: Vec<Slot>,
    /// The number of the current text, so that nothing has to be cleared for the next one.
    round: u32,
    /// The number of different keys.
    distinct: usize,
    /// The places of keys that occurred more than once.
    repeats: Vec<usize>,
    /// The hashes of the words or characters of the current text.
    hashes: Vec<u64>,
    repeated: Vec<u32>,
    /// The bit mask of places that the current text uses. After a huge text, the table has more places.
    mask: usize,
}

impl Counter {
    /// Removes all keys, and makes room for `keys` new ones.
    fn reset(&mut self, keys: usize) {
        let size = (keys.max(8) * 2).next_power_of_two();
        self.round = self.round.wrapping_add(1);
        if self.slots.len() < size || self.round == 0 {
            self.slots.clear();
            self.slots.resize(size, Slot::default());
            self.round = 1;
        }
        self.distinct = 0;
        self.repeats.clear();
        self.mask = size - 1;
    }

    fn add(&mut self, key: u64) {
        // The masked bits fit into any usize.
        #[allow(clippy::cast_possible_truncation)]
        let mut place = (key.wrapping_mul(MIX) >> 20) as usize & self.mask;
        loop {
            let slot = &mut self.slots[place];
            if slot.round != self.round {
                *slot = Slot { key, count: 1, round: self.round };
                self.distinct += 1;
                return;
            }
            if slot.key == key {
                if slot.count == 1 {
                    self.repeats.push(place);
                }
                slot.count = slot.count.saturating_add(1);
                return;
            }
            place = (place + 1) & self.mask;
        }
    }

    /// Adds the n-grams of `hashes`; returns their number.
    fn add_ngrams(&mut self, n: usize) -> usize {
        let n = n.max(1);
        let hashes = std::mem::take(&mut self.hashes);
        let ngrams = (hashes.len() + 1).saturating_sub(n);
        self.reset(ngrams);
        if ngrams > 0 {
            let outgoing = (0..n).fold(1_u64, |power, _| power.wrapping_mul(BASE));
            let join = |rolling: u64, &hash: &u64| rolling.wrapping_mul(BASE).wrapping_add(hash);
            let mut rolling = hashes[..n].iter().fold(0, join);
            self.add(rolling);
            for (first, next) in hashes.iter().zip(&hashes[n..]) {
                rolling = join(rolling, next).wrapping_sub(first.wrapping_mul(outgoing));
                self.add(rolling);
            }
        }
        self.hashes = hashes;
        ngrams
    }

    /// The counts of n-grams that occur more than once.
    fn repeated(&mut self) -> &mut [u32] {
        self.repeated.clear();
        self.repeated.extend(self.repeats.iter().map(|&place| self.slots[place].count));
        &mut self.repeated
    }
}

/// For each text, the share of the most frequent character n-grams among all its n-grams; 0 for a text without n-grams.
///
/// If a text has k different n-grams and m of them occur more than once, the min(√k, m) most frequent ones count.
///
/// # Errors
/// The errors of `per_text::fill`.
pub fn characters(texts: &[&str], n: usize, threads: usize) -> Result<Vec<f64>> {
    map(texts, 0.0, threads, Counter::default, |counter, text| {
        counter.hashes.clear();
        counter
            .hashes
            .extend(text.chars().map(|character| u64::from(u32::from(character)).wrapping_mul(MIX)));
        let ngrams = counter.add_ngrams(n);
        let limit = counter.distinct.isqrt();
        let repeated = counter.repeated();
        repeated.sort_unstable_by(|a, b| b.cmp(a));
        share(sum(&repeated[..limit.min(repeated.len())]), ngrams)
    })
}

/// For each text, the share of word n-grams that occur more than once among all its n-grams; 0 for a text without
/// n-grams. Words are compared in lower case.
///
/// # Errors
/// The errors of `per_text::fill`.
pub fn words(texts: &[&str], n: usize, split: Split, threads: usize) -> Result<Vec<f64>> {
    map(texts, 0.0, threads, Counter::default, |counter, text| {
        counter.hashes.clear();
        let hashes = &mut counter.hashes;
        for_each_word(text, split, |word| hashes.push(hash_lowercase(word)));
        let ngrams = counter.add_ngrams(n);
        share(sum(counter.repeated()), ngrams)
    })
}

/// The hash of a word in lower case.
pub fn hash_lowercase(word: &str) -> u64 {
    let bytes = word.as_bytes();
    if !bytes.iter().any(|byte| byte.is_ascii_uppercase() || !byte.is_ascii()) {
        return XxHash3_64::oneshot(bytes);
    }
    let mut short = [0_u8; 32];
    match short.get_mut(..bytes.len()) {
        Some(copy) if word.is_ascii() => {
            copy.copy_from_slice(bytes);
            copy.make_ascii_lowercase();
            XxHash3_64::oneshot(copy)
        }
        _ => XxHash3_64::oneshot(word.to_lowercase().as_bytes()),
    }
}

fn sum(counts: &[u32]) -> u64 {
    counts.iter().map(|&count| u64::from(count)).sum()
}

#[allow(clippy::cast_precision_loss)] // the counts of n-grams in one text are small
fn share(part: u64, all: usize) -> f64 {
    if all == 0 { 0.0 } else { part as f64 / all as f64 }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::cast_possible_truncation)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn counted(grams: impl Iterator<Item = String>) -> Vec<u64> {
        let mut counts: HashMap<String, u64> = HashMap::new();
        for gram in grams {
            *counts.entry(gram).or_default() += 1;
        }
        let mut counts: Vec<u64> = counts.into_values().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts
    }

    fn characters_plainly(text: &str, n: usize) -> f64 {
        let characters: Vec<char> = text.chars().collect();
        let counts = counted(characters.windows(n).map(|gram| gram.iter().collect()));
        let repeated = counts.iter().filter(|&&count| count > 1).count();
        let top: u64 = counts.iter().take(counts.len().isqrt().min(repeated)).sum();
        share(top, usize::try_from(counts.iter().sum::<u64>()).unwrap())
    }

    fn words_plainly(text: &str, n: usize) -> f64 {
        let mut words = Vec::new();
        for_each_word(text, Split::Space, |word| words.push(word.to_lowercase()));
        let counts = counted(words.windows(n).map(|gram| gram.join(" ")));
        let repeated: u64 = counts.iter().filter(|&&count| count > 1).sum();
        share(repeated, usize::try_from(counts.iter().sum::<u64>()).unwrap())
    }

    proptest! {
        #[test]
        fn as_counted_plainly(texts in proptest::collection::vec("[abAB中é ]{0,60}", 1..8), n in 1_usize..6) {
            let slices: Vec<&str> = texts.iter().map(String::as_str).collect();
            let by_character = characters(&slices, n, 1).unwrap();
            let by_word = words(&slices, n, Split::Space, 1).unwrap();
            for (at, text) in slices.iter().enumerate() {
                prop_assert!((by_character[at] - characters_plainly(text, n)).abs() < 1e-12);
                prop_assert!((by_word[at] - words_plainly(text, n)).abs() < 1e-12);
            }
        }
    }
}
