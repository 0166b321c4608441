//! A run of windows. One thread packs them one after another, and packs the samples of packs that are not full again
//! with the next window.

use crate::best_fit::{BestFit, BestFitBySum};
use crate::complement_fill::ComplementFill;
use crate::exact_finish::ExactFinish;
use crate::first_fit::FirstFit;
use crate::mixture::Draws;
use crate::next_fit::NextFit;
use crate::permutation::Permutation;
use crate::request::{Oversize, Request, Strategy, known_u32};
use crate::window::{Assignment, Packer, Window};
use jinx_core::checked_math::to_u64;
use jinx_core::{Result, interrupt};
use std::ops::Range;

/// Windows per run. Runs are packed in parallel, so plans depend on this number.
pub const WINDOWS: u64 = 64;
/// A pack that uses this percentage of any budget is finished.
const FULL_PERCENT: u64 = 98;

/// Finished packs, in the order in which they were finished.
#[derive(Debug, Default)]
pub struct Packs {
    /// The end of each pack in `positions`.
    pub ends: Vec<u32>,
    pub positions: Vec<u32>,
    pub left_out: LeftOut,
}

/// The number of draws that are left out or truncated.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct LeftOut {
    /// Left out: without tokens.
    pub empty: u64,
    /// Left out: over a budget.
    pub oversize: u64,
    /// Longer than a pack: the pack contains only the first tokens.
    pub truncated: u64,
}

impl LeftOut {
    pub fn add(&mut self, other: Self) {
        self.empty += other.empty;
        self.oversize += other.oversize;
        self.truncated += other.truncated;
    }
}

/// Packs runs of windows. Each thread has one.
pub struct Runner<'a> {
    request: &'a Request<'a>,
    draws: &'a Draws,
    order: Option<&'a Permutation>,
    packer: Box<dyn Packer>,
    /// A second packer, if the strategy takes the better of two results.
    other: Option<Box<dyn Packer>>,
    drawn: Vec<u64>,
    window: Window,
    carried: Window,
    found: Assignment,
    second: Assignment,
    used: Vec<u64>,
    starts: Vec<u32>,
}

impl<'a> Runner<'a> {
    pub fn new(request: &'a Request<'a>, draws: &'a Draws, order: Option<&'a Permutation>) -> Self {
        let budgets = request.sizes.len();
        let (packer, other) = packers(request.strategy, &request.capacities);
        Self {
            request,
            draws,
            order,
            packer,
            other,
            drawn: Vec::new(),
            window: Window::new(budgets),
            carried: Window::new(budgets),
            found: Assignment::default(),
            second: Assignment::default(),
            used: Vec::new(),
            starts: Vec::new(),
        }
    }

    /// Packs the draws at `places` of the order.
    ///
    /// # Errors
    /// `Interrupted`.
    pub fn run(&mut self, places: Range<u64>) -> Result<Packs> {
        let mut packs = Packs::default();
        let mut place = places.start;
        self.carried.clear();
        loop {
            interrupt::check()?;
            std::mem::swap(&mut self.window, &mut self.carried);
            self.carried.clear();
            // Add at least one sample, even if next fit carries over a whole window.
            let size = self.request.window.max(self.window.len() + 1);
            while place < places.end && self.window.len() < size {
                let stop = places.end.min(place + to_u64(size - self.window.len()));
                self.draw(place..stop);
                for draw in 0..self.drawn.len() {
                    self.admit(self.draws.position(self.drawn[draw]), &mut packs.left_out);
                }
                place = stop;
            }
            let is_last = place == places.end;
            self.pack_window();
            self.collect(&mut packs, is_last);
            if is_last {
                return Ok(packs);
            }
        }
    }

    /// Sets `drawn` to the draws at `places` of the order.
    fn draw(&mut self, places: Range<u64>) {
        self.drawn.clear();
        match self.order {
            Some(order) => order.extend(places, &mut self.drawn),
            None => self.drawn.extend(places),
        }
    }

