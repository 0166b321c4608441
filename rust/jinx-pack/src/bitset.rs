//! Sets of small numbers. Finding the next member above or below a number takes a few steps.

/// A subset of `0..size`, as words of 64 bits. Each higher level has one summary bit for each word below it.
#[derive(Debug, Clone)]
pub struct BitSet {
    levels: Vec<Vec<u64>>,
}

const BITS: usize = 64;

impl BitSet {
    pub fn new(size: usize) -> Self {
        let mut levels = vec![vec![0; size.div_ceil(BITS).max(1)]];
        while let Some(top) = levels.last().filter(|top| top.len() > 1) {
            levels.push(vec![0; top.len().div_ceil(BITS)]);
        }
        Self { levels }
    }

    /// The members as words: number `n` is bit `n % 64` of word `n / 64`.
    pub fn words(&self) -> &[u64] {
        &self.levels[0]
    }

    pub fn insert(&mut self, number: usize) {
        let mut at = number;
        for level in &mut self.levels {
            let word = &mut level[at / BITS];
            let was_empty = *word == 0;
            *word |= 1 << (at % BITS);
            if !was_empty {
                return;
            }
            at /= BITS;
        }
    }

    pub fn remove(&mut self, number: usize) {
        let mut at = number;
        for level in &mut self.levels {
            let word = &mut level[at / BITS];
            *word &= !(1 << (at % BITS));
            if *word != 0 {
                return;
            }
            at /= BITS;
        }
    }

    /// The smallest member that is at least `from`.
    pub fn at_or_above(&self, from: usize) -> Option<usize> {
        let mut at = from;
        for (height, level) in self.levels.iter().enumerate() {
            let index = at / BITS;
            let &word = level.get(index)?;
            let members = word & (u64::MAX << (at % BITS));
            if members != 0 {
                return Some(self.descend(height, index * BITS + lowest(members), lowest));
            }
            at = index + 1;
        }
        None
    }

    /// The largest member that is at most `from`. `from` must be in the set's range.
    pub fn at_or_below(&self, from: usize) -> Option<usize> {
        let mut at = from;
        for (height, level) in self.levels.iter().enumerate() {
            let index = at / BITS;
            let members = level[index] & (u64::MAX >> (BITS - 1 - at % BITS));
            if members != 0 {
                return Some(self.descend(height, index * BITS + highest(members), highest));
            }
            at = index.checked_sub(1)?;
        }
        None
    }

    /// Goes down from a bit of a level to a member. `choose` picks the bit in each word on the way.
    fn descend(&self, height: usize, bit: usize, choose: fn(u64) -> usize) -> usize {
        self.levels[..height].iter().rev().fold(bit, |bit, level| bit * BITS + choose(level[bit]))
    }
}

fn lowest(word: u64) -> usize {
    word.trailing_zeros() as usize
}

fn highest(word: u64) -> usize {
    (u64::BITS - 1 - word.leading_zeros()) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_agrees_with_a_tree(
            size in 1_usize..300_000,
            changes in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>()), 0..200),
            asked in prop::collection::vec(any::<prop::sample::Index>(), 1..50),
        ) {
            let (mut set, mut tree) = (BitSet::new(size), BTreeSet::new());
            for (add, place) in changes {
                let number = place.index(size);
                if add {
                    set.insert(number);
                    tree.insert(number);
                } else {
                    set.remove(number);
                    tree.remove(&number);
                }
            }
            for place in asked {
                let number = place.index(size);
                prop_assert_eq!(set.at_or_above(number), tree.range(number..).next().copied());
                prop_assert_eq!(set.at_or_below(number), tree.range(..=number).next_back().copied());
            }
        }
    }
}
