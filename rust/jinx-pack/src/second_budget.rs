//! The second budget, which is the most used one after tokens, and classes of its sizes.

use crate::request::known_u32;
use crate::window::Window;

/// The number of classes for a large budget. More classes hardly make packs fuller.
const MOST: u32 = 16;
/// Up to this budget, each size is its own class.
const MOST_EXACT: u32 = 64;

/// Maps sizes of the second budget to classes. A larger size has a higher class, or the same one.
#[derive(Debug, Clone, Copy)]
pub struct Classes {
    pub second: usize,
    capacity: u32,
}

impl Classes {
    /// Classes of the budget that the samples of a window use most, after tokens; `None` if tokens are the only budget.
    pub fn of(window: &Window, capacities: &[u32]) -> Option<Self> {
        let used = |k: usize| window.sizes[k].iter().map(|&size| u128::from(size)).sum::<u128>();
        // Compare the shares of the budgets that are used. If two are equal, the first one counts.
        let is_more = |one: usize, other: usize| {
            used(one) * u128::from(capacities[other]) > used(other) * u128::from(capacities[one])
        };
        let second = (1..capacities.len()).reduce(|best, k| if is_more(k, best) { k } else { best })?;
        Some(Self { second, capacity: capacities[second] })
    }

    pub fn count(&self) -> usize {
        Self::count_for(self.capacity)
    }

    /// The number of classes of a budget.
    pub fn count_for(capacity: u32) -> usize {
        Self { second: 0, capacity }.class(capacity) + 1
    }

    pub fn class(&self, size: u32) -> usize {
        if self.capacity <= MOST_EXACT {
            return size as usize;
        }
        let class = u64::from(size) * u64::from(MOST) / u64::from(self.capacity);
        known_u32(class, "at most MOST, as no size is over its budget") as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(sizes: &[[u32; 3]]) -> Window {
        let mut window = Window::new(3);
        for &each in sizes {
            window.push(0, each);
        }
        window
    }

    #[test]
    fn the_budget_that_is_used_most_counts() {
        let capacities = [10, 8, 1000];
        assert_eq!(
            Classes::of(&window(&[[1, 1, 100], [1, 1, 160]]), &capacities).map(|one| one.second),
            Some(2)
        );
        assert_eq!(
            Classes::of(&window(&[[1, 1, 100], [1, 2, 100]]), &capacities).map(|one| one.second),
            Some(1)
        );
        assert_eq!(Classes::of(&window(&[]), &capacities).map(|one| one.second), Some(1));
        assert!(Classes::of(&window(&[]), &capacities[..1]).is_none());
    }

    #[test]
    fn few_sizes_are_classes_and_many_are_grouped() {
        let few = Classes { second: 1, capacity: 8 };
        assert_eq!((few.count(), few.class(0), few.class(8)), (9, 0, 8));
        let many = Classes { second: 1, capacity: 16_000 };
        assert_eq!((many.count(), many.class(999), many.class(1000), many.class(16_000)), (17, 0, 1, 16));
    }
}
