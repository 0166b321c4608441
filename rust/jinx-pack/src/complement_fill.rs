//! Complement fill, for tokens and a second budget, such as images. A pack with too many tokens for its images gets a
//! sample with many images and few tokens, and the other way round, so that both budgets run out together. Other
//! budgets are only checked.
//!
//! A pack starts with the sample of the largest share. Then it gets the sample that best restores the proportion of
//! tokens to images that all unpacked samples have. Large samples are preferred. One or two samples that end the pack
//! exactly come last.

use crate::budget_shares::{Shares, WHOLE};
use crate::lengths::Lengths;
use crate::request::known_u32;
use crate::second_budget::Classes;
use crate::window::{Assignment, Packer, Window};

#[derive(Debug)]
pub struct ComplementFill {
    capacities: Vec<u32>,
    shares: Shares,
    classes: Vec<Lengths>,
}

/// The remaining samples of a window, and the remaining budgets of the pack being filled.
struct State<'a> {
    window: &'a Window,
    by: Classes,
    left: Vec<u32>,
    tokens_left: u64,
    seconds_left: u64,
    /// The share of each budget that a pack should use, so that all unpacked samples are spread evenly.
    goal: [i64; 2],
    /// How far the pack is from the goal's proportion. If it is positive, the pack has too many tokens.
    imbalance: i64,
}

/// The sample to take next, as its class and its length.
type Choice = (usize, usize);

impl ComplementFill {
    pub fn new(capacities: &[u32]) -> Self {
        Self { capacities: capacities.to_vec(), shares: Shares::new(capacities), classes: Vec::new() }
    }

    fn fill(&mut self, window: &Window, classes: Classes) {
        while self.classes.len() < classes.count() {
            self.classes.push(Lengths::new(self.capacities[0] as usize));
        }
        for (item, (&length, &size)) in (0..).zip(window.sizes[0].iter().zip(&window.sizes[classes.second])) {
            self.classes[classes.class(size)].fill(std::iter::once((item, length)));
        }
    }

    /// The sample with the largest share of any budget.
    fn first(&self, state: &State) -> Option<Choice> {
        let largest = |class: usize| self.classes[class].largest(self.capacities[0] as usize);
        let choices =
            (0..self.classes.len()).filter_map(|class| largest(class).map(|length| (class, length)));
        choices.max_by_key(|&(class, length)| self.parts(state, (class, length)).into_iter().max())
    }

    /// The shares of tokens and of the second budget that a sample takes.
    fn parts(&self, state: &State, (class, length): Choice) -> [i64; 2] {
        let item = self.classes[class].next_of(length) as usize;
        [0, state.by.second].map(|k| i64::from(self.shares.of(k, state.window.sizes[k][item])))
    }

    fn fits(&self, state: &State, (class, length): Choice) -> bool {
        let item = self.classes[class].next_of(length) as usize;
        state.window.sizes_of(item).zip(&state.left).all(|(size, &left)| size <= left)
    }

    /// The number of classes whose samples may fit into the rest of the second budget. They are the lowest ones.
    fn open_classes(&self, state: &State) -> usize {
        (state.by.class(state.left[state.by.second]) + 1).min(self.classes.len())
    }

    /// One or two samples that end the pack exactly.
    fn finish(&self, state: &State) -> Option<(Choice, Option<Choice>)> {
        let left = state.left[0] as usize;
        let open = self.open_classes(state);
        let wanted = self.wanted(state).min(open - 1);
        let seconds_bind = state.goal[1] >= state.goal[0];
        let near = [Some(wanted), wanted.checked_sub(1), Some(wanted + 1)];
        let near =
            near.into_iter().flatten().filter(|&sum| sum < open).take(if seconds_bind { 1 } else { 3 });
        for sum in near {
            let single = (sum, left);
            if self.classes[sum].has(left) && self.fits(state, single) {
                return Some((single, None));
            }
            for left_part in (sum.div_ceil(2)..=sum).rev() {
                let right_part = sum - left_part;
                let length = if left_part == right_part {
                    self.classes[left_part].pair(left)
                } else {
                    self.classes[left_part].longest_with(&self.classes[right_part], left, 0)
                };
                let Some(length) = length else { continue };
                let pair = [(left_part, length), (right_part, left - length)];
                if self.fit_together(state, pair) {
                    return Some((pair[0], Some(pair[1])));
                }
            }
        }
        None
    }

    fn fit_together(&self, state: &State, pair: [Choice; 2]) -> bool {
        let [one, other] = pair.map(|(class, length)| self.classes[class].next_of(length));
        let (class, length) = pair[1];
        let other = if pair[0] == pair[1] { self.classes[class].second_of(length) } else { other };
        let (one, other) = (one as usize, other as usize);
        let mut sums = state.window.sizes_of(one).zip(state.window.sizes_of(other));
        state
            .left
            .iter()
            .all(|&left| sums.next().is_some_and(|(a, b)| u64::from(a) + u64::from(b) <= u64::from(left)))
    }

    /// The class for the amount of the second budget that the pack still needs.
    fn wanted(&self, state: &State) -> usize {
        let capacity = self.capacities[state.by.second];
        let goal = state.goal[1].unsigned_abs() * u64::from(capacity);
        let goal = (goal + u64::from(WHOLE / 2)) / u64::from(WHOLE);
        let goal = known_u32(goal, "a goal is at most the whole budget");
        let used = capacity - state.left[state.by.second];
        state.by.class(goal.saturating_sub(used))
    }