    /// Adds a sample to the window, or counts it as left out.
    fn admit(&mut self, position: u32, left_out: &mut LeftOut) {
        let (tokens, others) = self.request.sizes.split_at(1);
        let (limits, other_limits) = self.request.capacities.split_at(1);
        let length = tokens[0][position as usize];
        if length == 0 {
            left_out.empty += 1;
            return;
        }
        let is_long = length > limits[0];
        let is_over = |(column, &limit): (&&[u32], &u32)| column[position as usize] > limit;
        if is_long && self.request.oversize == Oversize::Drop || others.iter().zip(other_limits).any(is_over)
        {
            left_out.oversize += 1;
            return;
        }
        left_out.truncated += u64::from(is_long);
        self.window.positions.push(position);
        let (lengths, kept) = self.window.sizes.split_at_mut(1);
        lengths[0].push(length.min(limits[0]));
        for (kept, column) in kept.iter_mut().zip(others) {
            kept.push(column[position as usize]);
        }
    }

    fn pack_window(&mut self) {
        self.packer.pack(&self.window, &mut self.found);
        if let Some(other) = &mut self.other {
            other.pack(&self.window, &mut self.second);
            if self.second.packs < self.found.packs {
                std::mem::swap(&mut self.found, &mut self.second);
            }
        }
    }

    /// Moves finished packs to the result, and the samples of other packs to the next window. After the last window,
    /// all packs are finished.
    fn collect(&mut self, packs: &mut Packs, is_last: bool) {
        let count = self.found.packs as usize;
        let mut kept = vec![true; count];
        if !is_last {
            self.choose_kept(&mut kept);
        }
        self.starts.clear();
        self.starts.resize(count + 1, 0);
        for &pack in &self.found.pack_of {
            if kept[pack as usize] {
                self.starts[pack as usize + 1] += 1;
            }
        }
        let base = packs.positions.len();
        let mut end = 0;
        for (start, &kept) in self.starts[1..].iter_mut().zip(&kept) {
            end += *start;
            *start = end;
            if kept {
                packs.ends.push(known_u32(base, "at most MAX_DRAWS positions") + end);
            }
        }
        packs.positions.resize(base + self.starts[count] as usize, 0);
        // Within a pack, samples stay in arrival order, which is random and differs in each epoch.
        for (item, &pack) in self.found.pack_of.iter().enumerate() {
            let position = self.window.positions[item];
            if kept[pack as usize] {
                let next = &mut self.starts[pack as usize];
                packs.positions[base + *next as usize] = position;
                *next += 1;
            } else {
                self.carried.push(position, self.window.sizes_of(item));
            }
        }
    }

    /// Sets `kept` to which packs are finished. At most half a window is carried over, so that a run ends.
    fn choose_kept(&mut self, kept: &mut [bool]) {
        if self.request.strategy == Strategy::NextFit {
            if let Some(last) = kept.last_mut() {
                *last = false;
            }
            return;
        }
        let mut samples = vec![0_usize; kept.len()];
        for &pack in &self.found.pack_of {
            samples[pack as usize] += 1;
        }
        kept.fill(false);
        for (column, &capacity) in self.window.sizes.iter().zip(&self.request.capacities) {
            self.used.clear();
            self.used.resize(kept.len(), 0);
            for (&pack, &size) in self.found.pack_of.iter().zip(column) {
                self.used[pack as usize] += u64::from(size);
            }
            for (kept, &used) in kept.iter_mut().zip(&self.used) {
                *kept |= 100 * used >= FULL_PERCENT * u64::from(capacity);
            }
        }
        let mut room = self.request.window / 2;
        for (kept, samples) in kept.iter_mut().zip(samples).filter(|(kept, _)| !**kept) {
            match room.checked_sub(samples) {
                Some(left) => room = left,
                None => *kept = true,
            }
        }
    }
}

fn packers(strategy: Strategy, capacities: &[u32]) -> (Box<dyn Packer>, Option<Box<dyn Packer>>) {
    match (strategy, capacities) {
        (Strategy::NextFit, _) => (Box::new(NextFit::new(capacities)), None),
        (Strategy::FirstFitDecreasing, _) => (Box::new(FirstFit::new(capacities)), None),
        (Strategy::BestFitDecreasing, &[capacity]) => (Box::new(BestFit::new(capacity)), None),
        (Strategy::Knapsack, &[capacity]) => (Box::new(ExactFinish::new(capacity)), None),
        (Strategy::BestFitDecreasing, _) => (Box::new(BestFitBySum::new(capacities)), None),
        (Strategy::Knapsack, _) => {
            (Box::new(ComplementFill::new(capacities)), Some(Box::new(BestFitBySum::new(capacities))))
        }
    }
}
