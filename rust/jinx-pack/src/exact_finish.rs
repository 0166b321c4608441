//! Exact finish: fills a pack with the largest samples first. As soon as one or two samples fill the rest of the pack
//! exactly, it takes these.

use crate::lengths::Lengths;
use crate::window::{Assignment, Packer, Window};

#[derive(Debug)]
pub struct ExactFinish {
    capacity: usize,
    lengths: Lengths,
}

impl ExactFinish {
    pub fn new(capacity: u32) -> Self {
        Self { capacity: capacity as usize, lengths: Lengths::new(capacity as usize) }
    }
}

impl Packer for ExactFinish {
    fn pack(&mut self, window: &Window, assignment: &mut Assignment) {
        assignment.reset(window.len());
        let lengths = &mut self.lengths;
        lengths.fill((0..).zip(&window.sizes[0]).map(|(item, &length)| (item, length)));
        while let Some(first) = lengths.largest(self.capacity) {
            let pack = assignment.open();
            let mut left = self.capacity;
            let mut next = Some(first);
            while let Some(length) = next {
                assignment.pack_of[lengths.take(length) as usize] = pack;
                left -= length;
                next = match left {
                    0 => None,
                    _ if lengths.has(left) => Some(left),
                    // Take the larger length of the pair now; the smaller one then fills the rest exactly.
                    _ => lengths.pair(left).or_else(|| lengths.largest(left)),
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::tests::{fewest_packs, of_tokens, packs, windows};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_near_the_fewest((window, capacities) in windows(1, 9)) {
            let found = packs(&mut ExactFinish::new(capacities[0]), &window, &capacities).len();
            let fewest = fewest_packs(&window, &capacities);
            prop_assert!(fewest <= found && found <= fewest + fewest / 3 + 1);
        }

        #[test]
        fn a_packer_may_be_used_again(lengths in prop::collection::vec(1_u32..=50, 0..80)) {
            let mut packer = ExactFinish::new(50);
            let window = of_tokens(&lengths);
            prop_assert_eq!(packs(&mut packer, &window, &[50]), packs(&mut packer, &window, &[50]));
        }
    }

    #[test]
    fn packs_end_exactly_where_they_can() {
        let found = packs(&mut ExactFinish::new(10), &of_tokens(&[6, 3, 2, 7, 1, 1]), &[10]);
        assert_eq!(found, [vec![3, 7], vec![6, 2, 1, 1]]);
    }
}
