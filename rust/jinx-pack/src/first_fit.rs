//! First fit decreasing: puts each sample into the first pack with room, largest samples first. A tree over what packs
//! have left finds that pack.

use crate::budget_shares::{Decreasing, Shares};
use crate::request::known_u32;
use crate::window::{Assignment, Packer, Window};

#[derive(Debug)]
pub struct FirstFit {
    capacities: Vec<u32>,
    shares: Shares,
    decreasing: Decreasing,
    /// For each budget, a complete binary tree over the packs. A node has the most that any pack below it has left.
    trees: Vec<Vec<u32>>,
    leaves: usize,
}

impl FirstFit {
    pub fn new(capacities: &[u32]) -> Self {
        Self {
            capacities: capacities.to_vec(),
            shares: Shares::new(capacities),
            decreasing: Decreasing::default(),
            trees: vec![Vec::new(); capacities.len()],
            leaves: 1,
        }
    }

    fn has_room(&self, node: usize, sizes: &[u32]) -> bool {
        self.trees.iter().zip(sizes).all(|(tree, &size)| tree[node] >= size)
    }

    /// The first pack with room below a node. With several budgets, a node may show room although none of its packs has
    /// enough of every budget.
    fn first(&self, node: usize, sizes: &[u32]) -> Option<usize> {
        if !self.has_room(node, sizes) {
            return None;
        }
        if node >= self.leaves {
            return Some(node - self.leaves);
        }
        self.first(2 * node, sizes).or_else(|| self.first(2 * node + 1, sizes))
    }

    fn take(&mut self, pack: usize, sizes: &[u32]) {
        for (tree, &size) in self.trees.iter_mut().zip(sizes) {
            let mut node = self.leaves + pack;
            tree[node] -= size;
            while node > 1 {
                node /= 2;
                tree[node] = tree[2 * node].max(tree[2 * node + 1]);
            }
        }
    }
}

impl Packer for FirstFit {
    fn pack(&mut self, window: &Window, assignment: &mut Assignment) {
        assignment.reset(window.len());
        self.leaves = window.len().next_power_of_two();
        for (tree, &capacity) in self.trees.iter_mut().zip(&self.capacities) {
            tree.clear();
            // An unopened pack has its whole budget left, and comes after all open packs.
            tree.resize(2 * self.leaves, capacity);
        }
        let mut decreasing = std::mem::take(&mut self.decreasing);
        let mut sizes = Vec::new();
        for &item in decreasing.order(window, &self.shares) {
            sizes.clear();
            sizes.extend(window.sizes_of(item as usize));
            let Some(pack) = self.first(1, &sizes) else { continue };
            self.take(pack, &sizes);
            let pack = known_u32(pack, "fewer packs than MAX_WINDOW");
            assignment.pack_of[item as usize] = pack;
            assignment.packs = assignment.packs.max(pack + 1);
        }
        self.decreasing = decreasing;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::window::tests::{fewest_packs, of_tokens, packs, windows};
    use proptest::prelude::*;

    #[test]
    fn the_numbers_of_the_blog_post_fill_three_packs() {
        let window = of_tokens(&(1..=24).collect::<Vec<_>>());
        let found = packs(&mut FirstFit::new(&[100]), &window, &[100]);
        assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [5, 7, 12]);
        assert_eq!(found[0], [10, 21, 22, 23, 24]);
    }

    /// First fit decreasing, exactly as defined: tries the packs one after another.
    fn by_trying(lengths: &[u32], capacity: u32) -> Vec<u32> {
        let mut sorted = lengths.to_vec();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        let mut left: Vec<u32> = Vec::new();
        for length in sorted {
            match left.iter_mut().find(|left| **left >= length) {
                Some(left) => *left -= length,
                None => left.push(capacity - length),
            }
        }
        left.iter().map(|left| capacity - left).collect()
    }

    proptest! {
        #[test]
        fn it_is_first_fit(lengths in prop::collection::vec(1_u32..=50, 0..80)) {
            let found = packs(&mut FirstFit::new(&[50]), &of_tokens(&lengths), &[50]);
            let sums: Vec<u32> = found.iter().map(|pack| pack.iter().sum()).collect();
            prop_assert_eq!(sums, by_trying(&lengths, 50));
        }

        #[test]
        fn budgets_hold((window, capacities) in windows(3, 60)) {
            packs(&mut FirstFit::new(&capacities), &window, &capacities);
        }

        /// The bound for one budget is 11/9 of the minimum number of packs, plus 6/9 of a pack (Dosa 2007).
        #[test]
        fn it_is_near_the_fewest((window, capacities) in windows(1, 9)) {
            let found = packs(&mut FirstFit::new(&capacities), &window, &capacities).len();
            let fewest = fewest_packs(&window, &capacities);
            prop_assert!(fewest <= found && 9 * found <= 11 * fewest + 6);
        }
    }
}
