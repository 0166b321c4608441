//! Reading an MDS directory from its first sample to its last, where shards are compressed as files.
//!
//! Such a shard is not read sample by sample: one thread decodes it from its first byte to its last, piece by piece,
//! and hands the pieces over in order. So it has a thread and a queue of its own, and none of [`crate::prefetch`].

use crate::dataset::rows::{Rows, Walk};
use crate::mds::dataset::MdsDataset;
use crate::mds::decoding::Decoding;
use crate::mds::sample::MdsSample;
use crate::sample::stored::StoredSample;
use jinx_core::Result;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
        let directory = self.dataset.directory.get()?;
        let row = self.lock().row(directory, position);
        if let Err(error) = self.dataset.directory.check() {
            *self.lock() = Decoding::default();
            return Err(error);
        }
        match row {
            Some(row) => Ok(StoredSample::of(MdsSample::with_row(Arc::clone(&self.dataset), position, &row))),
            None => Arc::clone(&self.dataset).sample(position),
        }
    }
}
