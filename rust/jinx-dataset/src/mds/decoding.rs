//! Threads that decode compressed shards for iterators over all samples in order.

use jinx_mds::read::decode_ahead::ShardPrefetcher;
use jinx_mds::read::directory::Directory;
use jinx_mds::read::shard::Row;
use std::process;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// All decoding threads of a dataset, so that closing the dataset ends them.
pub struct Walks {
    /// Whether any shard is compressed as a file, so that decoding ahead helps.
    pub are_worth_it: bool,
    open: Mutex<Vec<Weak<Mutex<Decoding>>>>,
}

/// A thread that decodes shards, if one is needed.
#[derive(Default)]
pub struct Decoding {
    prefetcher: Option<ShardPrefetcher>,
    process: u32,
}

impl Decoding {
    /// Returns row `position` of the directory, if a thread decodes its shard. Call this with increasing positions.
    pub fn row(&mut self, directory: Arc<Directory>, position: u64) -> Option<Row> {
        if self.process != process::id() {
            *self =
                Self { prefetcher: Some(ShardPrefetcher::new(directory, position)), process: process::id() };
        }
        let piece = self.prefetcher.as_mut()?.piece(position)?;
        piece.shard.row(piece.index + (position - piece.first)).ok()
    }
}

impl Drop for Decoding {
    fn drop(&mut self) {
        if self.process != process::id() {
            // After a fork, the thread exists only in the parent process.
            std::mem::forget(self.prefetcher.take());
        }
    }
}

impl Walks {
    pub fn new(are_worth_it: bool) -> Self {
        Self { are_worth_it, open: Mutex::default() }
    }

    pub fn add(&self, decoding: &Arc<Mutex<Decoding>>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|walk| walk.strong_count() > 0);
        open.push(Arc::downgrade(decoding));
    }

    /// Ends all threads except those for which an iterator is waiting. That iterator ends its thread.
    pub fn end(&self) {
        let open = std::mem::take(&mut *self.open.lock().unwrap_or_else(PoisonError::into_inner));
        for decoding in open.iter().filter_map(Weak::upgrade) {
            if let Ok(mut decoding) = decoding.try_lock() {
                *decoding = Decoding::default();
            }
        }
    }
}
