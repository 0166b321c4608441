//! Samples by length. Finds a length, or a pair of lengths, that completes a pack.
//!
//! A pair `a + b = left` exists if the set of lengths and its mirror image, shifted by `capacity - left`, have a common
//! bit. One AND checks 64 lengths.

use crate::bitset::BitSet;

/// Marks the end of a stack of samples. Stacks hold sample numbers plus one, because the system gives tables of zeros no
/// memory before they are used.
const NONE: u32 = 0;
const BITS: usize = 64;

/// The unpacked samples, by length.
#[derive(Debug)]
pub struct Lengths {
    capacity: usize,
    present: BitSet,
    /// The mirror image: bit `capacity - length` for each length.
    mirrored: Vec<u64>,
    /// For each length, the sample to take next, plus one. `below` has the one after each sample.
    top: Vec<u32>,
    below: Vec<u32>,
}

impl Lengths {
    pub fn new(capacity: usize) -> Self {
        let present = BitSet::new(capacity + 1);
        Self {
            capacity,
            // A shifted read takes two words; an additional word makes this possible at the end.
            mirrored: vec![0; present.words().len() + 1],
            present,
            top: vec![NONE; capacity + 1],
            below: Vec::new(),
        }
    }

    /// Adds samples with the given lengths. All samples of an earlier window must have been taken.
    pub fn fill(&mut self, samples: impl Iterator<Item = (u32, u32)>) {
        for (item, length) in samples {
            let length = length as usize;
            if self.below.len() <= item as usize {
                self.below.resize(item as usize + 1, NONE);
            }
            let first = std::mem::replace(&mut self.top[length], item + 1);
            self.below[item as usize] = first;
            if first == NONE {
                self.present.insert(length);
                let place = self.capacity - length;
                self.mirrored[place / BITS] |= 1 << (place % BITS);
            }
        }
    }

    pub fn has(&self, length: usize) -> bool {
        self.top[length] != NONE
    }

    /// The largest length that is at most `limit`.
    pub fn largest(&self, limit: usize) -> Option<usize> {
        self.present.at_or_below(limit)
    }

    /// Removes a sample of this length and returns it. There must be one.
    pub fn take(&mut self, length: usize) -> u32 {
        let item = self.top[length] - 1;
        self.top[length] = self.below[item as usize];
        if self.top[length] == NONE {
            self.present.remove(length);
            let place = self.capacity - length;
            self.mirrored[place / BITS] &= !(1 << (place % BITS));
        }
        item
    }

    /// The sample of this length that the next `take` returns. There must be one.
    pub fn next_of(&self, length: usize) -> u32 {
        self.top[length] - 1
    }

    /// The sample after `next_of`. There must be two samples of this length.
    pub fn second_of(&self, length: usize) -> u32 {
        self.after(length) - 1
    }

    fn after(&self, length: usize) -> u32 {
        self.below[self.next_of(length) as usize]
    }

    /// The smallest length that is at least `limit`.
    pub fn smallest(&self, limit: usize) -> Option<usize> {
        self.present.at_or_above(limit)
    }

    /// Finds the pair with this sum whose lengths differ most; returns its larger length.
    pub fn pair(&self, sum: usize) -> Option<usize> {
        let half = sum.div_ceil(2);
        let longest = self.longest_with(self, sum, half)?;
        // A length of half the sum needs two samples. It would be found last, because it is the shortest of a pair.
        (2 * longest != sum || self.after(longest) != NONE).then_some(longest)
    }

    /// The longest length, at least `from`, that adds up to `sum` together with a length of `other`.
    pub fn longest_with(&self, other: &Self, sum: usize, from: usize) -> Option<usize> {
        let longest = self.largest(sum.checked_sub(1)?)?;
        let shift = self.capacity - sum;
        for word in (from / BITS..=longest / BITS).rev() {
            let above = sum - word * BITS;
            let own = if above < BITS {
                self.present.words()[word] & !(u64::MAX << above)
            } else {
                self.present.words()[word]
            };
            let both = own & other.mirrored_from(word * BITS + shift);
            if both != 0 {
                let length = word * BITS + BITS - 1 - both.leading_zeros() as usize;
                return (length >= from).then_some(length);
            }
        }
        None
    }

    /// 64 bits of the mirror image, starting at `place`.
    fn mirrored_from(&self, place: usize) -> u64 {
        let (word, shift) = (place / BITS, place % BITS);
        let Some(&low) = self.mirrored.get(word) else { return 0 };
        match (shift, self.mirrored.get(word + 1)) {
            (0, _) | (_, None) => low >> shift,
            (shift, Some(high)) => low >> shift | high << (BITS - shift),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kept(lengths: &[u32]) -> Lengths {
        let mut kept = Lengths::new(300);
        kept.fill((0..).zip(lengths).map(|(item, &length)| (item, length)));
        kept
    }

    proptest! {
        #[test]
        fn a_pair_is_found_if_there_is_one(lengths in prop::collection::vec(1_u32..=300, 0..12), sum in 1_usize..=300) {
            let pairs = (0..lengths.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
            let longest = pairs
                .map(|(i, j)| (lengths[i] as usize, lengths[j] as usize))
                .filter(|(a, b)| a + b == sum)
                .map(|(a, b)| a.max(b))
                .max();
            prop_assert_eq!(kept(&lengths).pair(sum), longest);
        }

        #[test]
        fn a_pair_of_two_kinds_is_found(
            ours in prop::collection::vec(1_u32..=300, 0..12),
            others in prop::collection::vec(1_u32..=300, 0..12),
            sum in 1_usize..=300,
            from in 0_usize..300,
        ) {
            let pairs = ours.iter().flat_map(|a| others.iter().map(move |b| (*a as usize, *b as usize)));
            let longest = pairs.filter(|(a, b)| a + b == sum && *a >= from).map(|(a, _)| a).max();
            prop_assert_eq!(kept(&ours).longest_with(&kept(&others), sum, from), longest);
        }
    }
}
