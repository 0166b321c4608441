//! Reading an MDS directory from its first sample to its last, where shards are compressed as files.
//!
//! Such a shard is not read sample by sample: one thread decodes it from its first byte to its last, piece by piece, and
//! hands the pieces over in order. So it has a thread and a queue of its own, and none of [`crate::prefetch`].

use crate::dataset::rows::{Rows, Walk};
use crate::mds::dataset::MdsDataset;
use crate::mds::sample::MdsSample;
use crate::sample::stored::StoredSample;
use jinx_core::Result;
use jinx_mds::read::prefetch::ShardPrefetcher;
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The threads that decode for somebody, so that closing the dataset ends them.
pub struct Walks {
    /// Whether any shard is compressed as a file.
    pub are_worth_it: bool,
    open: Mutex<Vec<Weak<Mutex<Decoding>>>>,
}

/// A thread that decodes shards, unless none is needed.
#[derive(Default)]
struct Decoding {
    prefetcher: Option<ShardPrefetcher>,
    process: u32,
}

impl Drop for Decoding {
    fn drop(&mut self) {
        if self.process != process::id() {
            // The thread stayed behind in the process that was forked.
            std::mem::forget(self.prefetcher.take());
        }
    }
}

impl Walks {
    pub fn new(are_worth_it: bool) -> Self {
        Self { are_worth_it, open: Mutex::default() }
    }

    fn add(&self, decoding: &Arc<Mutex<Decoding>>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|walk| walk.strong_count() > 0);
        open.push(Arc::downgrade(decoding));
    }

    /// Ends all threads. Who is just waiting for one ends it.
    pub fn end(&self) {
        let open = std::mem::take(&mut *self.open.lock().unwrap_or_else(PoisonError::into_inner));
        for decoding in open.iter().filter_map(Weak::upgrade) {
            if let Ok(mut decoding) = decoding.try_lock() {
                *decoding = Decoding::default();
            }
        }
    }
}

pub struct MdsWalk {
    dataset: Arc<MdsDataset>,
    decoding: Arc<Mutex<Decoding>>,
}

impl MdsWalk {
    pub fn new(dataset: Arc<MdsDataset>) -> Self {
        let decoding = Arc::new(Mutex::default());
        dataset.walks.add(&decoding);
        Self { dataset, decoding }
    }

    fn lock(&self) -> MutexGuard<'_, Decoding> {
        self.decoding.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Walk for MdsWalk {
    fn sample(&mut self, position: u64) -> Result<StoredSample> {
        let folder = self.dataset.folder.get()?;
        let mut decoding = self.lock();
        if decoding.prefetcher.is_none() || decoding.process != process::id() {
            let prefetcher = Some(ShardPrefetcher::new(folder, position));
            *decoding = Decoding { prefetcher, process: process::id() };
        }
        let piece = decoding.prefetcher.as_mut().and_then(|prefetcher| prefetcher.piece(position));
        let row = piece.and_then(|piece| piece.shard.row(piece.index + (position - piece.first)).ok());
        drop(decoding);
        if let Err(error) = self.dataset.folder.check() {
            *self.lock() = Decoding::default();
            return Err(error);
        }
        match row {
            Some(row) => Ok(StoredSample::of(MdsSample::with_row(Arc::clone(&self.dataset), position, &row))),
            None => Arc::clone(&self.dataset).sample(position),
        }
    }
}
