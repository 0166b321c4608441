//! Starts all threads: those that share the work of one call, and those in the background. The system may refuse to
//! start one, for example where a container limits the number of processes. Then the other threads, and at least the
//! calling one, do its work.

use crate::error::{Error, Result};
use crate::interrupt;
use crate::panics::caught;
use std::cell::RefCell;
use std::io;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle, Scope, ScopedJoinHandle};

/// The threads of one call.
pub struct Workers<'scope, 'env: 'scope> {
    scope: &'scope Scope<'scope, 'env>,
    started: RefCell<Vec<ScopedJoinHandle<'scope, ()>>>,
}

impl<'scope> Workers<'scope, '_> {
    /// Starts a thread.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn start(&self, work: impl FnOnce() + Send + 'scope) -> io::Result<()> {
        let started = thread::Builder::new().spawn_scoped(self.scope, work)?;
        self.started.borrow_mut().push(started);
        Ok(())
    }
}

/// Runs `work`, which may start threads that borrow, and waits until the system has ended these threads.
///
/// `std::thread::scope` waits only for what they do. On a busy machine, a process that calls it in a loop then has
/// thousands of threads that still have to end.
pub fn scope<'env, T>(work: impl for<'scope> FnOnce(&Workers<'scope, 'env>) -> T) -> T {
    thread::scope(|scope| {
        let workers = Workers { scope, started: RefCell::default() };
        let result = work(&workers);
        for started in workers.started.into_inner() {
            started.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
        result
    })
}

/// Starts a thread that may outlive the call. `name` is for the operating system, which shows 15 bytes of it.
///
/// # Errors
/// If the system refuses.
pub fn background<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    thread::Builder::new().name(name.to_owned()).spawn(work)
}

/// The error if work needs a thread and the system refuses to start one.
pub fn refused(error: &io::Error) -> Error {
    let what = "the system refuses another thread; raise its limits (ulimit -u, ulimit -v, or the pids of the container)";
    io::Error::new(error.kind(), format!("{what}: {error}")).into()
}

/// Runs `work(false)` on up to `threads - 1` new threads, and `work(true)` on the calling thread, the only one that
/// notices Ctrl-C. `work` must take its parts from a common place, so that any number of threads does all of them, and
/// must not panic.
pub fn share(threads: usize, work: &(impl Fn(bool) + Sync)) {
    scope(|workers| {
        for _ in 1..threads {
            if workers.start(|| work(false)).is_err() {
                break;
            }
        }
        work(true);
    });
}

/// Runs `work` for each item on up to `threads` threads, and returns the results in the order of the items. `what`
/// names a thread. `work` also gets whether it runs on the calling thread, which does the first item.
pub fn map<I: Send, T: Send>(
    threads: usize,
    items: impl IntoIterator<Item = I, IntoIter: Send>,
    what: &str,
    work: impl Fn(I, bool) -> Result<T> + Sync,
) -> Vec<Result<T>> {
    results(threads, items, what, false, || (), |(), item, is_caller| work(item, is_caller))
}

/// Like [`map`], with a state that each thread creates for itself. Ends at an error.
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

/// Work on one of several numbered tasks, which reports its progress.
pub type ReportingWork<'w> = dyn Fn(u64, &mut dyn FnMut(u64) -> Result<()>) -> Result<()> + Sync + 'w;

/// Runs `work` for the numbers below `count` on up to `threads` threads. Meanwhile, the calling thread passes what they
/// report to `tell`, and alone notices Ctrl-C. `what` names a thread.
///
/// # Errors
/// An error of `work` or `tell`, which ends the others at their next report; `Interrupted`.
pub fn report(
    threads: usize,
    count: u64,
    what: &str,
    work: &ReportingWork<'_>,
    tell: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<()> {
    let next = AtomicU64::new(0);
    scope(|workers| {
        let (sender, receiver) = channel();
        let mut is_alone = true;
        for _ in 0..threads.min(usize::try_from(count).unwrap_or(usize::MAX)) {
            let (sender, next) = (sender.clone(), &next);
            let worker = move || {
                let mut report = |done| sender.send(Ok(done)).map_err(|_| Error::interrupted());
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return;
                    }
                    if let Err(error) = caught(|| work(number, &mut report), what) {
                        // After an earlier error, nobody reads this report.
                        let _ = sender.send(Err(error));
                        return;
                    }
                }
            };
            is_alone &= workers.start(worker).is_err();
        }
        drop(sender);
        if is_alone {
            return (0..count).try_for_each(|number| {
                interrupt::check()?;
                caught(|| work(number, tell), what)
            });
        }
        let told = receiver.iter().try_for_each(|done| interrupt::check().and_then(|()| tell(done?)));
        told.inspect_err(|_| next.store(count, Ordering::Relaxed))
    })
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[allow(clippy::panic, clippy::unwrap_used)]
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
    fn reports_are_passed_on_and_an_error_ends_the_work() {
        for threads in [0, 1, 3, 100] {
            let mut total = 0;
            let count_up = |number: u64, report: &mut dyn FnMut(u64) -> Result<()>| {
                report(number)?;
                report(1)
            };
            report(threads, 50, "a test", &count_up, &mut |done| {
                total += done;
                Ok(())
            })
            .unwrap();
            assert_eq!(total, 50 * 49 / 2 + 50);
            let refused = report(threads, 50, "a test", &count_up, &mut |_| Err(Error::invalid("enough")));
            assert!(refused.unwrap_err().to_string().contains("enough"));
            let failing = |number, report: &mut dyn FnMut(u64) -> Result<()>| match number {
                7 => Err(Error::invalid("seven")),
                8 => panic!("eight"),
                _ => report(1),
            };
            let error = report(threads, 50, "a test", &failing, &mut |_| Ok(())).unwrap_err();
            assert!(error.to_string().contains("seven") || error.to_string().contains("eight"));
        }
    }

    #[test]
    fn threads_have_ended_when_the_call_returns() {
        static STARTED: AtomicU64 = AtomicU64::new(0);
        static ENDED: AtomicU64 = AtomicU64::new(0);
        struct End;
        impl End {
            fn new() -> Self {
                STARTED.fetch_add(1, Ordering::Relaxed);
                Self
            }
        }
        impl Drop for End {
            fn drop(&mut self) {
                thread::sleep(std::time::Duration::from_millis(20));
                ENDED.fetch_add(1, Ordering::Relaxed);
            }
        }
        // Dropped by a thread when its work is done.
        thread_local!(static END: End = End::new());
        share(5, &|is_caller| {
            if !is_caller {
                END.with(|_| ());
            }
        });
        assert_eq!((STARTED.load(Ordering::Relaxed), ENDED.load(Ordering::Relaxed)), (4, 4));
        let end = |_: u64, report: &mut dyn FnMut(u64) -> Result<()>| {
            END.with(|_| ());
            report(1)
        };
        report(4, 4, "a test", &end, &mut |_| Ok(())).unwrap();
        assert!(ENDED.load(Ordering::Relaxed) > 4);
        assert_eq!(STARTED.load(Ordering::Relaxed), ENDED.load(Ordering::Relaxed));
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
