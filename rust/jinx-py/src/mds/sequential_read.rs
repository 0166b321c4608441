//! Reads an MDS directory with shards that are compressed as files, from the first sample to the last.
//!
//! Such a shard cannot be read sample by sample. One thread decodes the whole file and returns it in pieces, in order.
//! It has its own thread and queue and does not use [`crate::prefetch`].

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
