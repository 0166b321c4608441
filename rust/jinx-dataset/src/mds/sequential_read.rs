//! Reads an MDS directory whose shards are compressed as files, from first to last sample.
//!
//! Such a shard cannot be read sample by sample. One thread decodes the whole file and returns it in pieces, in order.

use crate::located::{Located, Walk};
use crate::mds::decoding::Decoding;
use crate::mds::rows::MdsRows;
use crate::rows::Rows;
use jinx_core::Result;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub struct MdsWalk {
    dataset: Arc<MdsRows>,
    decoding: Arc<Mutex<Decoding>>,
}

impl MdsWalk {
    pub fn new(dataset: Arc<MdsRows>) -> Self {
        let decoding = Arc::new(Mutex::default());
        dataset.walks.add(&decoding);
        Self { dataset, decoding }
    }

    fn lock(&self) -> MutexGuard<'_, Decoding> {
        self.decoding.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Walk for MdsWalk {
    fn locate(&mut self, position: u64) -> Result<Located> {
        let directory = self.dataset.directory.get()?;
        let row = self.lock().row(directory, position);
        if let Err(error) = self.dataset.directory.check() {
            *self.lock() = Decoding::default();
            return Err(error);
        }
        match row {
            Some(row) => Ok(Located::Mds { rows: Arc::clone(&self.dataset), position, row: Some(row) }),
            None => Arc::clone(&self.dataset).locate(position),
        }
    }
}
