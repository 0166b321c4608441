//! Makes sizes under different budgets comparable: a share is a size divided by its budget, as an integer.

use crate::request::known_u32;
use crate::window::Window;

/// The share of a whole budget.
pub const WHOLE: u32 = 1 << 20;

/// Computes the share of its budget that a size takes.
#[derive(Debug, Clone)]
pub struct Shares {
    capacities: Vec<u32>,
}

impl Shares {
    pub fn new(capacities: &[u32]) -> Self {
        Self { capacities: capacities.to_vec() }
    }

    /// The share of one size under budget `k`, which is at most this budget. It is rounded up, so that only size 0 has
    /// share 0.
    pub fn of(&self, k: usize, size: u32) -> u32 {
        let share = (u64::from(size) * u64::from(WHOLE)).div_ceil(u64::from(self.capacities[k]));
        known_u32(share, "at most the share of the whole budget")
    }

    /// The sum of the shares under all budgets.
    pub fn sum(&self, sizes: impl IntoIterator<Item = u32>) -> u32 {
        sizes.into_iter().enumerate().map(|(k, size)| self.of(k, size)).sum()
    }
}

/// The numbers of a window's samples, largest sample first. Equal samples keep their order.
#[derive(Debug, Default)]
pub struct Decreasing {
    keys: Vec<u64>,
    counts: Vec<u32>,
    order: Vec<u32>,
}

impl Decreasing {
    /// Orders samples by tokens if that is the only budget, otherwise by the sum of their shares.
    pub fn order(&mut self, window: &Window, shares: &Shares) -> &[u32] {
        match window.sizes.as_slice() {
            [lengths] => self.by_size(lengths),
            _ => self.by_key((0..window.len()).map(|item| shares.sum(window.sizes_of(item)))),
        }
        &self.order
    }

    fn by_size(&mut self, sizes: &[u32]) {
        let largest = sizes.iter().copied().max().unwrap_or(0) as usize;
        if largest > 4 * sizes.len() + 4096 {
            return self.by_key(sizes.iter().copied());
        }
        self.counts.clear();
        self.counts.resize(largest + 2, 0);
        for &size in sizes {
            self.counts[largest - size as usize + 1] += 1;
        }
        for place in 1..self.counts.len() {
            self.counts[place] += self.counts[place - 1];
        }
        self.order.clear();
        self.order.resize(sizes.len(), 0);
        for (item, &size) in (0..).zip(sizes) {
            let next = &mut self.counts[largest - size as usize];
            self.order[*next as usize] = item;
            *next += 1;
        }
    }

    fn by_key(&mut self, keys: impl Iterator<Item = u32>) {
        self.keys.clear();
        self.keys.extend((0_u64..).zip(keys).map(|(item, key)| u64::from(!key) << 32 | item));
        self.keys.sort_unstable();
        self.order.clear();
        self.order.extend(self.keys.iter().map(|&key| low_half(key)));
    }
}

fn low_half(number: u64) -> u32 {
    let [a, b, c, d, ..] = number.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::tests::of_tokens;

    #[test]
    fn equal_samples_keep_their_order_however_they_are_sorted() {
        let shares = Shares::new(&[1 << 24]);
        for scale in [1, 1 << 20] {
            let window = of_tokens(&[3 * scale, scale, 7 * scale, 3 * scale]);
            assert_eq!(Decreasing::default().order(&window, &shares), [2, 0, 3, 1]);
        }
    }

    #[test]
    fn a_share_is_exact_at_the_ends() {
        let shares = Shares::new(&[4096, 3]);
        assert_eq!(
            [shares.of(0, 0), shares.of(0, 4096), shares.of(1, 3), shares.sum([4096, 3])],
            [0, WHOLE, WHOLE, 2 * WHOLE]
        );
    }
}
