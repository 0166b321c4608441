//! Packs by the number of tokens that they have left: a stack for each number, and a bit set of the non-empty stacks.

use crate::bitset::BitSet;

/// Marks the end of a stack of packs. Stacks hold pack numbers plus one, because the system gives tables of zeros no
/// memory before they are used.
pub const NONE: u32 = 0;

/// Open packs. The caller stores what is below each pack, in one array for all its `OpenPacks`.
#[derive(Debug)]
pub struct OpenPacks {
    stacks: BitSet,
    /// For each number of tokens left, the pack on top of the stack, plus one.
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

    /// The smallest number of tokens, at least `enough`, that any pack has left.
    pub fn least(&self, enough: usize) -> Option<usize> {
        self.stacks.at_or_above(enough)
    }

    /// The pack that the next `take` returns.
    pub fn first(&self, left: usize) -> u32 {
        self.top[left] - 1
    }

    /// Removes a pack with `left` tokens left and returns it. There must be one.
    pub fn take(&mut self, left: usize, below: &[u32]) -> u32 {
        let pack = self.first(left);
        self.top[left] = below[pack as usize];
        if self.top[left] == NONE {
            self.stacks.remove(left);
        }
        pack
    }

    pub fn put(&mut self, pack: u32, left: usize, below: &mut [u32]) {
        below[pack as usize] = self.top[left];
        self.top[left] = pack + 1;
        self.stacks.insert(left);
    }
}
