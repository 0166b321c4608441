//! The request for a plan, checked once.

use crate::mixture::MixtureSource;
use crate::second_budget::Classes;
use jinx_core::checked_math::to_u64;
use jinx_core::cores::usable_cores;
use jinx_core::{Error, Result};
use std::num::TryFromIntError;

/// How the samples of a window are put into packs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// Take samples in arrival order. Close a pack when the next sample does not fit.
    NextFit,
    /// Put each sample into the first pack with room, largest samples first.
    FirstFitDecreasing,
    /// Put each sample into the fullest pack with room, largest samples first.
    BestFitDecreasing,
    /// For one budget: exact finish, see `exact_finish`. For several: the better result of best fit decreasing and
    /// complement fill.
    Knapsack,
}

/// What to do with a sample over a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Oversize {
    /// Leave it out and count it.
    Drop,
    /// Count as many tokens as the budget allows. Leave out and count a sample over another budget.
    Truncate,
}

/// Each thread has tables with an entry for each number of tokens. With several budgets there are up to 130 of them.
const MAX_TOKENS: u32 = 1 << 22;
/// The number of bytes of one entry of a table, with its bits.
const ENTRY_BYTES: u64 = 5;
/// Memory for the tables of all threads. One thread always has its own.
const TABLE_BYTES: u64 = 2 << 30;
/// Positions and offsets are u32.
const MAX_DRAWS: u64 = (1 << 32) - 1;
const MAX_WINDOW: usize = 1 << 24;

/// A number that is known to fit; `why` gives the reason. If it does not fit, no plan is better than a wrong
/// plan.
#[expect(clippy::expect_used)]
pub(crate) fn known_u32(number: impl TryInto<u32, Error = TryFromIntError>, why: &'static str) -> u32 {
    number.try_into().expect(why)
}

/// Everything that a plan depends on. `sizes[k][i]` is what sample `i` takes of budget `k`. Budget 0 is tokens.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    pub sizes: Vec<&'a [u32]>,
    pub capacities: Vec<u32>,
    pub strategy: Strategy,
    /// The number of samples to pack together.
    pub window: usize,
    pub oversize: Oversize,
    /// The datasets that make up the samples, in order.
    pub sources: Vec<MixtureSource>,
    /// `None` keeps the order of the samples and of the packs.
    pub seed: Option<u64>,
    pub epoch: u64,
    /// 0 starts one thread per core. The plan does not depend on this number.
    pub threads: usize,
}

impl Request<'_> {
    /// The number of threads for this many runs, limited by the memory for their tables.
    pub(crate) fn threads(&self, runs: u64) -> u64 {
        let wanted = match self.threads {
            0 => usable_cores(),
            threads => threads,
        };
        let tokens = self.capacities.first().map_or(0, |&tokens| u64::from(tokens) + 1);
        let classes = self.capacities.iter().skip(1).map(|&capacity| Classes::count_for(capacity)).max();
        let packers = if self.strategy == Strategy::Knapsack { 2 } else { 1 };
        let tables = classes.map_or(1, |classes| packers * to_u64(classes));
        let fitting = TABLE_BYTES / (tables * tokens * ENTRY_BYTES).max(1);
        to_u64(wanted).min(fitting.max(1)).min(runs)
    }

    /// # Errors
    /// `Invalid` or `Limit` for numbers that no plan can have.
    pub fn check(&self) -> Result<()> {
        let [tokens, ..] = self.sizes.as_slice() else {
            return Err(Error::invalid("a plan needs the number of tokens of each sample"));
        };
        if self.sizes.len() != self.capacities.len()
            || self.sizes.iter().any(|sizes| sizes.len() != tokens.len())
        {
            return Err(Error::invalid("each budget needs one size for each sample"));
        }
        if self.capacities.contains(&0) {
            return Err(Error::invalid("a budget of 0 holds no sample; use 1 or more"));
        }
        if self.capacities[0] > MAX_TOKENS {
            return Err(Error::limit(format!("packs of more than {MAX_TOKENS} tokens are not supported")));
        }
        if !(1..=MAX_WINDOW).contains(&self.window) {
            return Err(Error::invalid(format!("window={} is not between 1 and {MAX_WINDOW}", self.window)));
        }
        let listed: u64 = self.sources.iter().map(|source| u64::from(source.samples)).sum();
        if listed > MAX_DRAWS {
            return Err(Error::limit(format!("a plan over more than {MAX_DRAWS} samples is not supported")));
        }
        if listed != to_u64(tokens.len()) {
            return Err(Error::invalid("the sources have another number of samples than their sizes"));
        }
        let draws = self.sources.iter().try_fold(0_u64, |sum, source| sum.checked_add(source.draws));
        if draws.is_none_or(|draws| draws > MAX_DRAWS) {
            return Err(Error::limit(format!("a plan of more than {MAX_DRAWS} samples is not supported")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jinx_core::Cause;

    #[test]
    fn positions_of_all_sources_fit_u32() {
        let request = Request {
            sizes: vec![&[]],
            capacities: vec![8],
            strategy: Strategy::NextFit,
            window: 1,
            oversize: Oversize::Drop,
            sources: vec![MixtureSource { samples: 1 << 31, draws: 1, start: 0 }; 2],
            seed: None,
            epoch: 0,
            threads: 1,
        };
        assert_eq!(request.check().map_err(|error| error.cause()), Err(Cause::Limit));
    }

    #[test]
    fn threads_are_bounded_by_the_memory_of_their_tables() {
        let threads = |capacities: &[u32], strategy| {
            let request = Request {
                sizes: Vec::new(),
                capacities: capacities.to_vec(),
                strategy,
                window: 512,
                oversize: Oversize::Drop,
                sources: Vec::new(),
                seed: None,
                epoch: 0,
                threads: 64,
            };
            request.threads(1000)
        };
        assert_eq!(threads(&[8192, 64], Strategy::Knapsack), 64);
        assert_eq!(threads(&[1 << 20], Strategy::Knapsack), 64);
        assert_eq!(threads(&[1 << 20, 64], Strategy::Knapsack), 3);
        assert_eq!(threads(&[1 << 20, 64], Strategy::BestFitDecreasing), 6);
        assert_eq!(threads(&[1 << 22, 8, 64], Strategy::Knapsack), 1);
    }
}
