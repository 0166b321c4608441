//! Runs work in blocks on all cores, with results in order.

use jinx_core::cores::usable_cores;
use jinx_core::error::{Error, Result};
use jinx_core::interrupt;
use jinx_core::panics::caught;
use jinx_core::threads;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The results of the finished blocks.
struct Progress<T, F> {
    /// Results of blocks that finished before an earlier block.
    early: BTreeMap<usize, Result<T>>,
    next: usize,
    take: F,
    is_enough: bool,
    failure: Option<Error>,
}

/// Runs `work` for the blocks 0 to `count` on all cores, and passes the results to `take` in order, until this says
/// that no more is needed.
///
/// # Errors
/// The first of `work`, in the order of the blocks; `Interrupted`.
pub fn in_order<T: Send>(
    count: usize,
    work: impl Fn(usize) -> Result<T> + Sync,
    take: impl FnMut(T) -> bool + Send,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let done = AtomicBool::new(false);
    let progress =
        Mutex::new(Progress { early: BTreeMap::new(), next: 0, take, is_enough: false, failure: None });
    let work = |is_caller: bool| {
        while !done.load(Ordering::Relaxed) {
            let block = next.fetch_add(1, Ordering::Relaxed);
            if block >= count {
                return;
            }
            let mut result = caught(|| work(block), "a working thread");
            if is_caller && let Err(interrupted) = interrupt::check() {
                result = Err(interrupted);
                done.store(true, Ordering::Relaxed);
            }
            let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
            if progress.add(block, result) {
                done.store(true, Ordering::Relaxed);
            }
        }
    };
    let threads = match count {
        0 | 1 => 1,
        _ => usable_cores().min(count),
    };
    threads::share(threads, &work);
    let mut progress = progress.into_inner().unwrap_or_else(PoisonError::into_inner);
    // If an interruption left gaps, finished blocks are useless.
    let failure = progress.failure.take();
    match failure.or_else(|| progress.early.into_values().find_map(Result::err)) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

impl<T, F: FnMut(T) -> bool> Progress<T, F> {
    /// Adds a block's result; returns whether no more is needed.
    fn add(&mut self, block: usize, result: Result<T>) -> bool {
        if self.is_enough {
            return true;
        }
        self.early.insert(block, result);
        while let Some(result) = self.early.remove(&self.next) {
            self.next += 1;
            match result {
                Ok(result) => self.is_enough = (self.take)(result),
                Err(error) => {
                    self.failure.get_or_insert(error);
                    return true;
                }
            }
            if self.is_enough {
                self.early.clear();
                return true;
            }
        }
        self.failure.is_some()
    }
}
