//! A window: samples to pack together, and the pack of each.

/// Samples with their sizes, in arrival order. No sample is empty or over a budget.
#[derive(Debug, Default)]
pub struct Window {
    pub positions: Vec<u32>,
    /// For each budget, the sizes of the samples.
    pub sizes: Vec<Vec<u32>>,
}

impl Window {
    pub fn new(budgets: usize) -> Self {
        Self { positions: Vec::new(), sizes: vec![Vec::new(); budgets] }
    }

    pub fn len(&self) -> usize {
        self.positions.len()
    }

    pub fn clear(&mut self) {
        self.positions.clear();
        self.sizes.iter_mut().for_each(Vec::clear);
    }

    pub fn push(&mut self, position: u32, sizes: impl IntoIterator<Item = u32>) {
        self.positions.push(position);
        for (column, size) in self.sizes.iter_mut().zip(sizes) {
            column.push(size);
        }
    }

    pub fn sizes_of(&self, item: usize) -> impl Iterator<Item = u32> {
        self.sizes.iter().map(move |column| column[item])
    }
}

/// The pack of each sample of a window. Packs are numbered from 0 without gaps.
#[derive(Debug, Default, Clone)]
pub struct Assignment {
    pub pack_of: Vec<u32>,
    pub packs: u32,
}

impl Assignment {
    /// Starts again with `items` samples that have no pack.
    pub fn reset(&mut self, items: usize) {
        self.pack_of.clear();
        self.pack_of.resize(items, 0);
        self.packs = 0;
    }

    /// Adds an empty pack; returns its number.
    pub fn open(&mut self) -> u32 {
        self.packs += 1;
        self.packs - 1
    }
}

/// An algorithm that packs a window. It reuses its tables for the next window.
pub trait Packer {
    fn pack(&mut self, window: &Window, found: &mut Assignment);
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::cast_possible_truncation)]
pub mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A window of samples with one budget.
    pub fn of_tokens(lengths: &[u32]) -> Window {
        let mut window = Window::new(1);
        for (position, &length) in (0..).zip(lengths) {
            window.push(position, [length]);
        }
        window
    }

    /// The packs that a packer makes, as the sizes of their samples under the first budget.
    pub fn packs(packer: &mut dyn Packer, window: &Window, capacities: &[u32]) -> Vec<Vec<u32>> {
        let mut assignment = Assignment::default();
        packer.pack(window, &mut assignment);
        require_valid(window, &assignment, capacities);
        let mut packs = vec![Vec::new(); assignment.packs as usize];
        for (item, &pack) in assignment.pack_of.iter().enumerate() {
            packs[pack as usize].push(window.sizes[0][item]);
        }
        packs
    }

    /// Checks that each sample is in a pack, that no pack is empty, and that none exceeds a budget.
    pub fn require_valid(window: &Window, assignment: &Assignment, capacities: &[u32]) {
        assert_eq!(assignment.pack_of.len(), window.len());
        let mut used = vec![vec![0_u64; assignment.packs as usize]; capacities.len()];
        let mut samples = vec![0; assignment.packs as usize];
        for (item, &pack) in assignment.pack_of.iter().enumerate() {
            samples[pack as usize] += 1;
            for (column, size) in used.iter_mut().zip(window.sizes_of(item)) {
                column[pack as usize] += u64::from(size);
            }
        }
        assert!(samples.iter().all(|&count| count > 0), "a pack is empty");
        for (column, &capacity) in used.iter().zip(capacities) {
            assert!(
                column.iter().all(|&sum| sum <= u64::from(capacity)),
                "a budget of {capacity} is exceeded"
            );
        }
    }

    /// The minimum number of packs, found by trying all assignments. Use it for up to about ten samples.
    pub fn fewest_packs(window: &Window, capacities: &[u32]) -> usize {
        fn place(
            window: &Window,
            item: usize,
            open: &mut Vec<Vec<u32>>,
            capacities: &[u32],
            best: &mut usize,
        ) {
            if open.len() >= *best {
                return;
            }
            if item == window.len() {
                *best = open.len();
                return;
            }
            let sizes: Vec<u32> = window.sizes_of(item).collect();
            for pack in 0..open.len() {
                if open[pack].iter().zip(&sizes).all(|(left, size)| left >= size) {
                    open[pack].iter_mut().zip(&sizes).for_each(|(left, size)| *left -= size);
                    place(window, item + 1, open, capacities, best);
                    open[pack].iter_mut().zip(&sizes).for_each(|(left, size)| *left += size);
                }
            }
            open.push(capacities.iter().zip(&sizes).map(|(capacity, size)| capacity - size).collect());
            place(window, item + 1, open, capacities, best);
            open.pop();
        }
        let mut best = window.len() + 1;
        place(window, 0, &mut Vec::new(), capacities, &mut best);
        best
    }

    /// Windows of up to `most` samples under some budgets.
    pub fn windows(budgets: usize, max_length: usize) -> impl Strategy<Value = (Window, Vec<u32>)> {
        let sizes = prop::collection::vec((1_u32..=40, 0_u32..=8, 0_u32..=300), 0..max_length);
        (40_u32..=60, 8_u32..=10, 300_u32..=400, sizes).prop_map(move |(tokens, images, patches, sizes)| {
            let mut window = Window::new(budgets);
            for (position, (a, b, c)) in (0..).zip(sizes) {
                window.push(position, [a, b, c]);
            }
            (window, [tokens, images, patches][..budgets].to_vec())
        })
    }
}
