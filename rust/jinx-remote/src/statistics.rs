//! Statistics about reads from stores, for `ds.io_stats()`.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts for this process since it started. A forked process goes on from the counts of its parent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The number of requests sent, including retries.
    pub requests: u64,
    /// The number of requested bytes.
    pub fetched_bytes: u64,
    /// The number of bytes from the cache on disk.
    pub cached_bytes: u64,
    /// The number of bytes passed to readers.
    pub read_bytes: u64,
    /// The number of error responses and of requests without a response.
    pub failures: u64,
}

pub(crate) static COUNTERS: Counters = Counters {
    requests: AtomicU64::new(0),
    fetched_bytes: AtomicU64::new(0),
    cached_bytes: AtomicU64::new(0),
    read_bytes: AtomicU64::new(0),
    failures: AtomicU64::new(0),
};

#[derive(Debug)]
pub(crate) struct Counters {
    pub(crate) requests: AtomicU64,
    pub(crate) fetched_bytes: AtomicU64,
    pub(crate) cached_bytes: AtomicU64,
    pub(crate) read_bytes: AtomicU64,
    pub(crate) failures: AtomicU64,
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64, count: u64) {
        counter.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn now(&self) -> Statistics {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Statistics {
            requests: read(&self.requests),
            fetched_bytes: read(&self.fetched_bytes),
            cached_bytes: read(&self.cached_bytes),
            read_bytes: read(&self.read_bytes),
            failures: read(&self.failures),
        }
    }
}
