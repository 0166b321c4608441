//! Best fit decreasing: puts each sample into the fullest pack with room, largest samples first.

use crate::budget_shares::{Decreasing, Shares};
use crate::open_packs::{NONE, OpenPacks};
use crate::second_budget::Classes;
use crate::window::{Assignment, Packer, Window};

/// For plans with tokens as the only budget.
#[derive(Debug)]
pub struct BestFit {
    capacity: u32,
    shares: Shares,
    decreasing: Decreasing,
    open: OpenPacks,
    below: Vec<u32>,
}

impl BestFit {
    pub fn new(capacity: u32) -> Self {
        Self {
            capacity,
            shares: Shares::new(&[capacity]),
            decreasing: Decreasing::default(),
            open: OpenPacks::new(capacity),
            below: Vec::new(),
        }
    }
}

impl Packer for BestFit {
    fn pack(&mut self, window: &Window, assignment: &mut Assignment) {
        assignment.reset(window.len());
        self.open.clear();
        self.below.clear();
        let lengths = &window.sizes[0];
        for &item in self.decreasing.order(window, &self.shares) {
            let length = lengths[item as usize] as usize;
            let (pack, left) = if let Some(left) = self.open.least(length) {
                (self.open.take(left, &self.below), left)
            } else {
                self.below.push(NONE);
                (assignment.open(), self.capacity as usize)
            };
            assignment.pack_of[item as usize] = pack;
            if left > length {
                self.open.put(pack, left - length, &mut self.below);
            }
        }
    }
}

/// The maximum number of packs to try per class, for one sample. More than one is only needed for the third and further
/// budgets.
const MOST_TRIED: usize = 8;

/// For several budgets: compares sizes by the sum of their shares.
///
/// Packs are in classes by how much they have left of the most used budget after tokens.
#[derive(Debug)]
pub struct BestFitBySum {
    capacities: Vec<u32>,
    shares: Shares,
    decreasing: Decreasing,
    classes: Vec<OpenPacks>,
    below: Vec<u32>,
    /// The remaining budgets of each pack: budget k of pack p is at `p * budgets + k`.
    left: Vec<u32>,
    /// The smallest amount of each budget that any sample uses. No sample fits into a pack that has less left.
    least: Vec<u32>,
}

impl BestFitBySum {
    pub fn new(capacities: &[u32]) -> Self {
        Self {
            capacities: capacities.to_vec(),
            shares: Shares::new(capacities),
            decreasing: Decreasing::default(),
            classes: Vec::new(),
            below: Vec::new(),
            left: Vec::new(),
            least: Vec::new(),
        }
    }

    fn left_of(&self, pack: u32) -> &[u32] {
        let at = pack as usize * self.capacities.len();
        &self.left[at..at + self.capacities.len()]
    }

    /// Finds the fullest pack with room, among the first few packs of each class with enough tokens. Returns its class
    /// and the tokens that it has left.
    fn find(&self, sizes: &[u32], from: usize) -> Option<(usize, usize)> {
        let mut best: Option<(u32, (usize, usize))> = None;
        for (class, open) in self.classes.iter().enumerate().skip(from) {
            let mut tokens = sizes[0] as usize;
            for _ in 0..MOST_TRIED {
                let Some(left) = open.least(tokens) else { break };
                let has = self.left_of(open.first(left));
                if has.iter().zip(sizes).all(|(left, size)| left >= size) {
                    let sum = self.shares.sum(has.iter().copied());
                    if best.is_none_or(|(least, _)| sum < least) {
                        best = Some((sum, (class, left)));
                    }
                    break;
                }
                tokens = left + 1;
            }
        }
        best.map(|(_, place)| place)
    }
}

impl Packer for BestFitBySum {
    fn pack(&mut self, window: &Window, assignment: &mut Assignment) {
        assignment.reset(window.len());
        let Some(classes) = Classes::of(window, &self.capacities) else { return };
        while self.classes.len() < classes.count() {
            self.classes.push(OpenPacks::new(self.capacities[0]));
        }
        self.classes.iter_mut().for_each(OpenPacks::clear);
        self.below.clear();
        self.left.clear();
        self.least.clear();
        self.least.extend(window.sizes.iter().map(|column| column.iter().copied().min().unwrap_or(0)));
        let mut decreasing = std::mem::take(&mut self.decreasing);
        let mut sizes = Vec::new();
        for &item in decreasing.order(window, &self.shares) {
            sizes.clear();
            sizes.extend(window.sizes_of(item as usize));
            let pack = if let Some((class, left)) = self.find(&sizes, classes.class(sizes[classes.second])) {
                self.classes[class].take(left, &self.below)
            } else {
                self.below.push(NONE);
                self.left.extend(&self.capacities);
                assignment.open()
            };
            assignment.pack_of[item as usize] = pack;
            let at = pack as usize * sizes.len();
            self.left[at..].iter_mut().zip(&sizes).for_each(|(left, size)| *left -= size);
            let has = &self.left[at..at + sizes.len()];
            if has.iter().zip(&self.least).all(|(left, least)| left >= least) && has[0] > 0 {
                let class = classes.class(has[classes.second]);
                self.classes[class].put(pack, has[0] as usize, &mut self.below);
            }
        }
        self.decreasing = decreasing;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::tests::{fewest_packs, of_tokens, packs, windows};
    use proptest::prelude::*;

    /// Best fit decreasing as it is defined: by trying every pack.
    fn by_trying(lengths: &[u32], capacity: u32) -> Vec<u32> {
        let mut sorted = lengths.to_vec();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        let mut left: Vec<u32> = Vec::new();
        for length in sorted {
            match left.iter_mut().filter(|left| **left >= length).min() {
                Some(left) => *left -= length,
                None => left.push(capacity - length),
            }
        }
        left.sort_unstable();
        left
    }

    proptest! {
        #[test]
        fn it_is_best_fit(lengths in prop::collection::vec(1_u32..=50, 0..80)) {
            let mut left: Vec<u32> = packs(&mut BestFit::new(50), &of_tokens(&lengths), &[50])
                .iter()
                .map(|pack| 50 - pack.iter().sum::<u32>())
                .collect();
            left.sort_unstable();
            prop_assert_eq!(left, by_trying(&lengths, 50));
        }

        #[test]
        fn it_is_near_the_fewest((window, capacities) in windows(1, 9)) {
            let found = packs(&mut BestFit::new(capacities[0]), &window, &capacities).len();
            let fewest = fewest_packs(&window, &capacities);
            prop_assert!(fewest <= found && 9 * found <= 11 * fewest + 6);
        }

        #[test]
        fn budgets_hold((window, capacities) in windows(3, 60)) {
            packs(&mut BestFitBySum::new(&capacities), &window, &capacities);
        }

        #[test]
        fn two_budgets_take_at_most_twice_the_fewest((window, capacities) in windows(2, 8)) {
            let found = packs(&mut BestFitBySum::new(&capacities), &window, &capacities).len();
            let fewest = fewest_packs(&window, &capacities);
            prop_assert!(fewest <= found && found <= 2 * fewest);
        }
    }

    #[test]
    fn equal_samples_fill_packs_one_after_another() {
        let found = packs(&mut BestFit::new(10), &of_tokens(&[5, 5, 5, 5, 5]), &[10]);
        assert_eq!(found, [vec![5, 5], vec![5, 5], vec![5]]);
    }
}
