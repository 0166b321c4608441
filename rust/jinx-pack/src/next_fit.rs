//! Next fit: takes samples in arrival order. If a sample does not fit, it closes the pack and starts the next.

use crate::window::{Assignment, Packer, Window};

#[derive(Debug)]
pub struct NextFit {
    capacities: Vec<u32>,
    left: Vec<u32>,
}

impl NextFit {
    pub fn new(capacities: &[u32]) -> Self {
        Self { capacities: capacities.to_vec(), left: Vec::new() }
    }
}

impl Packer for NextFit {
    fn pack(&mut self, window: &Window, assignment: &mut Assignment) {
        assignment.reset(window.len());
        for item in 0..window.len() {
            if item == 0 || !self.left.iter().zip(window.sizes_of(item)).all(|(&left, size)| left >= size) {
                self.left.clone_from(&self.capacities);
                assignment.open();
            }
            self.left.iter_mut().zip(window.sizes_of(item)).for_each(|(left, size)| *left -= size);
            assignment.pack_of[item] = assignment.packs - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::tests::{of_tokens, packs, windows};
    use proptest::prelude::*;

    #[test]
    fn packs_close_when_the_next_sample_does_not_fit() {
        let found = packs(&mut NextFit::new(&[10]), &of_tokens(&[4, 6, 1, 10, 5, 5, 3]), &[10]);
        assert_eq!(found, [vec![4, 6], vec![1], vec![10], vec![5, 5], vec![3]]);
    }

    proptest! {
        #[test]
        fn budgets_hold((window, capacities) in windows(3, 60)) {
            packs(&mut NextFit::new(&capacities), &window, &capacities);
        }
    }
}
