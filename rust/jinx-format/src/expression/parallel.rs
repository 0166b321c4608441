//! Work in blocks on all cores, with results in order.

use jinx_core::error::{Error, Result};
use jinx_core::interrupt;
use jinx_core::num::to_usize;
use jinx_core::panics::caught;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Few enough that all cores have work in a dataset of thousands, enough that handing them out costs nothing.
const BLOCK: usize = 8192;

/// What is known of the blocks that are done.
#[derive(Default)]
struct Progress {
    /// Those before which another is not done.
    early: BTreeMap<usize, Result<Vec<u64>>>,
    chosen: Vec<u64>,
    next: usize,
    failure: Option<Error>,
}

/// Hands the numbers below `count` to `choose` in blocks, on all cores, and joins what it gives in their order; stops
/// where `limit` were chosen.
///
/// # Errors
/// The first of `choose`, in the order of the blocks; `Interrupted`.
pub fn in_blocks(
    count: u64,
    limit: Option<u64>,
    choose: impl Fn(Range<usize>) -> Result<Vec<u64>> + Sync,
) -> Result<Vec<u64>> {
    let count = to_usize(count, "the number of samples")?;
    let limit = limit.map_or(Ok(usize::MAX), |limit| to_usize(limit, "the limit"))?;
    let next = AtomicUsize::new(0);
    let done = AtomicBool::new(limit == 0);
    let progress = Mutex::new(Progress::default());
    let work = |is_caller: bool| {
        while !done.load(Ordering::Relaxed) {
            let block = next.fetch_add(1, Ordering::Relaxed);
            let start = block.saturating_mul(BLOCK);
            if start >= count {
                return;
            }
            let mut result = caught(|| choose(start..count.min(start + BLOCK)), "a filtering thread");
            if is_caller && let Err(interrupted) = interrupt::check() {
                result = Err(interrupted);
                done.store(true, Ordering::Relaxed);
            }
            let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
            if progress.add(block, result, limit) {
                done.store(true, Ordering::Relaxed);
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(count.div_ceil(BLOCK));
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| work(false));
        }
        work(true);
    });
    let mut progress = progress.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Where an interruption left gaps, what came before it is of no use.
    if let Some(error) =
        progress.failure.take().or_else(|| progress.early.into_values().find_map(Result::err))
    {
        return Err(error);
    }
    progress.chosen.truncate(limit);
    Ok(progress.chosen)
}

impl Progress {
    /// Takes a block's result; says whether nothing more is needed.
    fn add(&mut self, block: usize, result: Result<Vec<u64>>, limit: usize) -> bool {
        if self.chosen.len() >= limit {
            return true;
        }
        self.early.insert(block, result);
        while let Some(result) = self.early.remove(&self.next) {
            self.next += 1;
            match result {
                Ok(chosen) => self.chosen.extend(chosen),
                Err(error) => {
                    self.failure.get_or_insert(error);
                    return true;
                }
            }
            if self.chosen.len() >= limit {
                self.early.clear();
                return true;
            }
        }
        self.failure.is_some()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use jinx_core::Cause;

    fn even(range: Range<usize>) -> Result<Vec<u64>> {
        Ok(range.filter(|i| i % 2 == 0).map(|i| u64::try_from(i).unwrap()).collect())
    }

    #[test]
    fn results_come_in_order_and_stop_at_the_limit() {
        let all: Vec<u64> = (0..100_001).step_by(2).collect();
        assert_eq!(in_blocks(100_001, None, even).unwrap(), all);
        for limit in [0, 1, 4095, 4096, 4097, 50_001, 90_000] {
            let expected = &all[..all.len().min(usize::try_from(limit).unwrap())];
            assert_eq!(in_blocks(100_001, Some(limit), even).unwrap(), expected);
        }
        assert!(in_blocks(0, None, even).unwrap().is_empty());
    }

    #[test]
    fn the_first_error_in_order_is_told_and_a_panic_is_one() {
        for _ in 0..20 {
            let choose = |range: Range<usize>| match range.start / BLOCK {
                block @ (3 | 5 | 7) => Err(Error::corrupt(format!("block {block}"))),
                _ => even(range),
            };
            assert_eq!(in_blocks(100_000, None, choose).unwrap_err().what(), "block 3");
            // What lies behind the limit is not asked for.
            assert_eq!(in_blocks(100_000, Some(10), choose).unwrap().len(), 10);
        }
        let error = in_blocks(10, None, |_| panic!("oops")).unwrap_err();
        assert_eq!(error.cause(), Cause::Internal);
    }
}