    /// The sample that brings the pack nearest to the goal's proportion. Large samples are preferred.
    fn complement(&self, state: &State) -> Option<Choice> {
        let left = state.left[0] as usize;
        let mut best: Option<(i64, Choice)> = None;
        for class in 0..self.open_classes(state) {
            let Some(longest) = self.classes[class].largest(left) else { continue };
            let ideal = self.balancing(state, (class, longest)).min(left);
            let near = [self.classes[class].largest(ideal), self.classes[class].smallest(ideal)];
            for length in near.into_iter().flatten().filter(|&length| length <= left) {
                let choice = (class, length);
                if !self.fits(state, choice) {
                    continue;
                }
                let parts = self.parts(state, choice);
                let size = weighed(parts[0], state.goal[0]) + weighed(parts[1], state.goal[1]);
                let score = (state.imbalance + imbalance(parts, state.goal)).abs() - size * SIZE_WEIGHT / 16;
                if best.is_none_or(|(least, _)| score < least) {
                    best = Some((score, choice));
                }
            }
        }
        best.map(|(_, choice)| choice)
    }

    /// The length that a sample of this class needs in order to leave no imbalance.
    fn balancing(&self, state: &State, of_class: Choice) -> usize {
        let seconds = self.parts(state, of_class)[1];
        let part =
            (weighed(seconds, state.goal[0]) - state.imbalance) * i64::from(WHOLE) / state.goal[1].max(1);
        let length = part.clamp(0, i64::from(WHOLE)) * i64::from(self.capacities[0]) / i64::from(WHOLE);
        known_u32(length, "between 0 and the budget") as usize
    }

    fn take(&mut self, state: &mut State, choice: Choice, pack: u32, assignment: &mut Assignment) {
        let parts = self.parts(state, choice);
        state.imbalance += imbalance(parts, state.goal);
        let item = self.classes[choice.0].take(choice.1) as usize;
        assignment.pack_of[item] = pack;
        state.left.iter_mut().zip(state.window.sizes_of(item)).for_each(|(left, size)| *left -= size);
        state.tokens_left -= u64::from(state.window.sizes[0][item]);
        state.seconds_left -= u64::from(state.window.sizes[state.by.second][item]);
    }

    /// Starts the next pack and sets its goal.
    fn start(&self, state: &mut State) {
        state.left.clone_from(&self.capacities);
        state.imbalance = 0;
        let [tokens, seconds] = [0, state.by.second].map(|k| u64::from(self.capacities[k]));
        let packs = state.tokens_left.div_ceil(tokens).max(state.seconds_left.div_ceil(seconds)).max(1);
        let goal = |left: u64, capacity: u64| {
            let part = u128::from(left) * u128::from(WHOLE) / (u128::from(packs) * u128::from(capacity));
            i64::from(known_u32(part, "at most the share of the whole budget"))
        };
        state.goal = [goal(state.tokens_left, tokens), goal(state.seconds_left, seconds)];
    }
}

/// The weight of a sample's size against its imbalance, in sixteenths.
const SIZE_WEIGHT: i64 = 8;

/// Multiplies a share of a budget by a goal.
fn weighed(part: i64, goal: i64) -> i64 {
    part * goal / i64::from(WHOLE)
}

fn imbalance(parts: [i64; 2], goal: [i64; 2]) -> i64 {
    weighed(parts[0], goal[1]) - weighed(parts[1], goal[0])
}

impl Packer for ComplementFill {
    fn pack(&mut self, window: &Window, assignment: &mut Assignment) {
        assignment.reset(window.len());
        let Some(by) = Classes::of(window, &self.capacities) else { return };
        let total = |k: usize| window.sizes[k].iter().map(|&size| u64::from(size)).sum::<u64>();
        self.fill(window, by);
        let mut state = State {
            window,
            by,
            left: self.capacities.clone(),
            tokens_left: total(0),
            seconds_left: total(by.second),
            goal: [0; 2],
            imbalance: 0,
        };
        self.start(&mut state);
        while let Some(first) = self.first(&state) {
            let pack = assignment.open();
            self.take(&mut state, first, pack, assignment);
            while state.left[0] > 0 {
                if let Some((one, other)) = self.finish(&state) {
                    self.take(&mut state, one, pack, assignment);
                    if let Some(other) = other {
                        self.take(&mut state, other, pack, assignment);
                    }
                    break;
                }
                let Some(choice) = self.complement(&state) else { break };
                self.take(&mut state, choice, pack, assignment);
            }
            self.start(&mut state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::tests::{fewest_packs, packs, windows};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn budgets_hold((window, capacities) in windows(3, 60)) {
            packs(&mut ComplementFill::new(&capacities), &window, &capacities);
        }

        #[test]
        fn two_budgets_take_at_most_twice_the_fewest((window, capacities) in windows(2, 8)) {
            let found = packs(&mut ComplementFill::new(&capacities), &window, &capacities).len();
            let fewest = fewest_packs(&window, &capacities);
            prop_assert!(fewest <= found && found <= 2 * fewest);
        }
    }
}
