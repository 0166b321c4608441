//! Threads that share the work of one call. The system may refuse to start one, for example where a container limits
//! the number of processes. Then the other threads, and at least the calling one, do its work.

use crate::error::{Error, Result};
use crate::panics::caught;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Scope, ScopedJoinHandle};

/// Starts a thread; `None` if the system refuses.
pub fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Option<ScopedJoinHandle<'scope, T>> {
    thread::Builder::new().spawn_scoped(scope, work).ok()
}

/// The error of work that needs a thread where the system refuses to start one.
pub fn refused(error: &io::Error) -> Error {
    let what = "the system refuses another thread; raise its limits (ulimit -u, ulimit -v, or the pids of the container)";
    io::Error::new(error.kind(), format!("{what}: {error}")).into()
}

/// Runs `work(false)` on up to `threads - 1` new threads, and `work(true)` on the calling one, which alone notices
/// Ctrl-C. `work` must take its parts from a common place, so that any number of threads does all of them, and must not
/// panic.
pub fn share(threads: usize, work: &(impl Fn(bool) + Sync)) {
    thread::scope(|scope| {
        for _ in 1..threads {
            if start(scope, || work(false)).is_none() {
                break;
            }
        }
        work(true);
    });
}

/// Does `work` for each item on up to `threads` threads, and returns the results in the order of the items. `what` names
/// a thread. `work` also gets whether it runs on the calling thread, which does the first item.
pub fn map<I: Send, T: Send>(
    threads: usize,
    items: impl IntoIterator<Item = I, IntoIter: Send>,
    what: &str,
    work: impl Fn(I, bool) -> Result<T> + Sync,
) -> Vec<Result<T>> {
    results(threads, items, what, false, || (), |(), item, is_caller| work(item, is_caller))
}

/// As [`map`], with a state that each thread makes for itself. Ends at an error.
///
/// # Errors
/// The first of `work`, in the order of the items.
pub fn map_with<I: Send, S, T: Send>(
    threads: usize,
    items: impl IntoIterator<Item = I, IntoIter: Send>,
    what: &str,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, I, bool) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    results(threads, items, what, true, state, work).into_iter().collect()
}

fn results<I: Send, S, T: Send>(
    threads: usize,
    items: impl IntoIterator<Item = I, IntoIter: Send>,
    what: &str,
    ends_at_error: bool,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, I, bool) -> Result<T> + Sync,
) -> Vec<Result<T>> {
    let is_ended = AtomicBool::new(false);
    let mut items = items.into_iter().enumerate();
    let first = Mutex::new(items.next());
    let (items, done) = (Mutex::new(items), Mutex::new(Vec::new()));
    let next = |is_caller: bool| {
        let first = if is_caller { locked(&first).take() } else { None };
        first.or_else(|| if is_ended.load(Ordering::Relaxed) { None } else { locked(&items).next() })
    };
    share(threads, &|is_caller| {
        let mut own = None;
        while let Some((number, item)) = next(is_caller) {
            let result = caught(|| work(own.get_or_insert_with(&state), item, is_caller), what);
            if ends_at_error && result.is_err() {
                is_ended.store(true, Ordering::Relaxed);
            }
            locked(&done).push((number, result));
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[allow(clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_a_state_and_the_first_error_ends_all() {
        for threads in [0, 1, 3, 100] {
            let count_up = |seen: &mut u64, item: u64, _: bool| {
                *seen += 1;
                if item == 7 || item > 1000 { Err(Error::invalid(format!("item {item}"))) } else { Ok(*seen) }
            };
            let all = map_with(threads, 10..60, "a test", || 0, count_up).unwrap_or_default();
            assert_eq!(all.len(), 50);
            let states = all.iter().filter(|seen| **seen == 1).count();
            assert!((1..=threads.max(1)).contains(&states));
            let failed = map_with(threads, 0..u64::MAX, "a test", || 0, count_up);
            assert!(failed.is_err_and(|error| error.to_string().contains("item 7")));
        }
    }

    #[test]
    fn results_come_in_order_and_a_panic_is_one_error() {
        for threads in [0, 1, 3, 100] {
            let results = map(threads, 0..50_u32, "a test", |i, _| match i {
                7 => Err(Error::invalid("seven")),
                8 => panic!("eight"),
                _ => Ok(2 * i),
            });
            assert_eq!(results.len(), 50);
            for (i, result) in (0..).zip(results) {
                match result {
                    Ok(double) => assert_eq!(double, 2 * i),
                    Err(error) => assert!(error.to_string().contains(["seven", "eight"][i as usize - 7])),
                }
            }
        }
    }
}
