//! Packs by the tokens that they have left: stacks of packs, and a bit set of the stacks that hold any.

use crate::bitset::BitSet;

/// No pack: the end of a stack.
pub const NONE: u32 = u32::MAX;

/// Open packs. What lies below a pack in its stack is kept by the caller, for all sets of packs together.
#[derive(Debug)]
pub struct OpenPacks {
    stacks: BitSet,
    /// The last pack that came to have so many tokens left.
    top: Vec<u32>,
}

impl OpenPacks {
    pub fn new(capacity: u32) -> Self {
        let sizes = capacity as usize + 1;
        Self { stacks: BitSet::new(sizes), top: vec![NONE; sizes] }
    }

    pub fn clear(&mut self) {
        while let Some(left) = self.stacks.at_or_above(0) {
            self.stacks.remove(left);
            self.top[left] = NONE;
        }
    }

    /// The fewest tokens, but enough, that any pack has left.
    pub fn least(&self, enough: usize) -> Option<usize> {
        self.stacks.at_or_above(enough)
    }

    /// The pack that `take` would take.
    pub fn first(&self, left: usize) -> u32 {
        self.top[left]
    }

    /// Takes out a pack with so many tokens left, which there is.
    pub fn take(&mut self, left: usize, below: &[u32]) -> u32 {
        let pack = self.top[left];
        self.top[left] = below[pack as usize];
        if self.top[left] == NONE {
            self.stacks.remove(left);
        }
        pack
    }

    pub fn put(&mut self, pack: u32, left: usize, below: &mut [u32]) {
        below[pack as usize] = self.top[left];
        self.top[left] = pack;
        self.stacks.insert(left);
    }
}
